import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Hour, hourAfter, hourText, parseHour } from '../../../../src/model/hour.ts'
import { Place, startSink } from '../../delivery/place.ts'
import { type Figure, median } from '../../figures.ts'
import { startRole } from '../../role.ts'
import { collectors, writeConfig } from '../configured.ts'
import { residentMbOf } from '../resident.ts'
import type { Asked } from '../roles/archive.ts'

const main = fileURLToPath(new URL('../../../../src/main.ts', import.meta.url))
const metricsAnHour = collectors * 5
const from = parseHour('2024-01-01T00:00:00Z')
const yearHours = 8_760
const shortHours = 500

interface Run extends Asked {
  readonly seconds: number
  readonly residentMb: readonly number[]
}

/** A year of ten collectors with five metrics each, by the command line, out of an archive into a sink. */
export async function* yearBackfilled(): AsyncGenerator<Figure> {
  const short = await backfilled(from, shortHours)
  const year = await backfilled(from, yearHours)
  const what = `backfill of ${yearHours.toLocaleString('en')} hours`
  const anHour = (count: number) => [count / yearHours]
  yield { what: `${what}: HTTP requests an hour`, values: anHour(year.requests), target: { atMost: 0.15 } }
  yield { what: `${what}: calls an hour`, values: anHour(year.calls) }
  for (const [method, count] of Object.entries(year.callsByMethod)) {
    yield { what: `${what}: ${method} an hour`, values: anHour(count) }
  }
  yield { what: `${what}: blocks read, of as many hours`, values: anHour(year.blocksRead), target: { atLeast: 1 } }
  yield { what: `${what}: blocks read twice`, values: [year.blocksReadAgain], target: { atMost: 0 } }
  yield { what: `${what}: time`, values: [year.seconds], unit: ' s' }
  const peak = (run: Run) => Math.max(...run.residentMb)
  const aim = { unit: ' MB', target: { atMost: 30 } }
  yield { what: `${what}: most memory, above that of ${shortHours} hours`, values: [peak(year) - peak(short)], ...aim }
  yield { what: `${what}: memory at the end, above the first tenth`, values: [growthMb(year)], ...aim }
}

/** The middle of the last tenth of the samples, above that of the second twentieth, when all code is loaded. */
function growthMb({ residentMb }: Run): number {
  const part = (start: number, end: number) =>
    median(residentMb.slice(Math.floor(residentMb.length * start), Math.ceil(residentMb.length * end)))
  return part(0.9, 1) - part(0.05, 0.1)
}

async function backfilled(first: Hour, hours: number): Promise<Run> {
  await using place = new Place()
  const sink = await startSink(place)
  const archive = startRole(new URL('../roles/archive.ts', import.meta.url), ['slots'])
  try {
    const { url } = await archive.readLine<{ url: string }>()
    const file = place.file('tidegauge.json')
    writeConfig(file, { rpc: url, service: sink.url })
    const range = ['--from', hourText(first), '--to', hourText(hourAfter(first, hours - 1))]
    const startMs = performance.now()
    const residentMb = await tidegauge(['backfill', '--config', file, ...range], place.file('run.log'))
    const seconds = (performance.now() - startMs) / 1_000
    await sink.expect(hours * metricsAnHour)
    archive.writeLine({})
    return { ...(await archive.readLine<Asked>()), seconds, residentMb }
  } finally {
    await archive.stop()
  }
}

/** Runs a command line to its end, which must be a good one. @returns the memory it had */
async function tidegauge(args: readonly string[], log: string): Promise<readonly number[]> {
  const output = openSync(log, 'a')
  const env = { ...process.env, BENCH_KEY: 'bench-key' }
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', output, output] })
  let hasEnded = false
  const ended = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code as number | null
  })
  const samples = await residentMbOf(child.pid ?? 0, () => hasEnded)
  const code = await ended
  if (code !== 0) throw new Error(`tidegauge ${args[0]} ended with ${code}: ${readFileSync(log, 'utf8').slice(-2_000)}`)
  return samples
}
