import type { Config } from '../config/config.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { CollectionRow, CollectionState } from '../outbox/contract/hours.ts'
import type { StoredMetric } from '../outbox/contract/metrics.ts'
import type { Overview } from '../outbox/contract/status-store.ts'
import type { Observed } from './observed.ts'
import { latenessWanted, readinessOf, strandedSentence, waitingSentences } from './readiness.ts'
import type { CellState, HourCell, HourGrid, ProtocolState, Snapshot, WidgetMetric } from './snapshot.ts'
import type { WidgetRead } from './widgets.ts'

/** Hours shown. */
export const shownHours = 48

/** The present state, from the outbox and the last widgets read. Reads only; takes a few milliseconds. */
export async function observe(observed: Observed): Promise<Snapshot> {
  const { config, outbox, nowMs } = observed
  const current = hourAt(nowMs)
  const first = hourAfter(current, 1 - shownHours)
  const hours = hoursFrom(first, current)
  const { rows, metrics, ...overview } = await outbox.status.detail(latenessWanted(observed), first, current)
  const byProtocol = Map.groupBy(metrics, ({ protocolId }) => protocolId)
  return {
    ...stateOf(observed, overview),
    protocols: config.protocols.map(protocol =>
      protocolState(protocol, hours, byProtocol.get(protocol.id) ?? [], observed.widgets.get(protocol.id)),
    ),
    hours: grid(config, hours, rows, metrics),
  }
}

/** The part of the state that needs no hour: the same for the page and for a scrape. */
export function stateOf(observed: Observed, overview: Overview): Omit<Snapshot, 'protocols' | 'hours'> {
  return {
    version: observed.version,
    nowMs: observed.nowMs,
    startedAtMs: observed.processStartedAtMs,
    ready: readinessOf(observed, overview),
    configuration: observed.configuration,
    service: serviceState(observed, overview),
    endpoints: observed.endpoints,
    balance: overview.backlog.balance,
    warnings: overview.warnings,
  }
}

/** State of delivery to the service. */
function serviceState(
  { config, host, nowMs }: Pick<Observed, 'config' | 'host' | 'nowMs'>,
  { destinations: states, backlog }: Pick<Overview, 'destinations' | 'backlog'>,
): Snapshot['service'] {
  const stranded = strandedSentence(config, backlog)
  const waiting = [...waitingSentences(states), ...(stranded === undefined ? [] : [stranded])]
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

function protocolState(
  { id, name, logo }: Config['protocols'][number],
  hours: readonly Hour[],
  metrics: readonly StoredMetric[],
  read: WidgetRead | undefined,
): ProtocolState {
  const own = Map.groupBy(metrics, metric => metric.id)
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

function cell(row: CollectionRow | undefined, metrics: readonly StoredMetric[]): HourCell {
  if (!row) return { state: 'unexpected', attempts: 0 }
  const state = cellState(row.state, wanted => metrics.some(metric => metric.state === wanted))
  return { state, attempts: row.attempts, ...(row.fault ? { fault: row.fault } : {}) }
}

/**
 * The worst state of an hour: what a person needs to know first.
 *
 * @param row of the hour; `undefined` when it is not expected
 * @param has whether any metric of it is in a state
 */
export function cellState(
  row: CollectionState | undefined,
  has: (state: 'due' | 'dead' | 'held') => boolean,
): CellState {
  if (row === undefined) return 'unexpected'
  if (row !== 'collected') return row
  if (has('dead')) return 'dead'
  if (has('held')) return 'held'
  return has('due') ? 'collected' : 'delivered'
}
