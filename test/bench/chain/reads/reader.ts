/**
 * A process of the benchmark that reads in one way. Its arguments: the way, and the URL of the node. A `ReadTask` a line
 * in, its `Cost` out.
 */
import { createInterface } from 'node:readline'
import { ways } from './ways.ts'

/** Readings to be measured: the hours of each, and the reads of an hour. */
export interface ReadTask {
  readonly readings: readonly (readonly number[])[]
  readonly count: number
}

/** Milliseconds and milliseconds of CPU for one reading. */
export interface Cost {
  readonly ms: number
  readonly cpuMs: number
}

const [name, url = ''] = process.argv.slice(2)
const way = Object.entries(ways).find(([one]) => one === name)?.[1](url)
if (!way) throw new Error('the first argument is no way to read')

async function cost({ readings, count }: ReadTask): Promise<Cost> {
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  for (const hours of readings) await way?.read(hours, count)
  const ms = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  return { ms: ms / readings.length, cpuMs: (user + system) / 1_000 / readings.length }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await cost(JSON.parse(line) as ReadTask))}\n`)
}
await way.close()
process.exit()
