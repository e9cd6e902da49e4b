import type { AppContext } from '../../app/context.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import { exactText } from '../../model/number-text.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { HourRange } from '../selection.ts'
import { printFirst } from '../table.ts'
import { counted, cut, note, print } from '../terminal.ts'
import { describeReadable, fewAtATime, type HourAgain, hourAgain, openLoggedReader, presentOf } from './hour-again.ts'

/** Number of delivered hours to draw, and from which. */
export interface Draw extends HourRange {
  readonly collectors: readonly CollectorConfig[]
  readonly sample: number
  /** A whole number: equal seeds draw equal hours. */
  readonly seed: number
}

/** A metric's value at an hour, or a whole collector, that could not be read again. */
interface Unread {
  readonly of: string
  /** Absent when the whole collector could not be read. */
  readonly hour?: string
  readonly reason: string
}

/** A metric whose value differs when it is read again. */
interface Difference {
  readonly metric: MetricId
  readonly hour: string
  readonly stored: number
  readonly again: number
  readonly collector: string
  /** Parts of the collector that have changed since the value was collected: `code`, `options`. */
  readonly changed: readonly string[]
}

/** Delivered hours that were read again. */
export interface SampleDiff {
  /** Delivered hours to draw from. */
  readonly deliveredHours: number
  /** Hours drawn. */
  readonly hours: number
  /** Number of compared values, differing ones included. */
  readonly compared: number
  readonly differences: readonly Difference[]
  readonly notRead: readonly Unread[]
  /** Collectors that can read only the present. */
  readonly leftOut: readonly string[]
}

const reasonCharsMax = 80

const nothing: SampleDiff = { deliveredHours: 0, hours: 0, compared: 0, differences: [], notRead: [], leftOut: [] }

/** Reads random delivered hours again and compares. Stores nothing, and uses no cached as-of block. */
export async function sampleDiff(
  context: AppContext,
  outbox: Outbox | undefined,
  { collectors, from, to, sample, seed }: Draw,
): Promise<SampleDiff> {
  if (!outbox) return nothing
  await using stack = new AsyncDisposableStack()
  const reader = openLoggedReader(context, stack)
  const descriptions = await Promise.all(collectors.map(collector => describeReadable(reader, collector)))
  const readable = new Map(descriptions.flatMap(one => (one.kind === 'readable' ? [[one.collector.id, one]] : [])))
  const deliveredHours = await outbox.operators.deliveredHours([...readable.keys()], from, to)
  const runs = drawn(deliveredHours, sample, seed).flatMap(({ collector, hour }) => {
    const one = readable.get(collector)
    return one ? [{ ...one, hour }] : []
  })
  const rereadRuns = await fewAtATime(runs, async run => ({
    ...run,
    ...(await hourAgain(reader, outbox, run, 'the collector no longer returns it')),
  }))
  const changes = rereadRuns.flatMap(one => one.changes)
  const differences = (await fewAtATime(rereadRuns, one => differencesOf(outbox, one))).flat()
  return {
    deliveredHours: deliveredHours.length,
    hours: runs.length,
    compared: rereadRuns.reduce((sum, { equal }) => sum + equal, differences.length),
    differences,
    notRead: [
      ...descriptions.flatMap(one => (one.kind === 'unread' ? [one.unread] : [])),
      ...changes.flatMap(({ metric, hour, reason }) =>
        reason === undefined ? [] : [{ of: metric, hour: hourText(hour), reason }],
      ),
    ],
    leftOut: descriptions.flatMap(one => (one.kind === 'left-out' ? [one.collector.id] : [])),
  }
}

async function differencesOf(
  { operators }: Pick<Outbox, 'operators'>,
  { collector, hour, changes }: HourAgain & { readonly collector: CollectorConfig; readonly hour: Hour },
): Promise<Difference[]> {
  const differences = changes.flatMap(({ metric, stored, again }) =>
    stored === undefined || again === undefined ? [] : [{ metric, hour: hourText(hour), stored, again }],
  )
  if (differences.length === 0) return []
  const was = (await operators.origin(collector.id, hour))?.provenance
  const present = presentOf(collector)
  const changed = was ? (['code', 'options'] as const).filter(part => was[part] !== present[part]) : []
  return differences.map(difference => ({ ...difference, collector: collector.id, changed }))
}

/** Prints the differences, and why they may be. */
export function printSampleDiff(
  { deliveredHours, hours, compared: comparedCount, differences, notRead, leftOut }: SampleDiff,
  seed: number,
): void {
  const values = counted(comparedCount, 'value')
  if (leftOut.length > 0) note(`left out, as they only read “now”: ${leftOut.join(', ')}`)
  if (deliveredHours === 0) print('no delivered hour that could be read again')
  else print(`seed ${seed}: ${hours} of ${counted(deliveredHours, 'delivered hour')} read again, ${values} compared`)
  if (notRead.length > 0) {
    print('\nnot read again:')
    const rows = notRead.map(({ of, hour = '', reason }) => [of, hour, cut(reason, reasonCharsMax)])
    printFirst(['metric or collector', 'hour', 'why'], rows, 'value')
    print('')
  }
  if (differences.length > 0) {
    const numbers = ['stored', 'read again']
    const rows = differences.map(({ metric, hour, stored: storedValue, again: newValue }) => [
      metric,
      hour,
      exactText(storedValue),
      exactText(newValue),
    ])
    print('')
    printFirst(['metric', 'hour', ...numbers], rows, 'value', numbers)
    print(`\n${differences.length} of ${values} differ: the same hour should always give the same value`)
    printCauses(differences)
  } else if (comparedCount > 0) print('no difference: every value compared is the one that was stored, bit for bit')
  else if (deliveredHours > 0) print('nothing could be compared')
}

/** Prints which collectors have changed, and the command that explains one of the other differences, or the first. */
function printCauses(differences: readonly Difference[]): void {
  const isChanged = ({ changed }: Difference) => changed.length > 0
  for (const [collector, differencesOfCollector] of Map.groupBy(
    differences.filter(isChanged),
    each => each.collector,
  )) {
    const parts = [...new Set(differencesOfCollector.flatMap(({ changed }) => changed))].join(' and ')
    print(
      `${collector} has other ${parts} now than when ${differencesOfCollector.length} of these values ${differencesOfCollector.length === 1 ? 'was' : 'were'} collected, which may be why`,
    )
  }
  const shown = differences.find(each => !isChanged(each)) ?? differences[0]
  if (shown) print(`Why? tidegauge explain ${shown.metric} ${shown.hour}`)
}

/** Draws up to `count` elements by a seed (a whole number): the same ones for the same seed, in the order of `all`. */
function drawn<T>(items: readonly T[], count: number, seed: number): T[] {
  const places = items.map((_, place) => place)
  const roll = rolls(seed)
  const size = Math.min(count, items.length)
  for (let place = 0; place < size; place += 1) {
    const other = place + Math.floor(roll() * (places.length - place))
    ;[places[place], places[other]] = [places[other] ?? 0, places[place] ?? 0]
  }
  const chosen = new Set(places.slice(0, size))
  return items.filter((_, place) => chosen.has(place))
}

/** Pseudo-random numbers from 0 up to 1: Mulberry32 by Tommy Ettinger, public domain. */
function rolls(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
