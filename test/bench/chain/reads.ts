/**
 * Cost of reading an hour: against the bare limit (bytes made before, posted by undici, the answer cut into pieces) and
 * against viem's multicall, all in one process. As-of blocks are known. Both ask for the two calls that prove the
 * block; encoding and decoding by the ABI, the proof and its check are ours alone. Ends with 1 when a figure is not what is
 * aimed at. `node test/bench/chain/reads.ts`
 */
import { type Figure, figureHead, figureRow, inPairs, isMet } from '../figures.ts'
import { startRole } from '../role.ts'
import { valueAt } from './reads/chain.ts'
import type { Counted } from './reads/node.ts'
import { ours, raw, viem, type Way } from './reads/ways.ts'

/** As far away as the node; and next door, where nothing hides what we cost. */
const distancesMs = [20, 0]
const pairs = 9
/** Readings of one measurement: CPU is counted in steps of some milliseconds, and its collectors run now and then. */
const readingsAll = 40
const peerReadings = 3
const warmingRounds = 3

/** A node so far away, and the ways to read it. */
class Stage {
  readonly distanceMs: number
  readonly #node
  readonly ways: Readonly<Record<'ours' | 'raw' | 'viem', Way>>

  private constructor(distanceMs: number, node: ReturnType<typeof startRole>, url: string) {
    this.distanceMs = distanceMs
    this.#node = node
    this.ways = { ours: ours(url), raw: raw(url), viem: viem(url) }
  }

  static async start(distanceMs: number): Promise<Stage> {
    const node = startRole(new URL('reads/node.ts', import.meta.url), [String(distanceMs)])
    const { url } = await node.readLine<{ url: string }>()
    return new Stage(distanceMs, node, url)
  }

  async counted(work: () => Promise<unknown>): Promise<Counted> {
    this.#node.writeLine({})
    await this.#node.readLine<Counted>()
    await work()
    this.#node.writeLine({})
    return this.#node.readLine<Counted>()
  }

  async stop(): Promise<void> {
    for (const way of Object.values(this.ways)) await way.close()
    await this.#node.stop()
  }
}

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

/** Throws unless all values are those of the chain. */
async function check({ ways }: Stage, hours: readonly number[], count: number): Promise<void> {
  const expected = Array.from({ length: count }, (_, index) => valueAt(index))
  for (const [name, way] of Object.entries(ways)) {
    for (const values of await way.read(hours, count)) {
      const same = values.every((value, index) => value === expected[index])
      if (!same || values.length !== count) throw new Error(`${name} read other values`)
    }
  }
}

/** Ours and a peer in pairs against raw. */
async function* against(
  { ways, distanceMs }: Stage,
  of: string,
  readings: readonly (readonly number[])[],
  count: number,
): AsyncGenerator<Figure> {
  const what = `${of}, ${distanceMs} ms away`
  const runs = async (way: Way, some: typeof readings) =>
    inPairs(
      pairs,
      () => cost(way, some, count),
      () => cost(ways.raw, some, count),
    )
  // A daemon has run for months: its code is compiled.
  for (const way of [ways.ours, ways.raw])
    for (let round = 0; round < warmingRounds; round++) await cost(way, readings, count)
  const [own, peer] = [await runs(ways.ours, readings), await runs(ways.viem, readings.slice(0, peerReadings))]
  yield { what: `${what}: raw`, values: own.map(([, bare]) => bare.ms), unit: ' ms' }
  yield { what: `${what}: CPU of raw`, values: own.map(([, bare]) => bare.cpuMs), unit: ' ms' }
  yield {
    what: `${what}: time, of raw`,
    values: own.map(([a, b]) => a.ms / b.ms),
    target: { atMost: 1.3 },
  }
  yield { what: `${what}: CPU, of raw`, values: own.map(([a, b]) => a.cpuMs / b.cpuMs), target: { atMost: 2 } }
  yield { what: `${what}: viem's time, of raw`, values: peer.map(([a, b]) => a.ms / b.ms) }
  yield { what: `${what}: viem's CPU, of raw`, values: peer.map(([a, b]) => a.cpuMs / b.cpuMs) }
}

async function* counts(stage: Stage, what: string, hours: readonly number[], count: number): AsyncGenerator<Figure> {
  const { requests, calls } = await stage.counted(() => stage.ways.ours.read(hours, count))
  yield { what: `${what}: HTTP requests`, values: [requests], target: { atMost: 1 } }
  yield {
    what: `${what}: calls of the node`,
    values: [Object.values(calls).reduce((sum, more) => sum + more, 0)],
    target: { atMost: hours.length },
  }
}

async function* figures(stage: Stage): AsyncGenerator<Figure> {
  const oneByOne = Array.from({ length: 20 }, (_, hour) => [hour])
  const together = Array.from({ length: 20 }, (_, hour) => hour)
  for (const [hour] of oneByOne) await check(stage, [hour ?? 0], 1_000)
  await check(stage, together, 100)
  if (stage.distanceMs > 0) {
    for (const count of [1, 10, 100, 1_000]) yield* counts(stage, `${count} reads of an hour`, [0], count)
    yield* counts(stage, '20 hours × 100 reads', together, 100)
  }
  const often = (hours: readonly (readonly number[])[]) =>
    Array.from({ length: readingsAll }, (_, index) => hours[index % hours.length] ?? [])
  yield* against(stage, '1,000 reads of an hour', often(oneByOne), 1_000)
  yield* against(stage, '20 hours × 100 reads', often([together]), 100)
}

console.log(figureHead)
for (const distanceMs of distancesMs) {
  const stage = await Stage.start(distanceMs)
  for await (const figure of figures(stage)) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
  await stage.stop()
}
