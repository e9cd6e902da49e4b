import type { CollectorConfig, Config } from '../config/config.ts'
import type { ClockVerdict } from '../model/clock.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../model/hour.ts'
import { overdueMs } from '../model/limits.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { CollectionRow } from '../outbox/hour-rows.ts'
import type { StoredMetric } from '../outbox/metrics.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { MetricState } from '../outbox/states.ts'
import { clockSentences } from './clock-sentences.ts'
import { detainedSentences } from './detained-sentences.ts'
import { gapSentence, lateSentence, missingSentence } from './hour-sentences.ts'
import type {
  Cell,
  CellState,
  EndpointState,
  HourGrid,
  ProtocolState,
  Readiness,
  Snapshot,
  WidgetMetric,
} from './snapshot.ts'
import type { WidgetRead } from './widgets.ts'

/** Hours shown. */
const shownHours = 48

/** What an observation is made from. */
export interface Observed {
  readonly config: Config
  readonly outbox: Outbox
  /** As in `ServiceState.host`. */
  readonly host: string
  readonly destinations: readonly string[]
  readonly version: string
  readonly startedAtMs: number
  readonly nowMs: number
  /** The last read of each protocol's widget, by protocol id. */
  readonly widgets: ReadonlyMap<string, WidgetRead>
  /** Whether this machine's clock is believed; absent where nobody looks after it. */
  readonly clock?: ClockVerdict
  /** What is known of the nodes; none where nobody reads. */
  readonly endpoints: readonly EndpointState[]
}

/** What is true now, from the outbox and the last reads of the service. Reads only; a few milliseconds. */
export function observe(observed: Observed): Snapshot {
  const { config, outbox, nowMs } = observed
  const current = hourAt(nowMs)
  const hours = hoursFrom(hourAfter(current, 1 - shownHours), current)
  const metrics = outbox.metrics.between(hourAfter(current, 1 - shownHours), current)
  const rows = outbox.collections.between(hourAfter(current, 1 - shownHours), current)
  return {
    version: observed.version,
    nowMs,
    startedAtMs: observed.startedAtMs,
    ready: readiness(observed),
    service: serviceState(observed),
    endpoints: observed.endpoints,
    balance: outbox.tally.balance(),
    protocols: config.protocols.map(protocol =>
      protocolState(protocol, hours, metrics, observed.widgets.get(protocol.id)),
    ),
    hours: grid(config, hours, rows, metrics),
    warnings: outbox.warnings.all(),
  }
}

function serviceState({
  config,
  outbox,
  host,
  destinations,
  nowMs,
}: Pick<Observed, 'config' | 'outbox' | 'host' | 'destinations' | 'nowMs'>): Snapshot['service'] {
  const states = destinations.map(name => outbox.destinations.get(name))
  const stranded = strandedSentence(config, outbox)
  const waiting = [...waitingSentences({ outbox, destinations }), ...(stranded === undefined ? [] : [stranded])]
  const attemptsMs = states.map(({ notBeforeMs, probeAtMs }) => Math.max(notBeforeMs, probeAtMs))
  const nextAttemptMs = Math.min(...attemptsMs.filter(atMs => atMs > nowMs))
  const lastPush = states
    .flatMap(state => state.lastPush ?? [])
    .reduce<Snapshot['service']['lastPush']>((last, push) => (last && last.atMs >= push.atMs ? last : push), undefined)
  const skewMs = states.find(state => state.skewMs !== undefined)?.skewMs
  return {
    host,
    ...(lastPush && { lastPush }),
    ...(waiting.length > 0 ? { waiting: waiting.join('; ') } : {}),
    ...(Number.isFinite(nextAttemptMs) ? { nextAttemptMs } : {}),
    ...(skewMs === undefined ? {} : { skewMs }),
  }
}

function waitingSentences({ outbox, destinations }: Pick<Observed, 'outbox' | 'destinations'>): string[] {
  return destinations.flatMap(name => outbox.destinations.get(name).waiting ?? [])
}

/** Due metrics that nothing is going to deliver: their protocol was taken out of the configuration. */
export function strandedSentence(config: Config, outbox: Outbox): string | undefined {
  const configured = new Set(config.protocols.map(({ id }) => id))
  const stranded = [...outbox.tally.dueByProtocol()].filter(([id]) => !configured.has(id))
  if (stranded.length === 0) return undefined
  const counts = stranded.map(([id, metrics]) => `${metrics} due of ${id}`).join(', ')
  return `not configured any more, and delivered only once they are again: ${counts}; to give them up: tidegauge due drop ${stranded[0]?.[0]}`
}

/**
 * Red whenever an hour is late: not collected, or collected and not delivered, a quarter of an hour after its turn. It is
 * asked of what the configuration expects, not of what the rows happen to say, so a writer that is broken shows too. For
 * as long after a start, catching up alone is no alarm; what was tried and failed is.
 */
