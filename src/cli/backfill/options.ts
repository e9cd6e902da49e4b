import type { Command } from 'commander'
import type { HourOrder } from '../../intake/backfill/work.ts'
import { type Hour, hourText, parseHour } from '../../model/hour.ts'
import { shellWord } from '../../model/text.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { demandBegun, demandOrder, type LookedAt } from '../hour-range.ts'
import { wholeNumber } from '../whole-number.ts'

/** Default of the hours read concurrently. */
const concurrencyDefault = 100

/** Upper bound: hours being read are in memory, and are lost when the process is killed. */
const concurrencyMax = 500

/** The options, as parsed by commander. */
export interface BackfillOptions extends ConfigOption, JsonOption {
  /** First hour, as typed. */
  readonly from: string
  /** Last hour, included, as typed. */
  readonly to: string
  readonly only?: readonly string[]
  /** Whether only the cost is printed. */
  readonly plan?: boolean
  /** Whether collected hours are read again. */
  readonly overwrite?: boolean
  readonly newestFirst?: boolean
  /** Hours read at once. */
  readonly concurrency: number
  /** RPC calls at most. Default: no limit. */
  readonly maxCalls?: number
}

/** The command and its options, without its action. */
export function backfillOptions(): Command {
  return configuredCommand('backfill')
    .description('past hours: collect, queue and push what is missing; a second run continues where it stopped')
    .requiredOption('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z')
    .requiredOption('--to <hour>', 'the last hour, included')
    .option('--only <id...>', 'protocols or collectors')
    .option('--plan', 'show the plan and its cost; send and store nothing')
    .option('--overwrite', 'read collected hours again, and correct differences')
    .option('--newest-first', 'start with the newest hour (default: the oldest)')
    .option(
      '--concurrency <hours>',
      `hours under way together, each with all its collectors: 1 to ${concurrencyMax}`,
      wholeNumber(1, concurrencyMax),
      concurrencyDefault,
    )
    .option('--max-calls <count>', 'stop before more RPC calls are made', wholeNumber(1))
    .option('--json', 'print JSON')
}

/** The requested hours, both ends included. */
export type HourSpan = Required<LookedAt>

/** @throws Fault `usage` for an empty range, or one in the future */
export function readRange({ from, to }: Pick<BackfillOptions, 'from' | 'to'>, nowMs: number): HourSpan {
  const range = { from: parseHour(from), to: parseHour(to) }
  for (const hour of [range.from, range.to]) demandBegun(hour, nowMs)
  demandOrder(range)
  return range
}

/** The requested order. */
export function orderOf({ newestFirst }: Pick<BackfillOptions, 'newestFirst'>): HourOrder {
  return newestFirst ? 'newest-first' : 'oldest-first'
}

/**
 * Command line that continues a stopped backfill.
 *
 * @param at the hour it was at: collected hours are skipped anyway, but not with `--overwrite`
 */
export function resumption(options: BackfillOptions, at: Hour | undefined): string {
  const { overwrite, newestFirst, only, concurrency, maxCalls } = options
  const isFrom = overwrite && !newestFirst && at !== undefined
  const isTo = overwrite && newestFirst && at !== undefined
  const words = [
    `backfill --from ${isFrom ? hourText(at) : options.from} --to ${isTo ? hourText(at) : options.to}`,
    ...(only ? [`--only ${only.map(shellWord).join(' ')}`] : []),
    ...(overwrite ? ['--overwrite'] : []),
    ...(newestFirst ? ['--newest-first'] : []),
    ...(concurrency === concurrencyDefault ? [] : [`--concurrency ${concurrency}`]),
    ...(maxCalls === undefined ? [] : [`--max-calls ${maxCalls}`]),
  ]
  return asTyped(words.join(' '), options)
}
