import { hourFromNumber, hourNumber } from '../../../model/hour.ts'
import { jumpHoursMax } from '../../../model/limits.ts'
import type { MetricKey, Past } from '../../contract/metrics.ts'
import { type KnownMetric, pastAt } from '../../rows/known-metric.ts'
import { stateNumber } from '../../rows/states.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import { EditedRuns, numbersAtHours } from './edited-runs.ts'
import { metricsById } from './known-metrics.ts'

const accepting: ReadonlySet<number> = new Set([stateNumber('due'), stateNumber('delivered')])

/** A known metric, and the hour before which its last value is looked for. */
interface PastWanted {
  readonly known: KnownMetric
  /** In hours since 1970. */
  readonly hour: number
}

/** As `IntakeStore.pasts`. Mostly the hour before has all values, so it is read first. */
export function pastsOf(database: PostgresDatabase, metrics: readonly MetricKey[]): Promise<(Past | undefined)[]> {
  if (metrics.length === 0) return Promise.resolve([])
  return database.read(async transaction => {
    const known = await metricsById(
      transaction,
      metrics.map(({ id }) => id),
    )
    const wanted = metrics.flatMap(({ id, hour }) => {
      const one = known.get(id)
      return one ? [{ known: one, hour: hourNumber(hour) }] : []
    })
    const previous = await found(transaction, wanted, 1, 1)
    const missing = wanted.filter(one => !previous.has(keyOf(one)))
    for (const [key, value] of await found(transaction, missing, 2, jumpHoursMax)) previous.set(key, value)
    return metrics.map(({ id, hour }) => {
      const [one, at] = [known.get(id), hourNumber(hour)]
      return pastAt(one, at, () => one && previous.get(keyOf({ known: one, hour: at })))
    })
  })
}

type Previous = NonNullable<Past['previous']>

/** The last due or delivered values, so many hours before. */
async function found(
  transaction: Transaction,
  wanted: readonly PastWanted[],
  nearest: number,
  farthest: number,
): Promise<Map<string, Previous>> {
  const backs = Array.from({ length: farthest - nearest + 1 }, (_, index) => nearest + index)
  const all = wanted.flatMap(({ known: { number }, hour }) => backs.map(back => ({ hour: hour - back, number })))
  const runs = await EditedRuns.loaded(transaction, numbersAtHours(all))
  const values = new Map<string, Previous>()
  for (const one of wanted) {
    for (const back of backs) {
      const stored = runs.at(one.hour - back, one.known.number)
      if (!stored || !accepting.has(stored.state)) continue
      values.set(keyOf(one), { hour: hourFromNumber(one.hour - back), value: stored.value })
      break
    }
  }
  return values
}

function keyOf({ known, hour }: PastWanted): string {
  return `${hour} ${known.number}`
}
