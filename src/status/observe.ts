import { createHash } from 'node:crypto'
import { type CollectorConfig, type Config, protocolCollectors } from '../config/config.ts'
import type { FaultRecord } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../model/hour.ts'
import { labelOf, type Metric, type MetricId } from '../model/metric.ts'
import { nextExpected } from '../model/rhythm.ts'
import { asSentence } from '../model/text.ts'
import { nextAttemptAt, type Reader, waitingSentence } from '../model/waiting.ts'
import type { ReadMetric } from '../model/wire.ts'
import type { DestinationState } from '../outbox/contract/delivery-store.ts'
import type { CollectionRow, DeadOrHeldHour, HourOfAll, HourReasons, LateCollector } from '../outbox/contract/hours.ts'
import type { MetricCurve, MetricState } from '../outbox/contract/metrics.ts'
import type { DiskSpace } from '../outbox/contract/outbox.ts'
import type { GapCount, OldestHours, Overview } from '../outbox/contract/status-store.ts'
import type { Counters } from '../telemetry/counters.ts'
import { type FleetState, readFleet } from './fleet.ts'
import { latenessWanted, readinessOf } from './readiness.ts'
import { strandedSentence, waitingSentences } from './sentences.ts'
import type {
  BacklogState,
  CellState,
  GateState,
  HourCell,
  HourGrid,
  HourStretch,
  ProtocolState,
  Snapshot,
  WeekGrid,
  WeekRow,
  WidgetMetric,
} from './snapshot.ts'
import type { Observed, WidgetRead, WidgetUnread } from './sources.ts'

/** Hours shown. */
const shownHours = 48

/** The present state, from the outbox and the last widgets read. Reads only. */
export async function observe(observation: Observed): Promise<Snapshot> {
  const { config, outbox, nowMs } = observation
  const current = hourAt(nowMs)
  const first = hourAfter(current, 1 - shownHours)
  const hours = hoursFrom(first, current)
  const { rows, curves, ...overview } = await outbox.status.detail(latenessWanted(observation), first, current)
  const byProtocol = Map.groupBy(curves, ({ latest }) => latest.protocolId)
  const protocols = [...config.protocols, ...removedProtocols(config, [...byProtocol.keys()])]
  const { week, states } = await weekOf(observation)
  const fleet = await readFleet(observation)
  const cells = grid(config, hours, states.slice(-shownHours), rows)
  const cellsOf = new Map(cells.rows.map(row => [row.collector, row.cells]))
  const whys = (collector: CollectorConfig) => valuelessWhy(collector, cellsOf.get(collector.id) ?? [], observation)
  return {
    ...stateOf(observation, overview, fleet),
    protocols: protocols.map(protocol =>
      protocolState(protocol, hours, byProtocol.get(protocol.id) ?? [], observation.widgets.get(protocol.id), whys),
    ),
    hours: cells,
    week,
  }
}

/** The part of a snapshot that is read without hours and values: cheap, and different after each hour and push. */
type PresentState = Omit<Snapshot, 'protocols' | 'hours' | 'week'>

/** The present state: the same for the page and for a scrape. */
function stateOf(observation: Observed, overview: Overview, fleet: FleetState | undefined): PresentState {
  return {
    version: observation.version,
    nowMs: observation.nowMs,
    startedAtMs: observation.processStartedAtMs,
    ready: readinessOf(observation, overview, fleet),
    configuration: observation.configuration,
    service: serviceState(observation, overview),
    endpoints: observation.endpoints,
    ...(fleet && { fleet }),
    balance: overview.backlog.balance,
    backlog: backlogState(observation.config, overview),
    warnings: overview.warnings,
    ...(observation.reports && {
      reports: [...observation.reports].map(([receiver, counts]) => ({ receiver, ...counts })),
    }),
  }
}

