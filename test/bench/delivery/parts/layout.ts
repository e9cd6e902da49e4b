import { statSync } from 'node:fs'
import { Agent } from 'undici'
import { hourNumber } from '../../../../src/model/hour.ts'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { type Figure, inPairs } from '../../figures.ts'
import type { Layout, Portion } from '../layouts/layout.ts'
import { ParcelLayout } from '../layouts/parcels.ts'
import { RowLayout } from '../layouts/rows.ts'
import { deliverLean, inLanes, post } from '../layouts/send.ts'
import { hourOf, inFlight, metricsAnHour } from '../metrics.ts'
import { Place, startSink } from '../place.ts'

const runs = 9
const hoursARun = 50
const backlogHours = 500
/** Of the end-to-end comparison: many short ones, since other work disturbs most. */
const rounds = 40
const hoursARound = 20
const alone = 'undici alone'
/** Protocol numbers: what is measured, and another with an old backlog. */
const [own, other] = [1, 2]
const base = 'rows with a partial index'

/** Ways to lay out due metrics, as prototypes: what each costs, of the rows with a partial index that it might replace. */
const ways: Readonly<Record<string, (file: string) => Layout>> = {
  [base]: file => new RowLayout(file, 'index'),
  'rows with a counter an hour': file => new RowLayout(file, 'counter'),
  'parcels of values': file => new ParcelLayout(file, 'values'),
  'parcels of JSON': file => new ParcelLayout(file, 'json'),
}

/** One prototype under measurement. */
class Candidate {
  readonly layout: Layout
  readonly file: string
  #hour = backlogHours / 2

  constructor(file: string, open: (file: string) => Layout) {
    this.file = file
    this.layout = open(file)
    for (let hour = 0; hour < backlogHours; hour += 1) this.layout.store(other, numberOf(hour), valuesOf(hour))
  }

  /** Stores what one run takes: half of the hours of the first runs have rows of the other protocol, too. */
  store(): void {
    for (const until = this.#hour + hoursARun; this.#hour < until; this.#hour += 1) {
      this.layout.store(own, numberOf(this.#hour), valuesOf(this.#hour))
    }
  }

  /** Reads all that is due, by pages. */
  read(): Portion[][] {
    const pages: Portion[][] = []
    for (let last: Portion | undefined; ; last = pages.at(-1)?.at(-1)) {
      const page = this.layout.next(own, last, 20)
      if (page.length === 0) return pages
      pages.push(page)
    }
  }

  /** Delivers pages in commits of as many portions as are under way at a time. */
  record(pages: readonly (readonly Portion[])[]): void {
    const portions = pages.flat()
    for (let at = 0; at < portions.length; at += inFlight) this.layout.deliver(portions.slice(at, at + inFlight))
  }
}

/** Whether due metrics are rows, found by an index or by a counter, or parcels of up to 100. */
export async function* layouts(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const candidates = new Map(
    Object.entries(ways).map(([name, open], at) => [name, new Candidate(place.file(`${at}.db`), open)]),
  )
  for (const [name, candidate] of candidates) yield* tableWork(name, candidate, candidates.get(base) ?? candidate)
  yield* endToEnd(new Map([...candidates].map(([name, { layout }]) => [name, layout])), sink.url)
  for (const [name, open] of Object.entries(ways)) yield* bytes(name, place.file(`bytes ${name}`), open)
  for (const { layout } of candidates.values()) layout.database.close()
}

/** CPU time of storing, reading and recording, since the clock of a busy machine says little. */
async function* tableWork(name: string, candidate: Candidate, against: Candidate): AsyncGenerator<Figure> {
  const once = (one: Candidate) => async () => {
    const [store] = cpuOf(() => one.store())
    const [read, pages] = cpuOf(() => one.read())
    const [record] = cpuOf(() => one.record(pages))
    return { store, read, record }
  }
  const pairs = await inPairs(2 * runs, once(candidate), once(against))
  for (const work of ['store', 'read', 'record'] as const) {
    const what = `${name}: CPU to ${work} 1,000 metrics`
    yield { what, values: pairs.map(([one]) => one[work]), unit: ' µs' }
    if (candidate !== against) yield { what: `${what}, of ${base}`, values: pairs.map(([a, b]) => a[work] / b[work]) }
  }
}

/** @returns microseconds for 1,000 metrics, and what the work gave */
function cpuOf<T>(work: () => T): [number, T] {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  return [(user + system) / hoursARun, result]
}

/** Delivery by a lean sender, in rounds with the same bodies posted by undici and nothing else. */
async function* endToEnd(layouts: ReadonlyMap<string, Layout>, url: string): AsyncGenerator<Figure> {
  const dispatcher = new Agent({ connections: inFlight + 1, pipelining: 1 })
  let hour = 10 * backlogHours
  const store = (layout: Layout) => {
    for (const until = hour + hoursARound; hour < until; hour += 1) layout.store(own, numberOf(hour), valuesOf(hour))
  }
  const times = new Map([...layouts.keys(), alone].map(name => [name, [] as number[]]))
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, layout] of layouts) {
      store(layout)
      times.get(name)?.push(await timed(() => deliverLean(layout, own, dispatcher, url)))
    }
    const [layout] = layouts.values()
    if (!layout) return
    store(layout)
    const portions = layout.next(own, undefined, (hoursARound * metricsAnHour) / batchMetricsMax)
    layout.deliver(portions)
    const bodies = portions.map(({ json }) => `{"metrics":[${json}]}`).values()
    const lane = async () => {
      for (const body of bodies) await post(dispatcher, url, body)
    }
    times.get(alone)?.push(await timed(() => inLanes(lane)))
  }
  await dispatcher.close()
  const bare = undisturbed(times.get(alone) ?? [])
  yield { what: `a push by ${alone}`, values: [bare], unit: ' µs' }
  for (const name of layouts.keys()) {
    const values = [bare / undisturbed(times.get(name) ?? [])]
    yield { what: `${name}: delivered by a lean sender, of ${alone}`, values }
  }
}

/** @returns microseconds a push */
async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await work()
  return ((performance.now() - startMs) * 1_000 * batchMetricsMax) / (hoursARound * metricsAnHour)
}

/** The fastest but for a tenth: others had the machine to themselves less. */
function undisturbed(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 10)] ?? Number.NaN
}

async function* bytes(name: string, file: string, open: (file: string) => Layout): AsyncGenerator<Figure> {
  const layout = open(file)
  for (let hour = 0; hour < backlogHours; hour += 1) layout.store(own, numberOf(hour), valuesOf(hour))
  layout.database.pragma('wal_checkpoint(TRUNCATE)')
  layout.database.close()
  yield { what: `${name}: bytes a due metric`, values: [statSync(file).size / (backlogHours * metricsAnHour)] }
}

function numberOf(hour: number): number {
  return hourNumber(hourOf(hour))
}

function valuesOf(hour: number): number[] {
  return Array.from({ length: metricsAnHour }, (_, index) => hour / 2 + index / 7)
}
