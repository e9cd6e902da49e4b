/**
 * Cost of reading an hour: against the bare limit (bytes made before, posted by undici, the answer cut into pieces) and
 * against viem's multicall, each in a process of its own, which collects its own garbage alone. As-of blocks are known. Both ask for the two calls that prove the
 * block; encoding and decoding by the ABI, the proof and its check are ours alone. Ends with 1 when a figure is not what is
 * aimed at. `node test/bench/chain/reads.ts`
 */
import { type Figure, figureHead, figureRow, inPairs, isMet } from '../figures.ts'
import { type Role, startRole } from '../role.ts'
import { valueAt } from './reads/chain.ts'
import type { Counted } from './reads/node.ts'
import type { Cost, ReadTask } from './reads/reader.ts'
import { type WayName, ways } from './reads/ways.ts'

/** As far away as the node; and next door, where nothing hides what we cost. */
const distancesMs = [20, 0]
const pairs = 7
/** Readings of one measurement: V8 collects its whole heap once in about 60 of them, which takes as long as 40. */
const readingsAll = 100
const peerReadings = 3
const warmingRounds = 2

/** A node so far away, and processes that read it, a way each. */
class Stage {
  readonly distanceMs: number
  readonly url: string
  readonly #node: Role
  readonly #readers: Readonly<Record<WayName, Role>>

  private constructor(distanceMs: number, node: Role, url: string) {
    this.distanceMs = distanceMs
    this.url = url
    this.#node = node
    const reader = (way: WayName) => startRole(new URL('reads/reader.ts', import.meta.url), [way, url])
    this.#readers = { ours: reader('ours'), raw: reader('raw'), viem: reader('viem') }
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

  /** Reads in a way; the cost of one reading. */
  cost(way: WayName, task: ReadTask): Promise<Cost> {
    this.#readers[way].writeLine(task)
    return this.#readers[way].readLine<Cost>()
  }

  async stop(): Promise<void> {
    for (const reader of Object.values(this.#readers)) await reader.stop()
    await this.#node.stop()
  }
}

/** Throws unless all values are those of the chain. */
async function check({ url }: Stage, readings: readonly (readonly number[])[], count: number): Promise<void> {
  const expected = Array.from({ length: count }, (_, index) => valueAt(index))
  for (const [name, open] of Object.entries(ways)) {
    const way = open(url)
    for (const hours of readings) {
      for (const values of await way.read(hours, count)) {
        const same = values.every((value, index) => value === expected[index])
        if (!same || values.length !== count) throw new Error(`${name} read other values`)
      }
    }
    await way.close()
  }
}

/** Ours and a peer in pairs against raw. */
async function* against(stage: Stage, of: string, task: ReadTask): AsyncGenerator<Figure> {
  const what = `${of}, ${stage.distanceMs} ms away`
  const runs = async (way: WayName, some: ReadTask) =>
    inPairs(
      pairs,
      () => stage.cost(way, some),
      () => stage.cost('raw', some),
    )
  // A daemon has run for months: its code is compiled.
  for (const way of ['ours', 'raw'] as const)
    for (let round = 0; round < warmingRounds; round++) await stage.cost(way, task)
  const own = await runs('ours', task)
  const peer = await runs('viem', { ...task, readings: task.readings.slice(0, peerReadings) })
  yield { what: `${what}: raw`, values: own.map(([, bare]) => bare.ms), unit: ' ms' }
  yield { what: `${what}: CPU of raw`, values: own.map(([, bare]) => bare.cpuMs), unit: ' ms' }
  yield { what: `${what}: time, of raw`, values: own.map(([a, b]) => a.ms / b.ms) }
  yield { what: `${what}: CPU`, values: own.map(([{ cpuMs }]) => cpuMs), unit: ' ms', target: { atMost: 100 } }
  yield { what: `${what}: viem's time, of raw`, values: peer.map(([a, b]) => a.ms / b.ms) }
  yield { what: `${what}: viem's CPU, of raw`, values: peer.map(([a, b]) => a.cpuMs / b.cpuMs) }
}

async function* counts(stage: Stage, what: string, hours: readonly number[], count: number): AsyncGenerator<Figure> {
  const { requests, calls } = await stage.counted(() => stage.cost('ours', { readings: [hours], count }))
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
  await check(stage, oneByOne, 1_000)
  await check(stage, [together], 100)
  // The hours are looked up once.
  await stage.cost('ours', { readings: [together], count: 1 })
  if (stage.distanceMs > 0) {
    for (const count of [1, 10, 100, 1_000]) yield* counts(stage, `${count} reads of an hour`, [0], count)
    yield* counts(stage, '20 hours × 100 reads', together, 100)
  }
  const often = (hours: readonly (readonly number[])[]) =>
    Array.from({ length: readingsAll }, (_, index) => hours[index % hours.length] ?? [])
  yield* against(stage, '1,000 reads of an hour', { readings: often(oneByOne), count: 1_000 })
  yield* against(stage, '20 hours × 100 reads', { readings: often([together]), count: 100 })
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
