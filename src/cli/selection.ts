import { type Command, InvalidArgumentError } from 'commander'
import type { AppContext } from '../app/context.ts'
import type { ProtocolConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../model/hour.ts'
import type { MetricId } from '../model/metric.ts'
import type { DeadOrHeldMetric, Selection } from '../outbox/contract/metrics.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from './configured-command.ts'
import { exitCodes } from './exit.ts'
import { counted, note } from './terminal.ts'

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

/** @throws Fault `usage` when nothing is selected, not even all */
export function demandSelection(
  verb: string,
  selection: Narrowing & { readonly state: string },
  options: SelectionOptions,
): void {
  if (isNarrow(selection) || options.all === true) return
  throw new Fault('usage', `which ${selection.state} metrics? Nothing is selected`, {
    fix: `name metric or protocol ids, --reason TEXT or --hour H; all of them: ${asTyped(`${selection.state} ${verb} --all`, options)}`,
  })
}

/** Criteria that narrow a selection. */
type Narrowing = Omit<Selection, 'state'>

/** Whether anything but all is selected. */
export function isNarrow({ ids, reason, hour }: Narrowing): boolean {
  return ids !== undefined || reason !== undefined || hour !== undefined
}

/** Input of a command on selected metrics. */
export interface Selected {
  readonly context: AppContext
  /** Absent when nothing was ever collected. */
  readonly outbox: Pick<Outbox, 'operators' | 'intake'> | undefined
  readonly selection: Selection
  /** Metrics that the selection fits. */
  readonly found: readonly DeadOrHeldMetric[]
  readonly options: SelectionOptions
}

/** Reports names that fit nothing; the command then ends with 1. */
export async function noteMisfits(selected: Selected, ended: (code: number) => void): Promise<void> {
  const { selection, found, options } = selected
  const { state, ids = [] } = selection
  if (!isNarrow(selection)) return
  const strangers = ids.filter(name => !found.some(({ id, protocolId }) => name === id || name === protocolId))
  for (const name of strangers) note(await misfit(name, selected))
  if (found.length === 0 && strangers.length === 0) note(`no ${state} metric fits`)
  if (found.length > 0 && strangers.length === 0) return
  note(`  → ${asTyped(`${state} ls`, options)} lists what is ${state}`)
  ended(exitCodes.incomplete)
}

/** Whether a name is a configured protocol, or a metric with matches. */
export async function isKnown(name: string, { context, outbox, found }: Selected): Promise<boolean> {
  const { config, time } = context
  if (found.some(({ id, protocolId }) => name === id || name === protocolId)) return true
  if (config.protocols.some(({ id }) => id === name)) return true
  if (!outbox) return false
  const { byProtocol } = await outbox.operators.backlog()
  if (byProtocol.has(name)) return true
  const [past] = await outbox.intake.pasts([{ id: name as MetricId, hour: hourAt(time.nowMs()) }])
  return past !== undefined
}

async function misfit(name: string, selected: Selected): Promise<string> {
  const { outbox, selection, options } = selected
  const { state, hour, reason } = selection
  const isOf = hour === undefined ? '' : ` of ${hourText(hour)}`
  if (!(await isKnown(name, selected))) return `no metric or protocol is called "${name}"`
  const other = state === 'dead' ? 'held' : 'dead'
  const operators = outbox?.operators
  const others = (await operators?.deadOrHeld({ ...selection, state: other, ids: [name] }))?.length ?? 0
  const due = (await operators?.due({ ids: [name], ...(hour === undefined ? {} : { hour }) }))?.length ?? 0
  const waits = due > 0 ? `; ${counted(due, 'metric')} due: ${asTyped(`due ls ${name}`, options)}` : ''
  const alsoThere =
    others > 0 ? `; ${counted(others, 'metric')} ${other}: ${asTyped(`${other} ls ${name}`, options)}` : ''
  return `nothing of ${name}${isOf} is ${state}${reason === undefined ? '' : ' for such a reason'}${alsoThere}${waits}`
}

/** The protocols that a person names; all of them without a name. @throws Fault `usage` for an unknown one */
export function selectProtocols(
  protocols: readonly ProtocolConfig[],
  ids: readonly string[],
): readonly ProtocolConfig[] {
  const unknown = ids.filter(id => !protocols.some(protocol => protocol.id === id))
  if (unknown.length > 0) {
    throw new Fault('usage', `no protocol is called ${unknown.map(id => `"${id}"`).join(', ')}`, {
      fix: `there are: ${protocols.map(({ id }) => id).join(', ')}`,
    })
  }
  return ids.length === 0 ? protocols : protocols.filter(({ id }) => ids.includes(id))
}

/** Parses an option that is a whole number. @param most default: no limit */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const number = /^\d+$/.test(text) ? Number(text) : -1
    if (number >= least && number <= most) return number
    const to = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
    throw new InvalidArgumentError(`It must be a whole number from ${least}${to}.`)
  }
}

/** Options that select collectors and hours. */
export interface LookOptions extends ConfigOption, JsonOption {
  readonly only?: readonly string[]
  /** First hour, as typed. Default: see the command. */
  readonly from?: string
  /** Last hour, included, as typed. */
  readonly to?: string
}

/** A command that shows hours of collectors; default: all of them. */
export function lookingCommand(name: string): Command {
  return configuredCommand(name)
    .option('--only <id...>', 'protocols or collectors')
    .option('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z')
    .option('--to <hour>', 'the last hour, included')
    .option('--json', 'print JSON')
}

/** The selected hours, both ends included. */
export interface LookedAt {
  /** First hour; absent: no lower bound. */
  readonly from?: Hour
  /** Last hour, included; absent: no upper bound. */
  readonly to?: Hour
}

/** @throws Fault `usage` for an invalid hour, or a range that ends before it begins */
export function lookedAt({ from, to }: LookOptions): LookedAt {
  const range = { ...(from && { from: parseHour(from) }), ...(to && { to: parseHour(to) }) }
  demandOrder(range)
  return range
}

/** @throws Fault `usage` when a range ends before it begins */
export function demandOrder({ from, to }: LookedAt): void {
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
