import { type Hour, hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import type { StatusJson } from '../../src/status/json.ts'
import type { Truth } from './truth.ts'

type Metric = StatusJson['protocols'][number]['metrics'][number]

export interface Comparison {
  /** Numbers that were looked at: values and changes. */
  readonly checked: number
  /** One line for each that is not what the chain says. */
  readonly differences: readonly string[]
}

interface Check {
  readonly what: string
  readonly shown: number | undefined
  readonly expected: number
}

/**
 * Compares every metric of these protocols with the chain: the value at its hour, its changes, which are differences to
 * the values one hour and 24 hours before, and the curve of the past hours. A number is equal when it is the same double.
 */
export async function compare(
  { hours, protocols }: Pick<StatusJson, 'hours' | 'protocols'>,
  truth: Truth,
): Promise<Comparison> {
  // A private value is on the page, and not in the widget.
  const shown = protocols.flatMap(({ metrics }) => metrics.filter(({ state }) => state !== 'private'))
  const missing = truth.ids.filter(id => !shown.some(metric => metric.id === id)).map(id => `${id}: not shown`)
  const unread = protocols.flatMap(({ id, readAt }) => (readAt ? [] : [`${id}: not read from the service`]))
  const curveHours = hours.hours.map(parseHour)
  const checks = await Promise.all(
    shown.flatMap(metric => [checksOf(metric, truth), curveChecks(metric, curveHours, truth)]),
  )
  const wrong = checks.flat().filter(({ shown, expected }) => shown !== expected)
  const lines = wrong.map(
    ({ what, shown, expected }) => `${what}: shown ${shown ?? 'nothing'}, on the chain ${expected}`,
  )
  return { checked: checks.flat().length, differences: [...unread, ...missing, ...lines] }
}

/** A value that the chain does not know is no number, which equals nothing. */
async function expectedAt({ id }: Metric, hour: Hour, truth: Truth): Promise<number> {
  return (await truth.value(id, hour)) ?? Number.NaN
}

async function checksOf(metric: Metric, truth: Truth): Promise<Check[]> {
  const { id, hour: shownHour, value, change1h, change24h } = metric
  if (!shownHour) return [{ what: `${id}, of no hour`, shown: value, expected: Number.NaN }]
  const hour = parseHour(shownHour)
  const now = await expectedAt(metric, hour, truth)
  const before = async (count: number) => now - (await expectedAt(metric, hourAfter(hour, -count), truth))
  return [
    { what: `${id} at ${shownHour}`, shown: value, expected: now },
    { what: `${id}, change over 1 hour`, shown: change1h, expected: await before(1) },
    { what: `${id}, change over 24 hours`, shown: change24h, expected: await before(24) },
  ]
}

function curveChecks(metric: Metric, hours: readonly Hour[], truth: Truth): Promise<Check[]> {
  return Promise.all(
    hours.map(async (hour, index) => ({
      what: `${metric.id}, curve at ${hourText(hour)}`,
      shown: metric.curve[index] ?? undefined,
      expected: await expectedAt(metric, hour, truth),
    })),
  )
}