function serviceState(
  observation: Omit<Observed, 'outbox' | 'widgets'>,
  { destinations: states, backlog }: Pick<Overview, 'destinations' | 'backlog'>,
): Snapshot['service'] {
  const { config, host, nowMs, destinations } = observation
  const stranded = strandedSentence(config.protocols, backlog.byProtocol)
  const sentences = [...waitingSentences(states, observation), ...(stranded === undefined ? [] : [stranded])]
  const attemptsMs = states.flatMap(state => nextAttemptAt(state) ?? [])
  const nextAttemptMs = Math.min(...attemptsMs.filter(atMs => atMs > nowMs))
  const lastPush = states
    .flatMap(state => state.lastPush ?? [])
    .reduce<Snapshot['service']['lastPush']>((last, push) => (last && last.atMs >= push.atMs ? last : push), undefined)
  const skewMs = states.find(state => state.skewMs !== undefined)?.skewMs
  const gates = states.flatMap((state, place) => gateState(destinations[place] ?? '', state, observation))
  return {
    host,
    ...(lastPush && { lastPush }),
    ...(sentences.length > 0 ? { waiting: sentences.join(' ') } : {}),
    ...(Number.isFinite(nextAttemptMs) ? { nextAttemptMs } : {}),
    ...(skewMs === undefined ? {} : { skewMs }),
    gates,
  }
}

function gateState(destination: string, state: DestinationState, reader: Reader): readonly GateState[] {
  const { notBeforeMs, probeAtMs, failures } = state
  const { nowMs } = reader
  const sentence = waitingSentence(state, reader)
  const isHeld = notBeforeMs > nowMs || probeAtMs > nowMs
  if (sentence === undefined && !isHeld) return []
  return [
    {
      destination,
      ...(sentence === undefined ? {} : { waiting: sentence }),
      ...(notBeforeMs > nowMs ? { retryAfterUntilMs: notBeforeMs } : {}),
      ...(probeAtMs > nowMs ? { probeAtMs } : {}),
      failures,
    },
  ]
}

function backlogState(
  { protocols }: Config,
  { backlog, due: lateMetrics }: Pick<Overview, 'backlog' | 'due'>,
): BacklogState {
  const protocolIds = new Set(protocols.map(({ id }) => id))
  return {
    byProtocol: [...backlog.byProtocol]
      .filter(([, counts]) => counts.due > 0)
      .sort(([, a], [, b]) => b.due - a.due)
      .map(([protocolId, counts]) => ({
        protocolId,
        due: counts.due,
        ...(!protocolIds.has(protocolId) && { isRemoved: true as const }),
      })),
    ...(lateMetrics && { late: lateMetrics }),
  }
}

type ShownProtocol = Pick<Config['protocols'][number], 'id' | 'name' | 'logo' | 'collectors'> & {
  readonly isRemoved?: true
}

/** Protocols with values that the configuration no longer has. */
function removedProtocols({ protocols }: Config, ids: readonly string[]): ShownProtocol[] {
  const configured = new Set(protocols.map(({ id }) => id))
  return ids.filter(id => !configured.has(id)).map(id => ({ id, name: id, collectors: [], isRemoved: true }))
}

function protocolState(
  { id, name, logo, collectors, isRemoved }: ShownProtocol,
  hours: readonly Hour[],
  curves: readonly MetricCurve[],
  answer: WidgetRead | WidgetUnread | undefined,
  whyOf: (collector: CollectorConfig) => ValuelessWhy,
): ProtocolState {
  const curveOf = new Map(curves.map(curve => [curve.latest.id, curve]))
  const collectorById = new Map(collectors.map(collector => [collector.id, collector]))
  const withValue = new Set(curves.map(({ latest }) => latest.collector))
  const withoutValue = collectors
    .filter(collector => !withValue.has(collector.id))
    .map(collector => ({ collector: collector.id, ...whyOf(collector) }))
  const widgetRead = answer && 'metrics' in answer ? answer : undefined
  const ids = new Set([...curveOf.keys(), ...(widgetRead?.metrics.map(metric => metric.id as MetricId) ?? [])])
  return {
    id,
    name,
    ...(logo === undefined ? {} : { logo }),
    ...(isRemoved && { isRemoved }),
    ...(widgetRead && { readAtMs: widgetRead.atMs }),
    ...(answer && 'unread' in answer && { unread: answer.unread }),
    ...(withoutValue.length > 0 && { withoutValue }),
    metrics: [...ids].map(metricId => {
      const curve = curveOf.get(metricId)
      const metric = widgetMetric(metricId, id, hours, curve, widgetRead)
      const collector = curve && collectorById.get(curve.latest.collector)
      if (curve && !collector) return { ...metric, isRemoved: true }
      const { hour } = metric
      return hour !== undefined && collector?.at ? { ...metric, nextHour: nextExpected(collector, hour) } : metric
    }),
  }
}

