import type { Config } from '../config/config.ts'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../model/hour.ts'
import { labelOf, type MetricId } from '../model/metric.ts'
import type { MetricCurve } from '../outbox/contract/curves.ts'
import type { DestinationState } from '../outbox/contract/destination.ts'
import type { CollectionRow, HourOfAll } from '../outbox/contract/hours.ts'
import type { Overview } from '../outbox/contract/status-store.ts'
import { cellState } from './cell-state.ts'
import { type FleetState, lookAtFleet } from './fleet.ts'
import type { Observed } from './observed.ts'
import { latenessWanted, readinessOf } from './readiness.ts'
import { strandedSentence, waitingSentences } from './sentences.ts'
import type { BacklogState, GateState, HourCell, HourGrid, ProtocolState, Snapshot, WidgetMetric } from './snapshot.ts'
import { weekOf } from './week.ts'
import type { WidgetRead } from './widgets.ts'

/** Hours shown. */
export const shownHours = 48

/** The present state, from the outbox and the last widgets read. Reads only. */
export async function observe(observed: Observed): Promise<Snapshot> {
  const { config, outbox, nowMs } = observed
  const current = hourAt(nowMs)
  const first = hourAfter(current, 1 - shownHours)
  const hours = hoursFrom(first, current)
  const { rows, curves, ...overview } = await outbox.status.detail(latenessWanted(observed), first, current)
  const byProtocol = Map.groupBy(curves, ({ latest }) => latest.protocolId)
  const shown = [...config.protocols, ...removedProtocols(config, [...byProtocol.keys()])]
  const { week, looks } = await weekOf(observed)
  const fleet = await lookAtFleet(observed)
  const cells = grid(config, hours, rows, looks.slice(-shownHours))
  const newest = new Map(cells.rows.map(row => [row.collector, newestTried(row.cells)]))
  return {
    ...stateOf(observed, overview, fleet),
    protocols: shown.map(protocol =>
      protocolState(protocol, hours, byProtocol.get(protocol.id) ?? [], observed.widgets.get(protocol.id), newest),
    ),
    hours: cells,
    week,
  }
}

/** The part of the state that needs no hour: the same for the page and for a scrape. */
export function stateOf(
  observed: Observed,
  overview: Overview,
  fleet: FleetState | undefined,
): Omit<Snapshot, 'protocols' | 'hours' | 'week'> {
  return {
    version: observed.version,
    nowMs: observed.nowMs,
    startedAtMs: observed.processStartedAtMs,
    ready: readinessOf(observed, overview, fleet),
    configuration: observed.configuration,
    service: serviceState(observed, overview),
    endpoints: observed.endpoints,
    ...(fleet && { fleet }),
    balance: overview.backlog.balance,
    backlog: backlogState(observed.config, overview),
    warnings: overview.warnings,
    ...(observed.reports && {
      reports: [...observed.reports].map(([receiver, counts]) => ({ receiver, ...counts })),
    }),
  }
}

/** State of delivery to the service. */
function serviceState(
  { config, configuration, host, nowMs, destinations }: Omit<Observed, 'outbox' | 'widgets'>,
  { destinations: states, backlog }: Pick<Overview, 'destinations' | 'backlog'>,
): Snapshot['service'] {
  const stranded = strandedSentence(config.protocols, backlog.byProtocol, configuration.named)
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
    ...(waiting.length > 0 ? { waiting: waiting.join(' ') } : {}),
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
  curves: readonly MetricCurve[],
  read: WidgetRead | undefined,
  newest: ReadonlyMap<string, HourCell | undefined>,
): ProtocolState {
  const own = new Map(curves.map(curve => [curve.latest.id, curve]))
  const configured = new Set(collectors.map(collector => collector.id))
  const withValue = new Set(curves.map(({ latest }) => latest.collector))
  const withoutValue = collectors
    .filter(collector => !withValue.has(collector.id))
    .map(collector => valueless(collector.id, newest.get(collector.id)))
  const ids = new Set([...own.keys(), ...(read?.metrics.map(metric => metric.id as MetricId) ?? [])])
  return {
    id,
    name,
    ...(logo === undefined ? {} : { logo }),
    ...(isRemoved && { isRemoved }),
    ...(read === undefined ? {} : { readAtMs: read.atMs }),
    ...(withoutValue.length > 0 && { withoutValue }),
    metrics: [...ids].map(metricId => {
      const curve = own.get(metricId)
      const metric = widgetMetric(metricId, id, hours, curve, read)
      return curve && !configured.has(curve.latest.collector) ? { ...metric, isRemoved: true } : metric
    }),
  }
}

