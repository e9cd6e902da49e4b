import { type CollectContext, type CollectorLog, z } from 'tidegauge'
import { type Fraction, fractionOf, total } from './fraction.ts'
import { isLasting } from './lasting.ts'
import { reworded } from './reworded.ts'

/** A list of the configuration in place of addresses. */
export const eachOption = z
  .strictObject({ each: z.string({ error: 'must be the name of a list' }) })
  .describe('the addresses of a list: { each: NAME }')

type Address = `0x${string}`

/** A result of one item of a list. */
export interface ListItem<T> {
  readonly address: Address
  readonly of: T
}

/** The exact values of an item, by their labels. */
type ItemValues = (label: string) => Promise<Fraction>

/** Items that are read at once: the reads of a whole long list would fill the memory of a process. */
const itemsAtOnce = 1_000

/**
 * Reads the values of each item of a list, those of the last time before the list is there, so that the reads of both
 * travel together. An item that is not on the list is left out of the result. Of a long list an item is begun once those
 * before it are settled.
 *
 * @param begin its rejections must be handled: the item may not be on the list
 * @param labels the values that `begin` has begun
 */
export async function ofItems<V extends ItemValues>(
  list: CollectContext<unknown>['list'],
  name: string,
  begin: (item: Address) => V,
  labels: readonly string[],
): Promise<readonly ListItem<Promise<V>>[]> {
  let underWay: Promise<unknown>[] = []
  let turn: Promise<unknown> = Promise.resolve()
  const beginInTurn = (item: Address) => {
    if (underWay.length === itemsAtOnce) {
      turn = Promise.all(underWay)
      underWay = []
    }
    const begun = turn.then(() => begin(item))
    underWay.push(begun.then(values => Promise.allSettled(labels.map(values))))
    return begun
  }
  const recent = await list.recent(name)
  const waited = list(name)
  const begun = new Map(recent.map(item => [item, beginInTurn(item)] as const))
  return (await waited).map(address => ({ address, of: begun.get(address) ?? beginInTurn(address) }))
}

/** Computations over the values of all items. */
export const aggregates = {
  total: (values: readonly Fraction[]) => total(values),
  mean: (values: readonly Fraction[]) => total(values).div(values.length),
  highest: (values: readonly Fraction[]) => values.reduce((most, each) => (each.compare(most) > 0 ? each : most)),
  lowest: (values: readonly Fraction[]) => values.reduce((least, each) => (each.compare(least) < 0 ? each : least)),
} as const

export type AggregateKind = keyof typeof aggregates

/** A value of all items together. */
export interface AggregateValue {
  /** Its label, for messages. */
  readonly label: string
  readonly kind: AggregateKind
  /** Share of the items that must have a value. Default: all must have one. */
  readonly atLeast?: number | undefined
}

/**
 * A value of all items together. An item that cannot have a value is left out, where enough others have one; a read that
 * may succeed later fails the whole.
 *
 * @throws the failure of an item; Error when too few have a value, or there is none to take the mean of
 */
export async function aggregate(
  { label, kind, atLeast }: AggregateValue,
  items: readonly ListItem<Promise<Fraction>>[],
  log: CollectorLog,
): Promise<Fraction> {
  const settled = await Promise.allSettled(items.map(each => each.of))
  const values = settled.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const failures = settled.flatMap((each, place) =>
    each.status === 'rejected' ? [{ address: items[place]?.address, error: each.reason as unknown }] : [],
  )
  const [first = failures[0]] = failures.filter(({ error }) => !isLasting(error))
  if (first && (atLeast === undefined || !isLasting(first.error)))
    throw reworded(first.error, `item ${first.address}: ${messageOf(first.error)}`)
  if (first) {
    const words = `${failures.length} of ${items.length} items have no value`
    const reasons = failures.slice(0, shownMax).map(({ address, error }) => `${address}: ${messageOf(error)}`)
    if (
      fractionOf(atLeast ?? 1)
        .mul(items.length)
        .compare(values.length) > 0
    )
      throw new Error(`${words}, and atLeast is ${atLeast}: ${reasons[0]}`)
    log.warn(`${label}: ${words}, and are left out`, { items: reasons.join('; ') })
  }
  if (values.length === 0 && kind !== 'total') throw new Error(`there is no ${kind} of no items`)
  return aggregates[kind](values)
}

/** Items without a value that are named. */
const shownMax = 10

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