type ValuelessWhy = Pick<FaultRecord, 'fix'> & { readonly reason: string }

/** Why a collector has given no value in the hours shown. @param cells of these hours, the oldest first */
function valuelessWhy(
  { since }: CollectorConfig,
  cells: readonly HourCell[],
  { outbox, clock, nowMs }: Observed,
): ValuelessWhy {
  const fault = cells.findLast(cell => cell.fault)?.fault
  if (fault) return { reason: fault.message, ...(fault.fix !== undefined && { fix: fault.fix }) }
  const { fullSentence } = outbox.health
  if (fullSentence !== undefined) return { reason: asSentence(fullSentence) }
  if (clock?.kind === 'doubted') return { reason: asSentence(clock.reason) }
  if (cells.some(({ state }) => state === 'due')) return { reason: 'Its hour is due, and not collected yet.' }
  if (cells.some(({ state }) => state !== 'unexpected')) return { reason: 'None of its hours has a value.' }
  const first = since !== undefined && since > nowMs ? `: the first is ${hourText(since)}` : ''
  return { reason: `None of its hours is due yet${first}.` }
}

function widgetMetric(
  id: MetricId,
  protocolId: string,
  hours: readonly Hour[],
  curve: MetricCurve | undefined,
  widgetRead: WidgetRead | undefined,
): WidgetMetric {
  const latest = curve?.latest
  const serviceMetric = widgetRead?.metrics.find(metric => metric.id === id)
  const hour = serviceMetric ? hourAt(Date.parse(serviceMetric.timestamp)) : latest?.hour
  const unit = serviceMetric?.unit ?? latest?.unit
  const value = serviceMetric?.value ?? latest?.value
  return {
    id,
    label: labelOf({ id, protocolId }),
    ...(value === undefined ? {} : { value }),
    ...(unit === undefined ? {} : { unit }),
    ...changesOf(serviceMetric, hours, curve),
    ...(hour === undefined || Number.isNaN(hour) ? {} : { hour }),
    ...(serviceMetric || !latest ? {} : { state: latest.state }),
    curve: curve?.values ?? hours.map(() => null),
  }
}

/** The service's changes; while it gives none, the differences of the newest value to those 1 and 24 hours before it. */
function changesOf(
  metric: ReadMetric | undefined,
  hours: readonly Hour[],
  curve: MetricCurve | undefined,
): Pick<WidgetMetric, 'change1h' | 'change24h'> {
  const since = (back: number) => {
    const base = curve?.values[hours.indexOf(hourAfter(curve.latest.hour, -back))]
    return curve && typeof base === 'number' ? curve.latest.value - base : null
  }
  const { change1h, change24h } = metric ?? { change1h: since(1), change24h: since(24) }
  return {
    ...(typeof change1h === 'number' && { change1h }),
    ...(typeof change24h === 'number' && { change24h }),
  }
}

/**
 * The hours of the configured collectors.
 *
 * @param states of the same hours, at each collector's place in the configuration
 * @param rows with attempts and faults. Default: the cells have none
 */
