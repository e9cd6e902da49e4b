import { type Hour, hourText } from '../model/hour.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Version of the form of `/status.json`. It grows by one when a field is removed or means something else; fields may be
 * added without that. `docs/status.md` describes it.
 */
export const statusFormat = 1

/**
 * A value as in `/status.json`: the same names and nesting, with instants and hours as text.
 *
 * - An hour is text at a full UTC hour: `2026-11-20T13:00:00Z`.
 * - An instant, whose name ends in `Ms`, is ISO 8601 text with milliseconds in UTC, under the name without that: `nowMs` is
 * `now`, `lastPush.atMs` is `lastPush.at`. Only `skewMs` is a span, and stays.
 * - An unknown value is absent; only in a `curve` it is `null`.
 */
type JsonForm<T> = T extends Hour
  ? string
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer Each)[]
      ? readonly JsonForm<Each>[]
      : {
          readonly [Name in keyof T as WithoutUnit<Name>]: Name extends 'skewMs'
            ? T[Name]
            : Name extends `${string}Ms`
              ? string
              : JsonForm<T[Name]>
        }

type WithoutUnit<Name extends PropertyKey> = Name extends 'skewMs'
  ? Name
  : Name extends `${infer Short}Ms`
    ? Short
    : Name

/** Names of hours, and of lists of them. */
const hourNames: ReadonlySet<string> = new Set(['hour', 'hours', 'oldest', 'from', 'to'])

function written(value: unknown, name: string): unknown {
  if (Array.isArray(value))
    return value.map(each =>
      typeof each === 'number' && hourNames.has(name) ? hourText(each as Hour) : written(each, ''),
    )
  // The facts of a fault have names of their own.
  if (typeof value !== 'object' || value === null || name === 'facts') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, fieldValue]) => {
      if (typeof fieldValue !== 'number' || key === 'skewMs') return [key, written(fieldValue, key)]
      if (key.endsWith('Ms')) return [key.slice(0, -'Ms'.length), new Date(fieldValue).toISOString()]
      return [key, key !== 'hours' && hourNames.has(key) ? hourText(fieldValue as Hour) : fieldValue]
    }),
  )
}

/**
 * `/status.json`. `hours` has the last 48 hours, a cell each; `week` the last seven days, with consecutive hours of one
 * state and reason as one run (`from`, `hours`, `state`, and why). Only `week` has the rows of collectors that are no longer
 * configured.
 */
export function statusJson(snapshot: Snapshot) {
  return { format: statusFormat, ...jsonForm(snapshot) }
}

/** The answer of `/status.json`. */
export type StatusJson = ReturnType<typeof statusJson>

/** A value in the form of `/status.json`: the same names, hours and instants as text. */
export function jsonForm<T extends object>(value: T): JsonForm<T> {
  return written(value, '') as JsonForm<T>
}
