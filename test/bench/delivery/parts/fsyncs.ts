import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Figure } from '../../figures.ts'
import { Place, startSink } from '../place.ts'

const metrics = 20_000
const runs = 5
const target = { atMost: 2 }

/** Number of waits for the disk, counted by `strace` between two marks of the process. */
export async function* fsyncs(): AsyncGenerator<Figure> {
  if (spawnSync('strace', ['-V']).error) {
    console.log('| fsyncs | not measured: there is no strace here | | | |')
    return
  }
  await using place = new Place()
  const sink = await startSink(place)
  for (const pace of ['at-once', 'by-the-hour'] as const) {
    const counts: number[] = []
    for (let run = 0; run < runs; run += 1) {
      counts.push(counted(place, sink.url, pace, run) / (metrics / 1_000))
      await sink.expect(metrics)
    }
    const how = pace === 'at-once' ? 'all stored, then delivered' : 'stored and delivered hour by hour'
    yield { what: `fsyncs for 1,000 metrics, ${how}`, values: counts, target }
  }
}

function counted(place: Place, url: string, pace: string, run: number): number {
  const [file, mark, log] = ['outbox.db', 'mark', 'strace.log'].map(name => place.file(`${pace}-${run}-${name}`))
  const script = new URL('../roles/ours.ts', import.meta.url).pathname
  const args = [script, url, `${metrics}`, pace, file, mark].filter(arg => arg !== undefined)
  place.trace(log ?? '', args)
  const lines = readFileSync(log ?? '', 'utf8')
    .split('\n')
    .filter(line => /\b(fsync|fdatasync)\(/.test(line))
  const marks = lines.flatMap((line, index) => (line.includes(`${mark}>`) ? [index] : []))
  const [start, end] = marks
  if (start === undefined || end === undefined) throw new Error('strace did not see the marks')
  return end - start - 1
}