function grid(
  config: Config,
  hours: readonly Hour[],
  states: readonly HourOfAll[],
  rows: readonly CollectionRow[] = [],
): HourGrid {
  const byHour = Map.groupBy(rows, ({ hour }) => hour)
  const rowsOfHour = hours.map(hour => new Map(byHour.get(hour)?.map(row => [row.collector, row])))
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  return {
    hours,
    rows: collectors.map(({ id: collector, protocolId }, place) => ({
      collector,
      protocolId,
      cells: hours.map((_, index) => {
        const { attempts = 0, fault } = rowsOfHour[index]?.get(collector) ?? {}
        return { state: stateAt(states[index], place), attempts, ...(fault && { fault }) }
      }),
    })),
  }
}

/** The worst state of a collector's hour: what a person needs to know first. */
function stateAt(hour: HourOfAll | undefined, place: number): CellState {
  const row = hour?.stateOf(place)
  if (!hour || row === undefined) return 'unexpected'
  if (row !== 'collected') return row
  if (hour.has(place, 'dead')) return 'dead'
  if (hour.has(place, 'held')) return 'held'
  return hour.has(place, 'due') ? 'collected' : 'delivered'
}

/** Hours of the week. */
const weekHours = 7 * 24

/** Reasons read at most, the newest first: an outbox in which everything failed for days has one for each cell. */
const reasonsMax = 5_000

/**
 * The last seven days of all collectors, also of those that were removed from the configuration meanwhile, and the states of
 * their hours: the configured collectors in their order, then others.
 */
async function weekOf({ config, outbox, nowMs }: Pick<Observed, 'config' | 'outbox' | 'nowMs'>) {
  const to = hourAt(nowMs)
  const from = hourAfter(to, 1 - weekHours)
  const hours = hoursFrom(from, to)
  const configuredCollectors = config.protocols.flatMap(({ collectors }) => collectors)
  const ids = new Set(configuredCollectors.map(({ id }) => id))
  const removed = (await outbox.status.collectors()).filter(id => !ids.has(id)).map(removedCollector)
  const allCollectors = [...configuredCollectors, ...removed]
  const allIds = allCollectors.map(({ id }) => id)
  const states = await outbox.status.hoursOfAll(allIds, from, to)
  const reasons = byCell(await outbox.status.reasons(from, to, reasonsMax))
  const rows: WeekRow[] = []
  for (const [place, { id: collector, protocolId }] of allCollectors.entries()) {
    const isRemoved = place >= configuredCollectors.length
    const runs = runsOf(hours, states, place, hour => reasons.get(cellKey(hour, collector)))
    if (isRemoved && runs.every(({ state }) => state === 'unexpected')) continue
    rows.push({ collector, protocolId, ...(isRemoved && { isRemoved }), runs })
  }
  const week: WeekGrid = { from, to, rows }
  return { week, states }
}

/** The protocol is the first part of a collector's id. */
function removedCollector(id: string): { readonly id: string; readonly protocolId: string } {
  return { id, protocolId: id.split('/', 1)[0] ?? id }
}

/** Facts about a cell besides its state. */
interface CellReason {
  readonly failed?: CollectionRow
  readonly deadOrHeld?: DeadOrHeldHour
}

function cellKey(hour: Hour, collector: string): string {
  return `${hour} ${collector}`
}

function byCell({ failed, deadOrHeld }: HourReasons): ReadonlyMap<string, CellReason> {
  const reasons = new Map<string, CellReason>()
  for (const row of failed) reasons.set(cellKey(row.hour, row.collector), { failed: row })
  for (const row of deadOrHeld) {
    const key = cellKey(row.hour, row.collector)
    const before = reasons.get(key)
    // Of both, the dead one is shown.
    if (before?.deadOrHeld?.state !== 'dead') reasons.set(key, { ...before, deadOrHeld: row })
  }
  return reasons
}

function runsOf(
  hours: readonly Hour[],
  states: readonly HourOfAll[],
  place: number,
  reasonOf: (hour: Hour) => CellReason | undefined,
): HourStretch[] {
  const runs: HourStretch[] = []
  hours.forEach((hour, index) => {
    const state = stateAt(states[index], place)
    const stretch = oneHour(hour, state, state === 'delivered' ? undefined : reasonOf(hour))
    const last = runs.at(-1)
    if (last && kindOf(last) === kindOf(stretch)) runs[runs.length - 1] = joined(last, stretch)
    else runs.push(stretch)
  })
  return runs
}