/** The newest hour that was tried; `undefined` when none was. */
function newestTried(cells: readonly HourCell[]): HourCell | undefined {
  return cells.findLast(({ fault }) => fault)
}

/** A collector without a value, and why. */
function valueless(collector: string, tried: HourCell | undefined): NonNullable<ProtocolState['withoutValue']>[number] {
  const { message, fix } = tried?.fault ?? {}
  return { collector, ...(message !== undefined && { reason: message }), ...(fix !== undefined && { fix }) }
}

function widgetMetric(
  id: MetricId,
  protocolId: string,
  hours: readonly Hour[],
  curve: MetricCurve | undefined,
  read: WidgetRead | undefined,
): WidgetMetric {
  const latest = curve?.latest
  const shown = read?.metrics.find(metric => metric.id === id)
  const hour = shown ? hourAt(Date.parse(shown.timestamp)) : latest?.hour
  const unit = shown?.unit ?? latest?.unit
  const value = shown?.value ?? latest?.value
  return {
    id,
    label: labelOf({ id, protocolId }),
    ...(value === undefined ? {} : { value }),
    ...(unit === undefined ? {} : { unit }),
    ...changesOf(shown ?? ownChanges(hours, curve)),
    ...(hour === undefined || Number.isNaN(hour) ? {} : { hour }),
    ...(shown || !latest ? {} : { state: latest.state }),
    curve: curve?.values ?? hours.map(() => null),
  }
}

type WidgetChanges = Pick<WidgetMetric, 'change1h' | 'change24h'>

function changesOf({
  change1h,
  change24h,
}: { readonly [name in keyof WidgetChanges]: number | null | undefined }): WidgetChanges {
  return {
    ...(typeof change1h === 'number' ? { change1h } : {}),
    ...(typeof change24h === 'number' ? { change24h } : {}),
  }
}

/** The differences of the newest value to those 1 and 24 hours before it, while the service gives none. */
function ownChanges(
  hours: readonly Hour[],
  curve: MetricCurve | undefined,
): Required<{ [name in keyof WidgetChanges]: number | null }> {
  const since = (back: number) => {
    if (!curve) return null
    const base = curve.values[hours.indexOf(hourAfter(curve.latest.hour, -back))]
    return typeof base === 'number' ? curve.latest.value - base : null
  }
  return { change1h: since(1), change24h: since(24) }
}

/** @param states of the same hours, at each collector's place in the configuration */
function grid(
  config: Config,
  hours: readonly Hour[],
  rows: readonly CollectionRow[],
  states: readonly HourOfAll[],
): HourGrid {
  const byHour = new Map(hours.map(hour => [hour, new Map<string, CollectionRow>()]))
  for (const row of rows) byHour.get(row.hour)?.set(row.collector, row)
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  return {
    hours,
    rows: collectors.map(({ id: collector, protocolId }, place) => ({
      collector,
      protocolId,
      cells: hours.map((hour, index) => cell(byHour.get(hour)?.get(collector), states[index], place)),
    })),
  }
}

function cell(row: CollectionRow | undefined, look: HourOfAll | undefined, place: number): HourCell {
  if (!row) return { state: 'unexpected', attempts: 0 }
  const state = cellState(row.state, wanted => look?.has(place, wanted) ?? false)
  return { state, attempts: row.attempts, ...(row.fault ? { fault: row.fault } : {}) }
}
