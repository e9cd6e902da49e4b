import { type Command, InvalidArgumentError } from 'commander'
import type { CollectorConfig, Config, ProtocolConfig } from '../config/config.ts'
import { didYouMean, meant } from '../config/mistakes.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText, parseHour } from '../model/hour.ts'
import type { Metric } from '../model/metric.ts'
import type { Selection } from '../outbox/contract/metrics.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from './configured-command.ts'
import { endIncomplete } from './exit.ts'
import type { OutboxCall } from './outbox-action.ts'
import { counted, note, print } from './terminal.ts'

/** Options that select due, dead or held metrics. */
export interface SelectionOptions extends ConfigOption {
  /** Text that the reason contains, without regard to case. */
  readonly reason?: string
  /** A full hour, as typed. */
  readonly hour?: string
  /** Whether all metrics in the state are meant. */
  readonly all?: boolean
}

/** A command on due, dead or held metrics: ids, `--reason` and `--hour` select. */
export function selectingCommand(name: string): Command {
  return configuredCommand(name)
    .argument('[id...]', 'metric or protocol ids')
    .option('--reason <text>', 'a part of the reason, in any case of letters')
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z')
}

/** A command that changes metrics and demands a selection, if only `--all`. */
export function changingCommand(name: string): Command {
  return selectingCommand(name).option('--all', 'select all')
}

/** Criteria that narrow a selection. */
type Narrowing = Omit<Selection, 'state'>

/** Metrics in a state that a person has selected. */
export interface SelectedMetrics<S extends string = string, M extends Pick<Metric, 'id' | 'protocolId'> = Metric> {
  readonly selection: Narrowing & { readonly state: S }
  readonly metrics: readonly M[]
  readonly options: SelectionOptions
}

/** The selection of the options. @throws Fault `usage` for an invalid hour */
export function selectionOf<S extends string>(
  state: S,
  ids: readonly string[],
  { reason = '', hour }: SelectionOptions,
): Narrowing & { readonly state: S } {
  return {
    state,
    ...(ids.length === 0 ? {} : { ids }),
    ...(reason === '' ? {} : { reason }),
    ...(hour === undefined ? {} : { hour: parseHour(hour) }),
  }
}

/** Whether anything but all is selected. */
export function isNarrow({ ids, reason, hour }: Narrowing): boolean {
  return ids !== undefined || reason !== undefined || hour !== undefined
}

/**
 * Changes what is selected.
 *
 * @param act called where something is
 * @throws Fault `usage` when nothing is selected, not even all
 */
export async function changeSelected(
  verb: string,
  { selection, metrics, options }: SelectedMetrics<string, Pick<Metric, 'id' | 'protocolId'>>,
  act: () => Promise<void>,
): Promise<void> {
  const { state } = selection
  if (!isNarrow(selection) && options.all !== true) {
    throw new Fault('usage', `which ${state} metrics? Nothing is selected`, {
      fix: `name metric or protocol ids, --reason TEXT or --hour H; all of them: tidegauge ${state} ${verb} --all`,
    })
  }
  if (metrics.length > 0) await act()
  else if (!isNarrow(selection)) print(`nothing is ${state}`)
}

/** Reports that metrics were dropped. */
export function printDropped(count: number): void {
  print(`${counted(count, 'metric')} dropped: not sent, and not collected again`)
}

/**
 * Reports names that fit nothing; the command then ends with 1.
 *
 * @param misfit a sentence about one
 */
export async function noteMisfits(
  { selection, metrics, ...call }: SelectedMetrics<string, Pick<Metric, 'id' | 'protocolId'>> & NamesFrom,
  misfit: (name: string) => string | Promise<string>,
): Promise<void> {
  const { state, ids = [] } = selection
  if (!isNarrow(selection)) return
  const strangers = ids.filter(name => !metrics.some(({ id, protocolId }) => name === id || name === protocolId))
  const known = strangers.length > 0 ? await knownNames(call) : []
  for (const name of strangers) {
    const near = meant(name, known)
    note(`${await misfit(name)}${near === undefined || near === name ? '' : `: did you mean ${near}?`}`)
  }
  if (metrics.length === 0 && strangers.length === 0) note(`no ${state} metric fits`)
  if (metrics.length > 0 && strangers.length === 0) return
  note(`  → tidegauge ${state} ls lists what is ${state}`)
  endIncomplete()
}

/** Where the names are that a person may have meant. */
type NamesFrom = Pick<OutboxCall, 'context'> & { readonly outbox: Pick<Outbox, 'operators'> | undefined }

