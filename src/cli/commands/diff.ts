import { basename, extname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import type { CollectorConfig, OptionMistake } from '../../config/config.ts'
import { optionMistakes } from '../../config/explain.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import { exactText } from '../../model/number-text.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { describeReadable, fewAtATime, hourAgain, openLoggedReader, type ValueChange } from '../diff/hour-again.ts'
import { printSampleDiff, sampleDiff } from '../diff/sample.ts'
import { onOutbox } from '../outbox-action.ts'
import { type HourRangeOptions, hourRangeCommand, hourRangeOf, selectCollectors, wholeNumber } from '../selection.ts'
import { printFirst } from '../table.ts'
import { counted, cut, print } from '../terminal.ts'

interface DiffOptions extends HourRangeOptions {
  readonly collector?: string
  readonly hours?: number
  readonly sample?: number
  readonly seed?: number
}

/** A changed collector, compared with the delivered hours of the one that it would replace. */
interface CollectorDiff {
  readonly collector: string
  readonly hours: readonly Hour[]
  /** Number of values that both give, and the same, bit for bit. */
  readonly equal: number
  /** By hour. */
  readonly changes: readonly ValueChange[]
  /** Why the changed collector cannot be run at all; absent when it can. */
  readonly cannotRun?: string
}

const hoursDefault = 24
const hoursMax = 8_760
const reasonCharsMax = 60

const sampleMax = 1_000_000
const seedMax = 2 ** 32 - 1

/**
 * `diff`: reads delivered hours again, with a changed collector or with today's code, and compares bit for bit. Ends with 1
 * when a value differs, or nothing could be compared.
 */
export function diffCommand(): Command {
  return hourRangeCommand('diff')
    .description('read delivered hours again and compare bit for bit; nothing is stored or sent')
    .option(
      '--collector <file>',
      'what a changed collector would have given; --only names the one that it would replace',
    )
    .option(
      '--hours <count>',
      `with --collector: the last delivered hours; ${hoursDefault}, where nothing is said`,
      wholeNumber(1, hoursMax),
    )
    .option('--sample <count>', 'so many random hours, with the code of today', wholeNumber(1, sampleMax))
    .option(
      '--seed <number>',
      'with --sample: draws the same hours as the run that printed it',
      wholeNumber(0, seedMax),
    )
    .action(
      onOutbox<DiffOptions>(async ({ context, outbox, options }) => {
        const { collector: file, sample } = options
        checkOptions(options)
        return file === undefined
          ? sampled(context, outbox, { ...options, sample: sample ?? 0 })
          : changedCollector(context, outbox, { ...options, collector: file })
      }),
    )
}

/** @throws Fault `usage` for options that do nothing together */
function checkOptions({ collector, sample, hours, seed, from, to }: DiffOptions): void {
  if ((collector === undefined) === (sample === undefined)) {
    const what = 'it compares with a changed collector, or with the code of today'
    const both = collector === undefined ? what : `${what}, and both are named`
    throw new Fault('usage', both, { fix: 'name --collector FILE, or --sample COUNT' })
  }
  const strays = collector === undefined ? { '--hours': hours } : { '--seed': seed, '--from': from, '--to': to }
  const [name] = Object.entries(strays).find(([, value]) => value !== undefined) ?? []
  if (name === undefined) return
  const other = collector === undefined ? '--collector' : '--sample'
  throw new Fault('usage', `${name} is for ${other}`, { fix: `leave it out, or name ${other}` })
}

async function sampled(context: AppContext, outbox: Outbox | undefined, options: DiffOptions & { sample: number }) {
  const collectors = selectCollectors(context.config, options.only)
  const seed = options.seed ?? Math.floor(context.time.chance() * (seedMax + 1))
  const draw = { collectors, ...hourRangeOf(options), sample: options.sample, seed }
  const diff = await sampleDiff(context, outbox, draw)
  return {
    json: () => ({ seed, ...diff }),
    text: () => printSampleDiff(diff, seed),
    isIncomplete: diff.compared === 0 || diff.differences.length > 0,
  }
}

async function changedCollector(
  context: AppContext,
  outbox: Outbox | undefined,
  { only, collector: file, hours = hoursDefault }: DiffOptions & { collector: string },
) {
  const replaced = replacedBy(file, selectCollectors(context.config, only), only !== undefined)
  if (!outbox) throw new Fault('usage', 'nothing was delivered yet', { fix: 'there is nothing to compare with' })
  const diff = await diffOf(context, outbox, { ...replaced, use: resolve(file) }, hours)
  return {
    json: () => diffJson(diff),
    text: () => printDiff(diff),
    isIncomplete: diff.hours.length === 0 || diff.changes.length > 0,
  }
}

/**
 * The configured collector that a file would replace: the named one, else the one whose code has the same file name.
 *
 * @throws Fault `usage` when that is not exactly one
 */
function replacedBy(file: string, collectors: readonly CollectorConfig[], isNamed: boolean): CollectorConfig {
  const nameOf = (path: string) => basename(path, extname(path))
  const fits = isNamed ? collectors : collectors.filter(({ use }) => nameOf(use) === nameOf(file))
  const [first] = fits
  if (first && fits.length === 1) return first
  const found = fits.length === 0 ? `no configured collector is called ${nameOf(file)}` : 'several collectors fit'
  const ids = (fits.length === 0 ? collectors : fits).map(({ id }) => id).join(', ')
  throw new Fault('usage', found, { fix: `name the one it would replace with --only: ${ids}` })
}

/** Runs a changed collector for the last delivered hours, and compares. Stores and sends nothing. */
async function diffOf(
  context: AppContext,
  outbox: Outbox,
  collector: CollectorConfig,
  count: number,
): Promise<CollectorDiff> {
  await using stack = new AsyncDisposableStack()
  const reader = openLoggedReader(context, stack)
  const emptyDiff = { collector: collector.id, hours: [], equal: 0, changes: [] }
  const description = await describeReadable(reader, collector, mistakes => otherOptions(collector, mistakes))
  if (description.kind === 'unread') return { ...emptyDiff, cannotRun: description.unread.reason }
  if (description.kind === 'left-out') {
    return { ...emptyDiff, cannotRun: 'it only reads “now”: past hours cannot be compared' }
  }
  const delivered = await outbox.operators.deliveredHours([collector.id])
  const hours = delivered.slice(-count).map(({ hour }) => hour)
  const comparisons = await fewAtATime(hours, hour =>
    hourAgain(reader, outbox, { ...description, hour }, 'the changed collector does not return it'),
  )
  const equal = comparisons.reduce((sum, one) => sum + one.equal, 0)
  return { collector: collector.id, hours, equal, changes: comparisons.flatMap(({ changes }) => changes) }
}

/** Why a changed collector does not take the options of its entry, which `check` judges by the configured one. */
function otherOptions(collector: CollectorConfig, mistakes: readonly OptionMistake[]): string {
  const entry = { ...collector, use: basename(collector.use) }
  const sentences = optionMistakes(entry, mistakes).map(({ message, fix }) => (fix ? `${message} (${fix})` : message))
  const cure = 'write them into a copy of the configuration, in its folder, and name that by --config'
  return `${entry.use} takes other options than the entry gives: ${sentences.join('; ')} → ${cure}`
}

function printDiff({ collector, hours, equal, changes, cannotRun }: CollectorDiff): void {
  const [first, last] = [hours[0], hours.at(-1)]
  if (cannotRun !== undefined) return void print(`${collector} cannot be compared: ${cannotRun}`)
  if (first === undefined || last === undefined) return void print(`nothing of ${collector} was delivered yet`)
  const span = `${counted(hours.length, 'delivered hour')} of ${collector}, ${hourText(first)} to ${hourText(last)}`
  if (changes.length === 0) return void print(`${span}: ${counted(equal, 'value')}, all the same, bit for bit`)
  const numbers = ['stored', 'changed', 'difference']
  printFirst(['metric', 'hour', ...numbers], changes.map(rowOf), 'value', numbers)
  print(`\n${span}: ${counted(equal, 'value')} the same, ${counted(changes.length, 'value')} not`)
}

function rowOf({ metric, hour, stored: storedValue, again: newValue, reason }: ValueChange): string[] {
  const difference = storedValue !== undefined && newValue !== undefined ? differenceText(storedValue, newValue) : ''
  const now = newValue === undefined ? `none: ${cut(reason ?? '', reasonCharsMax)}` : exactText(newValue)
  return [metric, hourText(hour), storedValue === undefined ? 'none' : exactText(storedValue), now, difference]
}

/** The change relative to the stored value, in percent; the bare difference where that is 0. */
function differenceText(storedValue: number, newValue: number): string {
  const difference = newValue - storedValue
  if (storedValue === 0) return difference > 0 ? `+${difference}` : exactText(difference)
  const percent = (difference / Math.abs(storedValue)) * 100
  return `${percent > 0 ? '+' : ''}${exactText(Number(percent.toPrecision(3)))} %`
}

function diffJson({ hours, changes, ...diff }: CollectorDiff) {
  return {
    ...diff,
    hours: hours.map(hourText),
    changes: changes.map(({ hour, again: changed, ...change }) => ({ ...change, hour: hourText(hour), changed })),
  }
}
