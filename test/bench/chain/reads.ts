/**
 * What reading an hour costs: against the bare limit (bytes made before, posted by undici, the answer cut into pieces) and
 * against viem's multicall. Ends with 1 when a figure is not what is aimed at. `node test/bench/chain/reads.ts`
 */
import { type Figure, figureHead, figureRow, inPairs, isMet } from '../figures.ts'
import { startRole } from '../role.ts'
import { valueAt } from './reads/chain.ts'
import type { Counted } from './reads/node.ts'
import { ours, raw, viem, type Way } from './reads/ways.ts'

const node = startRole(new URL('reads/node.ts', import.meta.url), [])
const { url } = await node.readLine<{ url: string }>()
const ways = { ours: ours(url), raw: raw(url), viem: viem(url) }
const pairs = 15

/** Milliseconds and milliseconds of CPU for one reading. */
interface Cost {
  readonly ms: number
  readonly cpuMs: number
}

async function cost(way: Way, readings: readonly (readonly number[])[], count: number): Promise<Cost> {
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  for (const hours of readings) await way.read(hours, count)
  const ms = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  return { ms: ms / readings.length, cpuMs: (user + system) / 1_000 / readings.length }
}

async function counted(work: () => Promise<unknown>): Promise<Counted> {
  node.writeLine({})
  await node.readLine<Counted>()
  await work()
  node.writeLine({})
  return node.readLine<Counted>()
}

/** Throws unless all values are those of the chain. */
async function check(hours: readonly number[], count: number): Promise<void> {
  const expected = Array.from({ length: count }, (_, index) => valueAt(index))
  for (const [name, way] of Object.entries(ways)) {
    for (const values of await way.read(hours, count)) {
      const same = values.every((value, index) => value === expected[index])
      if (!same || values.length !== count) throw new Error(`${name} read other values`)
    }
  }
}

/** Ours and a peer in pairs against raw. */
async function* against(what: string, readings: readonly (readonly number[])[], count: number): AsyncGenerator<Figure> {
  const runs = async (way: Way) =>
    inPairs(
      pairs,
      () => cost(way, readings, count),
      () => cost(ways.raw, readings, count),
    )
  const [own, peer] = [await runs(ways.ours), await runs(ways.viem)]
  yield { what: `${what}: raw`, values: own.map(([, bare]) => bare.ms), unit: ' ms' }
  yield { what: `${what}: CPU of raw`, values: own.map(([, bare]) => bare.cpuMs), unit: ' ms' }
  yield { what: `${what}: time, of raw`, values: own.map(([a, b]) => a.ms / b.ms), target: { atMost: 1.5 } }
  yield { what: `${what}: CPU, of raw`, values: own.map(([a, b]) => a.cpuMs / b.cpuMs), target: { atMost: 3 } }
  yield { what: `${what}: viem's time, of raw`, values: peer.map(([a, b]) => a.ms / b.ms) }
  yield { what: `${what}: viem's CPU, of raw`, values: peer.map(([a, b]) => a.cpuMs / b.cpuMs) }
}

async function* counts(what: string, hours: readonly number[], count: number): AsyncGenerator<Figure> {
  const { requests, calls } = await counted(() => ways.ours.read(hours, count))
  yield { what: `${what}: HTTP requests`, values: [requests], target: { atMost: 1 } }
  yield {
    what: `${what}: calls of the node`,
    values: [Object.values(calls).reduce((sum, more) => sum + more, 0)],
    target: { atMost: hours.length },
  }
}

async function* figures(): AsyncGenerator<Figure> {
  const oneByOne = Array.from({ length: 20 }, (_, hour) => [hour])
  const together = Array.from({ length: 20 }, (_, hour) => hour)
  for (const [hour] of oneByOne) await check([hour ?? 0], 1_000)
  for (const count of [1, 10, 100, 1_000]) yield* counts(`${count} reads of an hour`, [0], count)
  yield* against('1,000 reads of an hour', oneByOne, 1_000)
  await check(together, 100)
  yield* counts('20 hours × 100 reads', together, 100)
  yield* against('20 hours × 100 reads', [together, together, together, together, together], 100)
}

console.log(figureHead)
for await (const figure of figures()) {
  console.log(figureRow(figure))
  if (isMet(figure) === false) process.exitCode = 1
}
for (const way of Object.values(ways)) await way.close()
await node.stop()
