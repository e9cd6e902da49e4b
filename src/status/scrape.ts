import { setImmediate } from 'node:timers/promises'
import { hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import type { HourOfAll } from '../outbox/hour-states.ts'
import { serviceState, shownHours } from './observe.ts'
import type { Observed } from './observed.ts'
import { readiness } from './readiness.ts'
import type { Cell, CellState, HourGrid, Snapshot } from './snapshot.ts'

/** What a scrape of `/metrics` is made from: a snapshot without widgets. */
export type Scrape = Omit<Snapshot, 'protocols'>

/** Hours that are looked at before the event loop has its turn. */
const hoursATurn = 12

/** What is true now, without any value: no row of a metric is read that is delivered. */
export async function scrape(observed: Observed): Promise<Scrape> {
  const { outbox, nowMs } = observed
  return {
    version: observed.version,
    nowMs,
    startedAtMs: observed.processStartedAtMs,
    ready: readiness(observed),
    configuration: observed.configuration,
    service: serviceState(observed),
    endpoints: observed.endpoints,
    balance: outbox.tally.balance(),
    hours: await states(observed),
    warnings: outbox.warnings.all(),
  }
}

async function states({ config, outbox, nowMs }: Observed): Promise<HourGrid> {
  const current = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(current, 1 - shownHours), current)
  const look = outbox.hourStates.reader()
  const looks: HourOfAll[] = []
  for (const [index, hour] of hours.entries()) {
    if (index % hoursATurn === hoursATurn - 1) await setImmediate()
    looks.push(look(hour))
  }
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const rows = collectors.map(({ id, protocolId }) => ({
    collector: id,
    protocolId,
    cells: looks.map(hour => cells[stateOf(id, hour)]),
  }))
  return { hours, rows }
}

/** The worst that is true of an hour. */
function stateOf(collector: string, { rows, open }: HourOfAll): CellState {
  const row = rows.get(collector)
  if (row === undefined) return 'unexpected'
  if (row !== 'collected') return row
  const metrics = open.get(collector)
  if (!metrics) return 'delivered'
  return metrics.has('dead') ? 'dead' : metrics.has('held') ? 'held' : 'collected'
}

/** Attempts and faults are not exposed. */
const cells: Readonly<Record<CellState, Cell>> = {
  due: { state: 'due', attempts: 0 },
  collected: { state: 'collected', attempts: 0 },
  delivered: { state: 'delivered', attempts: 0 },
  gap: { state: 'gap', attempts: 0 },
  dead: { state: 'dead', attempts: 0 },
  held: { state: 'held', attempts: 0 },
  unexpected: { state: 'unexpected', attempts: 0 },
}
