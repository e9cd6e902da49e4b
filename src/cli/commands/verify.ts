import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { type Hour, hourAfter, hourAt, hourText, parseHour } from '../../model/hour.ts'
import type { Metric, MetricId } from '../../model/metric.ts'
import type { MetricKey, StoredMetric } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { deliverNow, requireService } from '../delivery.ts'
import { onOutbox } from '../outbox-action.ts'
import { demandOrder, selectProtocols } from '../selection.ts'
import { askService, type ListedMetrics, type ListedValue } from '../service-listing.ts'
import { printFirst } from '../table.ts'
import { counted, cut, note, print } from '../terminal.ts'

interface VerifyOptions extends ConfigOption, JsonOption {
  readonly from?: string
  readonly to?: string
  readonly repair?: boolean
}

/** Hours read from the outbox at a time. */
const hoursAtOnce = 24

/** `verify`: compares what was delivered with what the service shows. Ends with 1 when something differs. */
export function verifyCommand(): Command {
  return configuredCommand('verify')
    .description('compare what was delivered with what the service shows')
    .argument('[id...]', 'protocol ids (default: all)')
    .option('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z (default: the oldest that is kept)')
    .option('--to <hour>', 'the last hour, included (default: the current hour)')
    .option('--repair', 'push again what the service lacks or shows otherwise')
    .option('--json', 'print JSON')
    .action(
      onOutbox<VerifyOptions, [ids: readonly string[]]>(async ({ context, outbox, options }, ids) => {
        const protocolIds = selectProtocols(context.config.protocols, ids).map(({ id }) => id)
        const range = rangeOf(context, options)
        // Before anything is marked: what another service lacks is not missing at that of the fleet.
        if (outbox) await requireService(context, outbox, 'compare')
        const verifiedNow = () => verified(context, outbox, protocolIds, range)
        const first = await verifiedNow()
        const isHiddenPushed = options.from !== undefined
        const repairs = { first, verifiedNow, isHiddenPushed }
        const { verification, pushCount } =
          options.repair && outbox ? await repaired(context, outbox, repairs) : { verification: first, pushCount: 0 }
        noteNext(verification, options)
        return {
          json: () => verifiedJson(verification, pushCount),
          text: () => {
            printVerified(verification)
            if (options.repair && pushCount === 0) note(idleText(first))
          },
          isIncomplete: verification.some(isAmiss),
        }
      }),
    )
}

function rangeOf({ config, time }: AppContext, options: VerifyOptions): { readonly from: Hour; readonly to: Hour } {
  const nowMs = time.nowMs()
  const from = options.from === undefined ? hourAt(nowMs - config.outbox.keepMs) : parseHour(options.from)
  const to = options.to === undefined ? hourAt(nowMs) : parseHour(options.to)
  demandOrder({ from, to })
  return { from, to }
}

/** @param outbox absent when nothing was ever collected */
async function verified(
  context: AppContext,
  outbox: Outbox | undefined,
  protocolIds: readonly string[],
  { from, to }: { readonly from: Hour; readonly to: Hour },
): Promise<readonly Verified[]> {
  const metrics = outbox ? await storedBetween(outbox.operators, from, to) : []
  const gaps = (await outbox?.operators.hourRanges('gap', { from, to })) ?? []
  const isGap: IsGap = (collector, hour) =>
    gaps.some(range => range.collector === collector && range.from <= hour && hour <= range.to)
  const listings = await askService(context, protocolIds)
  return protocolIds.map((protocolId): Verified => {
    const listing = listings.get(protocolId)
    if (listing?.kind !== 'read') {
      return { protocolId, kind: 'unreadable', reason: listing?.reason ?? 'it was not asked' }
    }
    const ofProtocol = metrics.filter(metric => metric.protocolId === protocolId)
    return { protocolId, kind: 'compared', ...compare(ofProtocol, listing.listed, to, isGap) }
  })
}

async function storedBetween(operators: OperatorStore, from: Hour, to: Hour): Promise<StoredMetric[]> {
  const metrics: StoredMetric[] = []
  for (let at = from; at <= to; at = hourAfter(at, hoursAtOnce)) {
    const last = hourAfter(at, hoursAtOnce - 1)
    for (const metric of await operators.metrics(at, last < to ? last : to)) metrics.push(metric)
  }
  return metrics
}

