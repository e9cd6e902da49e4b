import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Hour, hourAfter, hourText, parseHour } from '../../../../src/model/hour.ts'
import { Place, startSink } from '../../delivery/place.ts'
import { type Figure, median } from '../../figures.ts'
import { startRole } from '../../role.ts'
import { collectors, writeConfig } from '../configured.ts'
import type { Memory } from '../roles/after-gc.ts'
import type { Asked } from '../roles/archive.ts'

const afterGc = new URL('../roles/after-gc.ts', import.meta.url).href
const main = fileURLToPath(new URL('../../../../src/bin.cjs', import.meta.url))
const metricsAnHour = collectors * 5
const from = parseHour('2024-01-01T00:00:00Z')
const yearHours = 8_760

interface Run extends Asked {
  readonly seconds: number
  readonly memory: readonly Memory[]
}

/** A year of ten collectors with five metrics each, by the command line, out of an archive into a sink. */
export async function* yearBackfilled(): AsyncGenerator<Figure> {
  const year = await backfilled(from, yearHours, writeConfig, metricsAnHour)
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
  const heap = year.memory.map(({ heapMb }) => heapMb)
  const resident = year.memory.map(({ residentMb }) => residentMb)
  const heapMb = [Math.max(...heap) - startMb(heap)]
  yield { what: `${what}: most heap after collection, above its start`, values: heapMb, unit: ' MB' }
  const residentMb = [Math.max(...resident) - startMb(resident)]
  yield { what: `${what}: most resident memory, above its start`, values: residentMb, unit: ' MB' }
}

/** Its start: the middle of the samples of the first twentieth, when all code is loaded and hours are under way. */
function startMb(samples: readonly number[]): number {
  return median(samples.slice(0, Math.ceil(samples.length / 20)))
}

/** Hours that the command line backfills out of an archive. @param pools of every contract of it */
export async function backfilled(
  first: Hour,
  hours: number,
  write: typeof writeConfig,
  metrics: number,
  pools = 0,
): Promise<Run> {
  await using place = new Place()
  const sink = await startSink(place)
  const archive = startRole(new URL('../roles/archive.ts', import.meta.url), ['slots', '0', String(pools)])
  try {
    const { url } = await archive.readLine<{ url: string }>()
    const file = place.file('tidegauge.json')
    write(file, { rpc: url, service: sink.url })
    const range = ['--from', hourText(first), '--to', hourText(hourAfter(first, hours - 1))]
    const startMs = performance.now()
    const memory = await tidegauge(['backfill', '--config', file, ...range], place)
    const seconds = (performance.now() - startMs) / 1_000
    await sink.expect(hours * metrics)
    archive.writeLine({})
    return { ...(await archive.readLine<Asked>()), seconds, memory }
  } finally {
    await archive.stop()
  }
}

/** Runs a command line to its end, which must be a good one. @returns the memory it had, second after second */
async function tidegauge(args: readonly string[], place: Place): Promise<readonly Memory[]> {
  const [log, memory] = [place.file('run.log'), place.file('memory.jsonl')]
  const output = openSync(log, 'a')
  const env = { ...process.env, BENCH_KEY: 'bench-key', TIDEGAUGE_BENCH_MEMORY: memory }
  const flags = ['--expose-gc', '--import', afterGc]
  const child = spawn(process.execPath, [...flags, main, ...args], { env, stdio: ['ignore', output, output] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`tidegauge ${args[0]} ended with ${code}: ${readFileSync(log, 'utf8').slice(-2_000)}`)
  const lines = readFileSync(memory, 'utf8').trim().split('\n')
  return lines.map(line => JSON.parse(line) as Memory)
}
