import type { Config } from '../config/config.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { DestinationState } from '../outbox/contract/destination.ts'
import type { CollectionRow } from '../outbox/contract/hours.ts'
import type { StoredMetric } from '../outbox/contract/metrics.ts'
import type { Overview } from '../outbox/contract/status-store.ts'
import { cellState } from './cell-state.ts'
import type { Observed } from './observed.ts'
import { latenessWanted, readinessOf, strandedSentence, waitingSentences } from './readiness.ts'
import type { BacklogState, GateState, HourCell, HourGrid, ProtocolState, Snapshot, WidgetMetric } from './snapshot.ts'
import { weekOf } from './week.ts'
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
    protocols: [...config.protocols, ...removedProtocols(config, [...byProtocol.keys()])].map(protocol =>
      protocolState(protocol, hours, byProtocol.get(protocol.id) ?? [], observed.widgets.get(protocol.id)),
    ),
    hours: grid(config, hours, rows, metrics),
    week: await weekOf(observed),
  }
}

/** The part of the state that needs no hour: the same for the page and for a scrape. */
export function stateOf(observed: Observed, overview: Overview): Omit<Snapshot, 'protocols' | 'hours' | 'week'> {
  return {
    version: observed.version,
    nowMs: observed.nowMs,
    startedAtMs: observed.processStartedAtMs,
    ready: readinessOf(observed, overview),
    configuration: observed.configuration,
    service: serviceState(observed, overview),
    endpoints: observed.endpoints,
    balance: overview.backlog.balance,
    backlog: backlogState(observed.config, overview),
    warnings: overview.warnings,
  }
}

/** State of delivery to the service. */
function serviceState(
  { config, host, nowMs, destinations }: Pick<Observed, 'config' | 'host' | 'nowMs' | 'destinations'>,
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
  const gates = states.flatMap((state, place) => gateState(destinations[place] ?? '', state, nowMs))
  return {
    host,
    ...(lastPush && { lastPush }),
    ...(waiting.length > 0 ? { waiting: waiting.join('; ') } : {}),
    ...(Number.isFinite(nextAttemptMs) ? { nextAttemptMs } : {}),
    ...(skewMs === undefined ? {} : { skewMs }),
    gates,
  }
}

function gateState(destination: string, state: DestinationState, nowMs: number): readonly GateState[] {
  const { waiting, notBeforeMs, probeAtMs, failures } = state
  const isHeld = notBeforeMs > nowMs || probeAtMs > nowMs
  if (waiting === undefined && !isHeld) return []
  return [
    {
      destination,
      ...(waiting === undefined ? {} : { waiting }),
      ...(notBeforeMs > nowMs ? { retryAfterUntilMs: notBeforeMs } : {}),
      ...(probeAtMs > nowMs ? { probeAtMs } : {}),
      failures,
    },
  ]
}

function backlogState({ protocols }: Config, { backlog, due }: Pick<Overview, 'backlog' | 'due'>): BacklogState {
  const configured = new Set(protocols.map(({ id }) => id))
  return {
    byProtocol: [...backlog.byProtocol]
      .filter(([, counts]) => counts.due > 0)
      .sort(([, a], [, b]) => b.due - a.due)
      .map(([protocolId, counts]) => ({
        protocolId,
        due: counts.due,
        ...(!configured.has(protocolId) && { isRemoved: true as const }),
      })),
    ...(due && { late: due }),
  }
}

type ShownProtocol = Pick<Config['protocols'][number], 'id' | 'name' | 'logo' | 'collectors'> & {
  readonly isRemoved?: true
}

/** Protocols with values that the configuration no longer has. */
export function removedProtocols({ protocols }: Config, ids: readonly string[]): ShownProtocol[] {
  const configured = new Set(protocols.map(({ id }) => id))
  return ids.filter(id => !configured.has(id)).map(id => ({ id, name: id, collectors: [], isRemoved: true }))
}

function protocolState(
  { id, name, logo, collectors, isRemoved }: ShownProtocol,
  hours: readonly Hour[],
  metrics: readonly StoredMetric[],
  read: WidgetRead | undefined,
): ProtocolState {
  const own = Map.groupBy(metrics, metric => metric.id)
  const configured = new Set(collectors.map(collector => collector.id))
  const ids = new Set([...own.keys(), ...(read?.metrics.map(metric => metric.id as MetricId) ?? [])])
  return {
    id,
    name,
    ...(logo === undefined ? {} : { logo }),
    ...(isRemoved && { isRemoved }),
    ...(read === undefined ? {} : { readAtMs: read.atMs }),
    metrics: [...ids].map(metricId => {
      const history = own.get(metricId) ?? []
      const latest = history.at(-1)
      const metric = widgetMetric(metricId, id, hours, history, read)
      return latest && !configured.has(latest.collector) ? { ...metric, isRemoved: true } : metric
    }),
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