/** A reason counts only for its own state: the rows were read at different instants. */
function oneHour(hour: Hour, state: HourStretch['state'], { failed, deadOrHeld }: CellReason = {}): HourStretch {
  const own = { from: hour, hours: 1, state }
  if (failed?.fault && failed.state === state) return { ...own, attempts: failed.attempts, fault: failed.fault }
  return deadOrHeld?.state === state ? { ...own, reason: deadOrHeld.reason } : own
}

/** Equal for hours that belong to one stretch. */
function kindOf({ state, fault, reason }: HourStretch): string {
  if (!fault && reason === undefined) return state
  return `${state} ${fault?.code ?? ''} ${(fault?.message ?? reason ?? '').replace(/\d+/g, '0')}`
}

function joined(stretch: HourStretch, next: HourStretch): HourStretch {
  const attempts = Math.max(stretch.attempts ?? 0, next.attempts ?? 0)
  return { ...stretch, ...next, from: stretch.from, hours: stretch.hours + 1, ...(attempts > 0 && { attempts }) }
}

/** Input of `/metrics`: a snapshot without widgets and without reasons of hours. */
export interface Scrape extends Omit<Snapshot, 'protocols' | 'week'> {
  readonly ages: HourAges
  /** Overdue hours of collectors. */
  readonly late: readonly LateCollector[]
  /** Gaps among the hours of the grid. */
  readonly gaps: readonly GapCount[]
  /** The newest values, of the last three hours. */
  readonly values: readonly Metric[]
  /** Delivery with each key. */
  readonly gates: readonly DestinationGate[]
  readonly disk: { readonly isFull: boolean; readonly room: DiskSpace | undefined }
  /** Absent without a clock watch. */
  readonly isClockBelieved?: boolean
  readonly counters: Counters
}

/**
 * State of delivery to a destination, by its last flush. `unavailable`: the service fails, does not answer, or asks to
 * wait; `key-missing`: the key cannot be read; `rejecting`: the service rejects everything; `misdirected`: the address
 * is not the service's.
 */
type DeliveryState = 'open' | 'unavailable' | 'key-refused' | 'key-missing' | 'rejecting' | 'misdirected'

/** State of delivery with one key. */
interface DestinationGate {
  /** Name of the destination; never the key. */
  readonly destination: string
  readonly state: DeliveryState
  /** Failed flushes in a row. */
  readonly failures: number
}

type Scraped = Observed & Pick<Scrape, 'counters'>

/** Hours whose values are exposed: an older value says nothing about the present. */
const valueHours = 3

/** States of values that are exposed: one that is held may be wrong. */
const shownStates: ReadonlySet<MetricState> = new Set(['due', 'delivered'])

/** Hours whose age is reported, however old they are. */
interface HourAges {
  /** The oldest hour in each state that should pass; `undefined` when there is none. */
  readonly oldest: OldestHours
  /** The newest delivered hour of each collector; its first hour when there is none. */
  readonly newestDelivered: ReadonlyMap<string, Hour>
}

/** The present state. Rows of metrics are read for the newest values alone. */
export async function scrape(observation: Scraped): Promise<Scrape> {
  const { config, outbox, nowMs, clock, counters } = observation
  const [current, first] = [hourAt(nowMs), hourAfter(hourAt(nowMs), 1 - shownHours)]
  const ids = config.protocols.flatMap(({ collectors }) => collectors.map(({ id }) => id))
  const hours = grid(config, hoursFrom(first, current), await outbox.status.hoursOfAll(ids, first, current))
  const protocolIds = config.protocols.map(({ id }) => id)
  const ages = {
    oldest: await outbox.status.oldestHours(ids, protocolIds, current),
    newestDelivered: await newestDelivered(observation, hours),
  }
  const newestMetrics = await outbox.status.newest(hourAfter(current, 1 - valueHours), current)
  const gaps = await outbox.status.gapCounts(ids, first, current)
  const overview = await outbox.status.overview(latenessWanted(observation))
  return {
    ...stateOf(observation, overview, await readFleet(observation)),
    hours,
    ages,
    values: newestMetrics.filter(({ state, protocolId }) => shownStates.has(state) && protocolIds.includes(protocolId)),
    gaps,
    late: overview.late,
    gates: gatesOf(observation, overview),
    disk: { isFull: outbox.health.fullSentence !== undefined && !outbox.health.isReadOnly, room: outbox.health.room },
    ...(clock && { isClockBelieved: clock.kind === 'trusted' }),
    counters,
  }
}

