import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { expectHoursNow } from '../../support/stored-hours.ts'
import { bench, hourOf, metricsOf, type Source } from './metrics.ts'

/** Opens an outbox that expects some hours of a source. */
export function openOutbox(file: string, hours: number, from = 0, source: Source = bench): SqliteOutbox {
  const outbox = new SqliteOutbox(file)
  expectHoursNow(outbox, source.collector, hourOf(from), hourOf(from + hours - 1))
  return outbox
}

/** Stores one hour of a source, in one commit. */
export async function storeHour(outbox: SqliteOutbox, number: number, source: Source = bench): Promise<void> {
  const accepted = metricsOf(source, number).map(metric => ({ metric }))
  await outbox.intake.record(
    { collector: source.collector, hour: hourOf(number), acceptedValues: accepted },
    hourOf(number),
  )
}

/** Stores some hours of a source, from hour `from` on. */
export async function storeHours(
  outbox: SqliteOutbox,
  from: number,
  hours: number,
  source: Source = bench,
): Promise<void> {
  for (let hour = from; hour < from + hours; hour += 1) await storeHour(outbox, hour, source)
}
