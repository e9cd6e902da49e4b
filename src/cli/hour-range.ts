import type { Command } from 'commander'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../model/hour.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from './configured-command.ts'

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