/** As stored by the last flush, of whichever daemon. */
function gatesOf({ destinations }: Observed, { destinations: states }: Overview): DestinationGate[] {
  return destinations.map((destination, place) => {
    const state = states[place]
    return { destination, state: deliveryState(state), failures: state?.failures ?? 0 }
  })
}

/** States by the verdict of a flush that failed; others are `unavailable`. */
const stateByVerdict: Readonly<Record<string, DeliveryState>> = {
  'key-refused': 'key-refused',
  misdirected: 'misdirected',
  systemic: 'rejecting',
  stopped: 'open',
}

function deliveryState(state: DestinationState | undefined): DeliveryState {
  if (!state || state.failures === 0) return 'open'
  return state.cure === 'key' ? 'key-missing' : (stateByVerdict[state.lastPush?.verdict ?? ''] ?? 'unavailable')
}

/**
 * Each collector's newest delivered hour, or its first hour if there is none. It is always reported, because alerts use
 * its age; where further hours are not expected, it is the last of these.
 */
async function newestDelivered(
  { config, outbox, nowMs, startedAtMs }: Observed,
  grid: HourGrid,
): Promise<Map<string, Hour>> {
  const newestByCollector = grid.rows.map(
    ({ collector, cells }) =>
      [collector, grid.hours[cells.findLastIndex(({ state }) => state === 'delivered')]] as const,
  )
  const others = newestByCollector.flatMap(([collector, hour]) => (hour === undefined ? [collector] : []))
  const before = hourAfter(hourAt(nowMs), -shownHours)
  const olderHours = await outbox.status.newestDelivered(others, before, nowMs)
  // A collector that was never planned is expected from this start on.
  const rhythms = new Map(protocolCollectors(config).map(one => [one.id, one]))
  const freshUntil = (collector: string, hour: Hour) => {
    const next = hourAfter(nextExpected(rhythms.get(collector) ?? {}, hour), -1)
    return next < hourAt(nowMs) ? next : (Math.max(hour, hourAt(nowMs)) as Hour)
  }
  return new Map(
    newestByCollector.map(([collector, hour]) => [
      collector,
      freshUntil(collector, hour ?? olderHours.get(collector) ?? hourAt(startedAtMs)),
    ]),
  )
}

/** Time after which a page is old although nothing has changed: its ages and countdowns are. */
const minuteMs = 60_000

/** A short text that differs when the state does, and each minute. */
export function fingerprint(currentState: PresentState): string {
  const { nowMs, version, startedAtMs, ready, configuration, service, fleet, balance, backlog, warnings } = currentState
  const minute = Math.floor(nowMs / minuteMs)
  // Calls are counted by the second while hours are caught up, and the page does not show them.
  const nodes = currentState.endpoints.map(({ calls: _, ...endpoint }) => endpoint)
  // Daemons are seen every few seconds: their ages change with the minute.
  const others = { ...fleet, daemons: fleet?.daemons.map(({ seenAtMs: _, ...daemon }) => daemon) }
  const own = { minute, version, startedAtMs, ready, configuration, service }
  const state = { ...own, nodes, balance, backlog, warnings, others }
  return createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 16)
}

/** The fingerprint of the present state: equal to that of a snapshot of the same instant. */
export async function presentFingerprint(observed: Observed): Promise<string> {
  const overview = await observed.outbox.status.overview(latenessWanted(observed))
  return fingerprint(stateOf(observed, overview, await readFleet(observed)))
}
