import type { Command } from 'commander'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { hourText } from '../../model/hour.ts'
import { type Drift, readAgain } from '../drift-sample.ts'
import { exitCodes } from '../exit.ts'
import { type LookOptions, lookedAt, lookingCommand } from '../hour-range.ts'
import { openContext, selectCollectors } from '../open-context.ts'
import type { Unread } from '../read-again.ts'
import { printTable } from '../table.ts'
import { counted, cut, note, print, printJson } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

interface DriftOptions extends LookOptions {
  readonly sample: number
  readonly seed?: number
}

/** Rows of a table, and characters of a reason in it. */
const rowsMax = 50
const reasonCharsMax = 80

const sampleDefault = 50
const sampleMax = 1_000_000
const seedMax = 2 ** 32 - 1

/** `drift`: reads random delivered hours again. Ends with 1 when a value differs, or nothing could be compared. */
export function driftCommand(ended: (code: number) => void): Command {
  return lookingCommand('drift')
    .description('read random delivered hours again and compare bit for bit; nothing is stored or sent')
    .option('--sample <count>', 'hours that are read again', wholeNumber(1, sampleMax), sampleDefault)
    .option('--seed <number>', 'draws the same hours as the run that printed it', wholeNumber(0, seedMax))
    .action(async (options: DriftOptions) => {
      const range = lookedAt(options)
      const context = openContext(options.config)
      const collectors = selectCollectors(context.config, options.only)
      const seed = options.seed ?? Math.floor(context.time.chance() * (seedMax + 1))
      await using stack = new AsyncDisposableStack()
      const outbox = await openExistingOutbox(context, stack)
      const draw = { collectors, range, sample: options.sample, seed }
      const drift = outbox ? await readAgain(context, outbox, draw) : nothing
      if (options.json) printJson(driftJson(drift, seed))
      else printDrift(drift, seed)
      if (drift.compared === 0 || drift.differences.length > 0) ended(exitCodes.incomplete)
    })
}

const nothing: Drift = { hoursAll: 0, hours: 0, compared: 0, differences: [], unread: [], leftOut: [] }

function printDrift(drift: Drift, seed: number): void {
  const { hoursAll, hours, compared, differences, unread, leftOut } = drift
  if (leftOut.length > 0) note(`left out, as they only read “now”: ${leftOut.join(', ')}`)
  if (hoursAll === 0) print('no delivered hour that could be read again')
  else
    print(`seed ${seed}: ${hours} of ${counted(hoursAll, 'delivered hour')} read again, ${valuesOf(compared)} compared`)
  if (unread.length > 0) printUnread(unread)
  if (differences.length > 0) printDifferences(drift)
  else if (compared > 0) print('no difference: every value compared is the one that was stored, bit for bit')
  else if (hoursAll > 0) print('nothing could be compared')
}

function printUnread(unread: readonly Unread[]): void {
  print('\nnot read again:')
  const rows = unread
    .slice(0, rowsMax)
    .map(({ of, hour, reason }) => [of, hour === undefined ? '' : hourText(hour), cut(reason, reasonCharsMax)])
  printTable(['metric or collector', 'hour', 'why'], rows)
  printRest(unread.length)
  print('')
}

function printDifferences({ differences, compared }: Drift): void {
  print('')
  const rows = differences
    .slice(0, rowsMax)
    .map(({ metric, hour, stored, again }) => [metric, hourText(hour), String(stored), String(again)])
  printTable(['metric', 'hour', 'stored', 'read again'], rows, ['stored', 'read again'])
  printRest(differences.length)
  print(`\n${differences.length} of ${valuesOf(compared)} differ: the same hour should always give the same value`)
}

function printRest(count: number): void {
  if (count > rowsMax) print(`and ${count - rowsMax} more: --json has all`)
}

function valuesOf(count: number): string {
  return counted(count, 'value')
}

function driftJson({ hoursAll, hours, compared, differences, unread, leftOut }: Drift, seed: number) {
  const dated = <T extends { readonly hour?: number }>(one: T, hour: string | undefined) => ({
    ...one,
    ...(hour === undefined ? {} : { hour }),
  })
  return {
    seed,
    deliveredHours: hoursAll,
    hours,
    compared,
    differences: differences.map(one => dated(one, hourText(one.hour))),
    notRead: unread.map(one => dated(one, one.hour === undefined ? undefined : hourText(one.hour))),
    leftOut,
  }
}