/** Says what may be done about differences. */
function noteNext(verification: readonly Verified[], { repair, from }: VerifyOptions): void {
  if (!repair && repairableIn(verification, false).length > 0) {
    note('  → tidegauge verify --repair pushes again what is not shown, or shown otherwise')
  }
  if (
    repair &&
    from === undefined &&
    verification.some(one => one.kind === 'compared' && one.hiddenMetrics.length > 0)
  ) {
    note(
      '  → where the service has lost hours that it does not show: tidegauge verify --repair --from HOUR pushes them again, too',
    )
  }
  noteUnknown(verification)
}

/** Says what reads hours whose values are not here. */
function noteUnknown(verification: readonly Verified[]): void {
  const hours = verification
    .flatMap(one => (one.kind === 'compared' ? one.differences : []))
    .flatMap(({ kind, hour }) => (kind === 'unknown' ? [hour] : []))
    .sort((a, b) => a - b)
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return
  const range = `--from ${hourText(first)} --to ${hourText(last)}`
  note(
    `  → what is unknown here was sent from elsewhere, or before the outbox was restored: tidegauge backfill ${range} reads it`,
  )
}

/**
 * Differences that a push can mend. A value that the list may have left out is pushed, too: where the service has it, that changes nothing.
 *
 * @param isHiddenPushed whether also hours are meant that the service does not show
 */
function repairableIn(found: readonly Verified[], isHiddenPushed: boolean): MetricKey[] {
  return found.flatMap(protocol => {
    if (protocol.kind !== 'compared') return []
    const differences = protocol.differences.filter(({ kind }) => kind !== 'unknown')
    const hidden = isHiddenPushed ? protocol.hiddenMetrics : []
    return [...differences, ...protocol.edgeMetrics, ...hidden].map(({ id, hour }) => ({ id: id as MetricId, hour }))
  })
}

const isUnreadable = ({ kind }: Verified) => kind === 'unreadable'

function idleText(protocols: readonly Verified[]): string {
  const unreadableIds = protocols.filter(isUnreadable).map(({ protocolId }) => protocolId)
  if (unreadableIds.length === 0) return 'nothing to push again'
  const others = protocols.length > unreadableIds.length ? '; name other protocols to repair those alone' : ''
  return `nothing is pushed while the service's answer about ${unreadableIds.join(', ')} cannot be read${others}`
}

/** A comparison, and the way to compare again. */
interface Repairs {
  readonly first: readonly Verified[]
  readonly verifiedNow: () => Promise<readonly Verified[]>
  /** Whether also hours are pushed that the service does not show. */
  readonly isHiddenPushed: boolean
}

/**
 * Pushes each metric again once, and goes on while the service shows more hours than before: one that has lost all shows the
 * newest alone at first. Nothing is pushed while an answer cannot be read.
 */
async function repaired(context: AppContext, outbox: Outbox, { first, verifiedNow, isHiddenPushed }: Repairs) {
  const pushedKeys = new Set<string>()
  let [verification, pushCount] = [first, 0]
  for (;;) {
    const keyOf = ({ id, hour }: MetricKey) => `${hour} ${id}`
    const metrics = verification.some(isUnreadable) ? [] : repairableIn(verification, isHiddenPushed)
    const newMetrics = metrics.filter(metric => !pushedKeys.has(keyOf(metric)))
    const resentCount = await outbox.operators.resend(newMetrics)
    if (resentCount === 0) return { verification, pushCount }
    for (const metric of newMetrics) pushedKeys.add(keyOf(metric))
    pushCount += resentCount
    note(`${counted(resentCount, 'metric')} pushed again`)
    await deliverNow(context, outbox)
    verification = await verifiedNow()
  }
}

function isAmiss(one: Verified): boolean {
  return one.kind === 'unreadable' || one.differences.length > 0
}