export function readiness(
  observed: Pick<Observed, 'config' | 'outbox' | 'nowMs' | 'startedAtMs' | 'host' | 'destinations' | 'clock'>,
): Readiness {
  const { config, outbox, nowMs, startedAtMs, host } = observed
  const isCatchingUp = nowMs - startedAtMs < overdueMs
  const newestLate = hourAt(nowMs - overdueMs)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const late = outbox.collections
    .lateOf(
      collectors.map(({ id }) => id),
      newestLate,
    )
    .filter(({ fault }) => fault || !isCatchingUp)
  const missing = isCatchingUp ? [] : collectors.filter(collector => isMissing(collector, newestLate, outbox))
  const gaps = gapsAt(newestLate, outbox).filter(({ collector }) => collectors.some(({ id }) => id === collector))
  const reasons = [
    ...clockSentences(observed),
    ...(outbox.disk.isFull ? [outbox.disk.fullSentence] : []),
    ...late.map(lateSentence),
    ...missing.map(({ id }) => missingSentence(id, newestLate)),
    ...gaps.map(gapSentence),
  ]
  const protocolIds = config.protocols.map(({ id }) => id)
  const oldest = outbox.due.hour('oldest', protocolIds, newestLate)
  const waiting = waitingSentences(observed).join('; ')
  if (oldest !== undefined && (waiting || !isCatchingUp)) {
    const count = outbox.due.countUpTo(protocolIds, newestLate)
    const why = waiting ? `: ${waiting}` : ''
    reasons.push(
      `${count} ${count === 1 ? 'metric' : 'metrics'} not delivered to ${host}, the oldest of ${hourText(oldest)}${why}`,
    )
  }
  const ofNewest = outbox.metrics
    .between(newestLate, newestLate)
    .filter(({ protocolId }) => protocolIds.includes(protocolId))
  reasons.push(...detainedSentences(ofNewest, newestLate, host))
  return { ok: reasons.length === 0, reasons }
}

/** An hour that must be a row by now and is not: the outbox could not be written, say. */
function isMissing({ id, since }: CollectorConfig, newestLate: Hour, outbox: Outbox): boolean {
  const start = outbox.collections.since(id) ?? since
  if (start !== undefined && start > newestLate) return false
  return outbox.collections.states(id, newestLate, newestLate).size === 0
}

/** The newest late hour cannot be had any more: that is news; older gaps are history, and stand in the grid. */
function gapsAt(hour: Hour, outbox: Outbox): readonly CollectionRow[] {
  return outbox.collections.between(hour, hour).filter(({ state }) => state === 'gap')
}

function protocolState(
  { id, name, logo }: Config['protocols'][number],
  hours: readonly Hour[],
  metrics: readonly StoredMetric[],
  read: WidgetRead | undefined,
): ProtocolState {
  const own = Map.groupBy(
    metrics.filter(({ protocolId }) => protocolId === id),
    metric => metric.id,
  )
  const ids = new Set([...own.keys(), ...(read?.metrics.map(metric => metric.id as MetricId) ?? [])])
  return {
    id,
    name,
    ...(logo === undefined ? {} : { logo }),
    ...(read === undefined ? {} : { readAtMs: read.atMs }),
    metrics: [...ids].map(metricId => widgetMetric(metricId, id, hours, own.get(metricId) ?? [], read)),
  }
}

function widgetMetric(
  id: MetricId,
  protocolId: string,
  hours: readonly Hour[],
  history: readonly StoredMetric[],
  read: WidgetRead | undefined,
): WidgetMetric {
  const valueByHour = new Map(history.map(({ hour, value }) => [hour, value]))
  const latest = history.at(-1)
  const shown = read?.metrics.find(metric => metric.id === id)
  const hour = shown ? hourAt(Date.parse(shown.timestamp)) : latest?.hour
  const unit = shown?.unit ?? latest?.unit
  const value = shown?.value ?? latest?.value
  return {
    id,
    label: labelOf({ id, protocolId }),
    ...(value === undefined ? {} : { value }),
    ...(unit === undefined ? {} : { unit }),
    ...(typeof shown?.change1h === 'number' ? { change1h: shown.change1h } : {}),
    ...(typeof shown?.change24h === 'number' ? { change24h: shown.change24h } : {}),
    ...(hour === undefined || Number.isNaN(hour) ? {} : { hour }),
    ...(shown || !latest ? {} : { state: latest.state }),
    curve: hours.map(at => valueByHour.get(at) ?? null),
  }
}

function grid(
  config: Config,
  hours: readonly Hour[],
  rows: readonly CollectionRow[],
  metrics: readonly StoredMetric[],
): HourGrid {
  const rowByCell = new Map(rows.map(row => [`${row.hour} ${row.collector}`, row]))
  const metricsByCell = Map.groupBy(metrics, ({ hour, collector }) => `${hour} ${collector}`)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  return {
    hours,
    rows: collectors.map(({ id, protocolId }) => ({
      collector: id,
      protocolId,
      cells: hours.map(hour => cell(rowByCell.get(`${hour} ${id}`), metricsByCell.get(`${hour} ${id}`) ?? [])),
    })),
  }
}

function cell(row: CollectionRow | undefined, metrics: readonly StoredMetric[]): Cell {
  if (!row) return { state: 'unexpected', attempts: 0 }
  return { state: cellState(row, metrics), attempts: row.attempts, ...(row.fault ? { fault: row.fault } : {}) }
}

/** The worst that is true of an hour: what a person would want to know first. */
function cellState(row: CollectionRow, metrics: readonly StoredMetric[]): CellState {
  const has = (state: MetricState) => metrics.some(metric => metric.state === state)
  if (row.state !== 'collected') return row.state
  if (has('dead')) return 'dead'
  if (has('held')) return 'held'
  return has('due') ? 'collected' : 'delivered'
}