/** Ids of the metrics of the last day, and of the configured protocols. */
export async function knownNames({ context: { config, time }, outbox }: NamesFrom): Promise<readonly string[]> {
  const current = hourAt(time.nowMs())
  const metrics = (await outbox?.operators.metrics(hourAfter(current, -24), current)) ?? []
  return [...new Set([...metrics.map(({ id }) => id), ...config.protocols.map(({ id }) => id)])]
}

/** The Fault for an id that is not of a metric. */
export async function unknownMetric(message: string, id: string, from: NamesFrom): Promise<Fault> {
  const whereText = 'a metric id is PROTOCOL___LABEL; tidegauge status shows what there is'
  return new Fault('usage', message, {
    fix: didYouMean(
      id,
      (await knownNames(from)).filter(name => name !== id),
      whereText,
    ),
  })
}

/** The protocols that a person names; all of them without a name. @throws Fault `usage` for an unknown one */
export function selectProtocols(
  protocols: readonly ProtocolConfig[],
  ids: readonly string[],
): readonly ProtocolConfig[] {
  const known = protocols.map(({ id }) => id)
  demandNames(ids, known, 'protocol', known)
  return ids.length === 0 ? protocols : protocols.filter(({ id }) => ids.includes(id))
}

/**
 * The collectors that a person names: by protocol id, by collector id, or by the collector's own name.
 *
 * @throws Fault `usage` for an unknown name
 */
export function selectCollectors(config: Config, names: readonly string[] | undefined): readonly CollectorConfig[] {
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  if (!names || names.length === 0) return collectors
  const namesOf = ({ id, protocolId }: CollectorConfig) => [id, protocolId, id.slice(protocolId.length + 1)]
  demandNames(
    names,
    collectors.flatMap(namesOf),
    'protocol or collector',
    collectors.map(({ id }) => id),
  )
  return collectors.filter(collector => namesOf(collector).some(name => names.includes(name)))
}

/** @throws Fault `usage` for names that are not valid */
function demandNames(
  names: readonly string[],
  validNames: readonly string[],
  kind: string,
  ids: readonly string[],
): void {
  const unknown = names.filter(name => !validNames.includes(name))
  if (unknown.length === 0) return
  throw new Fault('usage', `no ${kind} is called ${unknown.map(name => `"${name}"`).join(', ')}`, {
    fix: didYouMean(unknown[0] ?? '', validNames, `there are: ${ids.join(', ')}`),
  })
}

/** Parses an option that is a whole number. @param maximum default: no limit */
export function wholeNumber(minimum: number, maximum = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const number = /^\d+$/.test(text) ? Number(text) : -1
    if (number >= minimum && number <= maximum) return number
    const to = maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`
    throw new InvalidArgumentError(`It must be a whole number from ${minimum}${to}.`)
  }
}

/** Options that select collectors and hours. */
export interface HourRangeOptions extends ConfigOption, JsonOption {
  readonly only?: readonly string[]
  /** First hour, as typed. Default: see the command. */
  readonly from?: string
  /** Last hour, included, as typed. */
  readonly to?: string
}

/** A command that shows hours of collectors; default: all of them. */
export function hourRangeCommand(name: string): Command {
  return configuredCommand(name)
    .option('--only <id...>', 'protocols or collectors (default: all)')
    .option('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z (default: the oldest)')
    .option('--to <hour>', 'the last hour, included (default: the newest)')
    .option('--json', 'print JSON')
}

/** The selected hours, both ends included. */
export interface HourRange {
  /** First hour; absent: no lower bound. */
  readonly from?: Hour
  /** Last hour, included; absent: no upper bound. */
  readonly to?: Hour
}

/** @throws Fault `usage` for an invalid hour, or a range that ends before it begins */
export function hourRangeOf({ from, to }: HourRangeOptions): HourRange {
  const range = { ...(from && { from: parseHour(from) }), ...(to && { to: parseHour(to) }) }
  demandOrder(range)
  return range
}

/** @throws Fault `usage` when a range ends before it begins */
export function demandOrder({ from, to }: HourRange): void {
  if (from === undefined || to === undefined || from <= to) return
  throw new Fault('usage', `--from ${hourText(from)} lies after --to ${hourText(to)}`, {
    fix: 'the older hour comes first',
  })
}

/** @throws Fault `usage` for an hour that has not begun */
export function demandBegun(hour: Hour, nowMs: number): void {
  if (hour <= nowMs) return
  throw new Fault('usage', `${hourText(hour)} lies in the future`, {
    fix: `the current hour is ${hourText(hourAt(nowMs))}`,
  })
}
