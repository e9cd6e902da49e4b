import { hourText } from '../model/hour.ts'
import { numberText } from '../model/number-text.ts'
import { shellWord } from '../model/text.ts'
import type { DeadOrHeldMetric } from '../outbox/contract/selections.ts'
import { asTyped } from './configured-command.ts'
import { isNarrow, type Selected } from './selection.ts'
import { printTable } from './table.ts'
import { counted, cut, grouped, instantText, note, print } from './terminal.ts'

/** Rows of a table, and metrics shown in full: what a person looks through in a terminal. */
const rowsMax = 50
const inFullMax = 20
/** Groups of metrics with the same words. */
const groupsMax = 10
const wordCharsMax = 60

/** A dead or held metric as JSON: the same names, instants as text, unknown fields left out. */
export function deadOrHeldJson(metric: DeadOrHeldMetric) {
  const { id, protocolId, hour, value, unit, kind, reason, status, attempts, sinceMs, collector } = metric
  return {
    id,
    protocolId,
    hour: hourText(hour),
    value,
    ...(unit === undefined ? {} : { unit }),
    kind,
    reason,
    ...(status === undefined ? {} : { status }),
    ...(attempts === undefined ? {} : { attempts }),
    since: new Date(sinceMs).toISOString(),
    collector,
  }
}

/** Prints dead or held metrics as a table: the newest hours, and if there are more, the words they share. */
export function printDeadOrHeld({ found, selection, options }: Selected): void {
  const { state } = selection
  if (found.length === 0) {
    if (!isNarrow(selection)) print(`nothing is ${state}`)
    return
  }
  const shown = found.slice(-rowsMax)
  if (state === 'dead') printDead(shown)
  else printHeld(shown)
  if (shown.length === found.length) return
  print('')
  print(`${counted(found.length, 'metric')} ${state}, the newest ${shown.length} shown; --json has all. Why:`)
  printGroups(found)
  print(
    `select with ids, --hour H, or --reason TEXT, as in ${asTyped(`${state} ls --reason ${sampleWords(found)}`, options)}`,
  )
}

function printDead(metrics: readonly DeadOrHeldMetric[]): void {
  const rows = metrics.map(metric => [
    ...rowStart(metric),
    String(metric.status ?? ''),
    String(metric.attempts ?? ''),
    instantText(metric.sinceMs),
    cut(words(metric), wordCharsMax),
  ])
  const head = ['metric', 'hour', 'value', 'unit', 'status', 'attempts', 'since', 'the service’s words']
  printTable(head, rows, ['value', 'status', 'attempts'])
}

function printHeld(metrics: readonly DeadOrHeldMetric[]): void {
  const rows = metrics.map(metric => [
    ...rowStart(metric),
    metric.kind,
    instantText(metric.sinceMs),
    cut(metric.reason, wordCharsMax),
  ])
  printTable(['metric', 'hour', 'value', 'unit', 'kind', 'since', 'why'], rows, ['value'])
}

function rowStart({ id, hour, value, unit = '' }: DeadOrHeldMetric): string[] {
  return [id, hourText(hour), numberText(value), unit]
}

function printGroups(found: readonly DeadOrHeldMetric[]): void {
  const groups = [...Map.groupBy(found, metric => general(words(metric))).entries()]
  groups.sort(([, one], [, other]) => other.length - one.length)
  for (const [reason, group] of groups.slice(0, groupsMax)) {
    const hours = [group[0], group.at(-1)].flatMap(metric => (metric ? hourText(metric.hour) : []))
    print(`  ${grouped(group.length)}× ${cut(reason, wordCharsMax)} (${[...new Set(hours)].join(' to ')})`)
  }
  const rest = groups.slice(groupsMax).reduce((sum, [, group]) => sum + group.length, 0)
  if (rest > 0) print(`  ${grouped(rest)}× for other reasons`)
}

/** The service's words without the status, which has a column of its own; or why the metric is held. */
function words({ reason, status }: DeadOrHeldMetric): string {
  return status !== undefined && reason.startsWith(`${status}: `) ? reason.slice(`${status}: `.length) : reason
}

/** Words with an ellipsis in place of ids, numbers and times, which differ from metric to metric. */
function general(reason: string): string {
  return reason.replace(/[\w-]+___[\w.-]+/g, '…').replace(/-?\d[\d.,:eTZ+-]*(?<=[\dZ])/g, '…')
}

/** The longest run of plain words of the newest reason. */
function sampleWords(found: readonly DeadOrHeldMetric[]): string {
  const runs = general(found.at(-1)?.reason ?? '').match(/[\p{Letter} ]+/gu) ?? []
  const longest = runs.map(run => run.trim()).reduce((best, run) => (run.length > best.length ? run : best), '')
  return shellWord(longest)
}

/** Prints each metric in full, and what to do next. */
export function printInFull(selected: Selected): void {
  const shown = selected.found.slice(-inFullMax)
  for (const [index, metric] of shown.entries()) {
    if (index > 0) print('')
    for (const line of inFull(metric, selected)) print(line)
  }
  const more = selected.found.length - shown.length
  if (more > 0) note(`${counted(more, 'older one')} not shown: --hour H picks one hour, --json has all`)
}

function inFull(metric: DeadOrHeldMetric, { options }: Selected): string[] {
  const { id, hour, value, unit, kind, status, attempts, sinceMs, collector } = metric
  const facts: readonly (readonly [name: string, fact: string | undefined])[] = [
    ['value', unit === undefined ? numberText(value) : `${numberText(value)} ${unit}`],
    [metric.state, kind === 'refused' ? 'the service refused it for good' : heldWords[kind]],
    ['status', status === undefined ? undefined : String(status)],
    ['attempts', attempts === undefined ? undefined : String(attempts)],
    ['since', instantText(sinceMs)],
    ['collector', collector],
    [kind === 'refused' ? 'words' : 'why', words(metric)],
    ...nextSteps(metric).map(([when, words], index) => {
      return [index === 0 ? 'next' : '', `${when}: ${asTyped(words, options)}`] as const
    }),
  ]
  const lines = facts.flatMap(([name, fact]) => (fact === undefined ? [] : [`  ${name.padEnd(9)}  ${indented(fact)}`]))
  return [`${id}  ${hourText(hour)}`, ...lines]
}

/** Indents further lines of a text. */
function indented(fact: string): string {
  return fact.trim().replace(/\n/g, `\n${' '.repeat(13)}`)
}

const heldWords: Record<Exclude<DeadOrHeldMetric['kind'], 'refused'>, string> = {
  bounds: 'outside the declared bounds',
  jump: 'a jump of more than declared',
  unit: 'another unit than before',
}

function nextSteps({ id, hour, kind, state }: DeadOrHeldMetric): readonly (readonly [when: string, words: string])[] {
  const which = `${id} --hour ${hourText(hour)}`
  const giveUp = ['to give it up', `${state} drop ${which}`] as const
  if (kind === 'refused') return [['once the service takes it', `dead retry ${which}`], giveUp]
  const origin = ['to see where it came from', `explain ${id} ${hourText(hour)}`] as const
  if (kind === 'unit') return [origin, ['if the change is meant', `held release ${id} --allow-unit-change`], giveUp]
  return [origin, ['if the value is right', `held release ${which}`], giveUp]
}
