import { type Hour, hourText } from '../../../../src/model/hour.ts'
import type { Sqlite } from '../../../../src/sqlite/database.ts'
import { metricsAnHour } from '../metrics.ts'

/** Metrics of one protocol and hour that one push carries. */
export interface Portion {
  readonly protocol: number
  /** In hours since 1970. */
  readonly hour: number
  /** Numbers of its metrics, which are consecutive. */
  readonly from: number
  readonly to: number
  /** Its metrics in their wire form, separated by commas. */
  readonly json: string
}

/** A prototype of tables that hold due metrics: no more than storing, reading and recording verdicts need. */
export interface Layout {
  readonly database: Sqlite
  /** Stores an hour of a protocol, in hours since 1970, with one commit that waits for the disk. */
  store(protocol: number, hour: number, values: readonly number[]): void
  /** The next due metrics of a protocol, oldest first, after a portion that was read before. */
  next(protocol: number, after: Portion | undefined, portions: number): Portion[]
  /** Marks portions delivered, with one commit that does not wait for the disk. */
  deliver(portions: readonly Portion[]): void
}

/** Number of a protocol's first metric; the others follow. */
export function firstOf(protocol: number): number {
  return protocol * metricsAnHour
}

const heads = new Map<number, string>()

function headOf(number: number): string {
  const known = heads.get(number)
  if (known !== undefined) return known
  const head = `{"id":"bench___Label${number % metricsAnHour}","value":`
  heads.set(number, head)
  return head
}

/** The wire form of metrics with consecutive numbers, joined from texts that are made once for each metric and hour. */
export function jsonOf(hour: Hour, from: number, values: ArrayLike<number>): string {
  const tail = `,"protocolId":"bench","unit":"USD","timestamp":"${hourText(hour)}"}`
  let json = ''
  for (let at = 0; at < values.length; at += 1) json += `${at > 0 ? ',' : ''}${headOf(from + at)}${values[at]}${tail}`
  return json
}