/** One metric and hour that the outbox and the service do not have alike. */
interface ServiceDifference {
  /** `missing`: not shown by the service. `unknown`: shown by it, and not in the outbox. */
  readonly kind: 'missing' | 'value' | 'unit' | 'unknown'
  readonly id: string
  readonly hour: Hour
  /** As delivered; absent for `unknown`. */
  readonly ours?: Pick<Metric, 'value' | 'unit'>
  /** As the service shows it; absent for `missing`. */
  readonly shown?: ListedValue
}

/** Result of comparing delivered metrics with what a service shows. */
interface ServiceComparison {
  readonly differences: readonly ServiceDifference[]
  /** Delivered metrics that were compared. */
  readonly compared: number
  /** Delivered metrics of hours before those that the service shows. */
  readonly hiddenMetrics: readonly Pick<StoredMetric, 'id' | 'hour'>[]
  /** Metrics that the service shows of hours that are gaps here, as after a backup was restored: they are no difference. */
  readonly ofGaps: number
  /** Delivered metrics of the oldest hour that it shows without them: they are missing, or its list ends within that hour. */
  readonly edgeMetrics: readonly Pick<StoredMetric, 'id' | 'hour'>[]
}

/** Whether an hour of a collector is a gap. */
type IsGap = (collector: string, hour: Hour) => boolean

/**
 * Compares what was delivered with what a service shows. If it shows several hours of any metric, those of all of them
 * must be there after the oldest shown hour, within which a list of limited length may end; otherwise those of each from
 * its own hour on. Of a metric that it does not show at all, every hour is missing. Pure.
 *
 * @param metrics of some hours and protocols, in any state
 * @param listing of the same protocols
 * @param upTo later hours that are shown do not count
 */
export function compare(
  metrics: readonly StoredMetric[],
  listing: ListedMetrics,
  upTo: Hour,
  isGap: IsGap,
): ServiceComparison {
  const differences: ServiceDifference[] = []
  const [keys, oldestHour] = [new Set<string>(), oldestOf(metrics.map(({ hour }) => hour))]
  const counts = { compared: 0, ofGaps: 0 }
  const collectors = new Map<string, string>(metrics.map(({ id, collector }) => [id, collector]))
  const [edgeMetrics, hiddenMetrics]: [StoredMetric[], StoredMetric[]] = [[], []]
  const firstShown = firstHours(listing)
  for (const metric of metrics) {
    const { id, hour, state } = metric
    keys.add(`${hour} ${id}`)
    if (state !== 'delivered') continue
    const first = firstShown.get(id) ?? 0
    const listedValue = listing.get(id)?.get(hour)
    if (hour < first) hiddenMetrics.push(metric)
    else if (hour === first && !listedValue) edgeMetrics.push(metric)
    else {
      counts.compared += 1
      const difference = differenceOf(metric, listedValue)
      if (difference) differences.push(difference)
    }
  }
  for (const [id, hours] of listing) {
    for (const [hour, value] of hours) {
      if (hour < oldestHour || hour > upTo || keys.has(`${hour} ${id}`)) continue
      const collector = collectors.get(id)
      if (collector !== undefined && isGap(collector, hour)) counts.ofGaps += 1
      else differences.push({ kind: 'unknown', id, hour, shown: value })
    }
  }
  return {
    ...counts,
    edgeMetrics,
    hiddenMetrics,
    differences: differences.sort((a, b) => a.hour - b.hour || (a.id < b.id ? -1 : 1)),
  }
}

/** The first hour of each metric from which on the service should have it. */
function firstHours(shown: ListedMetrics): ReadonlyMap<string, number> {
  const oldestByMetric = [...shown].map(([id, hours]) => [id, oldestOf(hours.keys())] as const)
  const isHistory = [...shown.values()].some(({ size }) => size > 1)
  const first = oldestOf(oldestByMetric.map(([, hour]) => hour))
  return new Map(oldestByMetric.map(([id, hour]) => [id, isHistory ? first : hour]))
}

/** The least of any number of hours; infinity of none. */
function oldestOf(hours: Iterable<number>): number {
  return [...hours].reduce((oldest, hour) => Math.min(oldest, hour), Number.POSITIVE_INFINITY)
}

function differenceOf(
  { id, hour, value, unit }: StoredMetric,
  listedValue: ListedValue | undefined,
): ServiceDifference | undefined {
  const ours = { value, ...(unit !== undefined && { unit }) }
  if (!listedValue) return { kind: 'missing', id, hour, ours }
  if (listedValue.value !== undefined && listedValue.value !== value)
    return { kind: 'value', id, hour, ours, shown: listedValue }
  if (listedValue.unit !== undefined && listedValue.unit !== (unit ?? ''))
    return { kind: 'unit', id, hour, ours, shown: listedValue }
  return undefined
}

/** A protocol as it was compared, or why it could not be. */
type Verified = { readonly protocolId: string } & (
  | ({ readonly kind: 'compared' } & ServiceComparison)
  | { readonly kind: 'unreadable'; readonly reason: string }
)

/** Characters of a reason. */
const reasonCharsMax = 160

const kindText: Readonly<Record<ServiceDifference['kind'], string>> = {
  missing: 'missing at the service',
  value: 'other value',
  unit: 'other unit',
  unknown: 'unknown here',
}

/** Prints a line for each protocol, and a table of its differences. */
function printVerified(found: readonly Verified[]): void {
  for (const one of found) {
    if (one.kind === 'unreadable') print(`${one.protocolId}: cannot be compared: ${cut(one.reason, reasonCharsMax)}`)
    else printCompared(one.protocolId, one)
  }
}

function printCompared(protocolId: string, comparison: ServiceComparison): void {
  const { compared, hiddenMetrics, ofGaps, edgeMetrics, differences } = comparison
  const rest = [hiddenText(hiddenMetrics.length), gapText(ofGaps), edgeText(edgeMetrics)].join('')
  print(`${protocolId}: ${resultText(compared, differences)}${rest}`)
  if (differences.length === 0) return
  const values = ['delivered', 'shown']
  printFirst(['difference', 'metric', 'hour', ...values], differences.map(rowOf), 'difference', values)
}

function resultText(comparedCount: number, differences: readonly ServiceDifference[]): string {
  if (differences.length === 0) {
    return comparedCount === 0
      ? 'nothing that was delivered could be compared'
      : `${counted(comparedCount, 'metric')} compared, all equal`
  }
  const byKind = [...Map.groupBy(differences, ({ kind }) => kind)]
  const kinds = byKind.map(([kind, own]) => `${own.length} ${kindText[kind]}`).join(', ')
  return `${counted(comparedCount, 'metric')} compared: ${kinds}`
}

function hiddenText(notShown: number): string {
  return notShown === 0 ? '' : `; ${counted(notShown, 'metric')} not compared: the service does not show those hours`
}

function gapText(ofGaps: number): string {
  return ofGaps === 0 ? '' : `; ${counted(ofGaps, 'metric')} shown of hours that are gaps here`
}

function edgeText(edgeMetrics: ServiceComparison['edgeMetrics']): string {
  const [first] = edgeMetrics
  if (!first) return ''
  return `; ${counted(edgeMetrics.length, 'metric')} of ${hourText(first.hour)} not shown, where the service's list may end`
}

function rowOf({ kind, id, hour, ours, shown }: ServiceDifference): string[] {
  return [kindText[kind], id, hourText(hour), valueText(ours), valueText(shown)]
}

function valueText(of: { readonly value?: number; readonly unit?: string } | undefined): string {
  if (!of) return '–'
  return [String(of.value ?? '?'), of.unit ?? ''].join(' ').trim()
}

/** @param pushedAgain metrics that were made due again for a repair */
function verifiedJson(found: readonly Verified[], pushedAgain: number) {
  return {
    protocols: found.map(({ protocolId, ...result }) => {
      if (result.kind === 'unreadable') return { protocol: protocolId, comparable: false, reason: result.reason }
      const differences = result.differences.map(({ hour, ...rest }) => ({ ...rest, hour: hourText(hour) }))
      const { compared: comparedCount, hiddenMetrics, ofGaps, edgeMetrics } = result
      return {
        protocol: protocolId,
        comparable: true,
        compared: comparedCount,
        notShown: hiddenMetrics.length,
        ofGaps,
        edgeMetrics: edgeMetrics.length,
        differences,
      }
    }),
    pushedAgain,
  }
}
