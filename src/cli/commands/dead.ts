import { Command } from 'commander'
import { openExistingForListing } from '../../app/open-outbox.ts'
import { hourAt, hourText, instantText } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import { numberText } from '../../model/number-text.ts'
import { shellWord } from '../../model/text.ts'
import type { DeadOrHeldMetric, Selection } from '../../outbox/contract/metrics.ts'
import { jsonForm } from '../../status/json.ts'
import { configuredCommand, type JsonOption, strayWord } from '../configured-command.ts'
import { delivererSentence } from '../daemon-role.ts'
import { endIncomplete } from '../exit.ts'
import { type OutboxCall, onOutbox } from '../outbox-action.ts'
import {
  changeSelected,
  changingCommand,
  isNarrow,
  knownNames,
  noteMisfits,
  printDropped,
  type SelectedMetrics,
  type SelectionOptions,
  selectingCommand,
  selectionOf,
} from '../selection.ts'
import { printTable, rowsMax } from '../table.ts'
import { counted, cut, grouped, note, print, printStored } from '../terminal.ts'

type State = Selection['state']

/** Metric ids listed, metrics shown in full, and groups of metrics with the same words; further ones are counted. */
const [idsMax, inFullMax, groupsMax] = [5, 20, 10]
const wordCharsMax = 60

interface WaitingOptions extends SelectionOptions, JsonOption {
  readonly allowUnitChange?: boolean
}

/** Dead or held metrics that a person has selected. */
interface Selected extends OutboxCall<WaitingOptions>, SelectedMetrics<State, DeadOrHeldMetric> {
  readonly options: WaitingOptions
}

/** `dead ls|show|retry|drop`: metrics that the service rejected for good, and what a person decides about them. */
export function deadCommand(): Command {
  const retry = changingCommand('retry').description('make them due, to be sent again')
  return new Command('dead')
    .description('dead metrics (refused for good): list, show, retry, drop')
    .addCommand(listCommand('dead'), { isDefault: true })
    .addCommand(showCommand('dead'))
    .addCommand(
      changing(retry, 'dead', async selected => {
        const count = (await selected.outbox?.operators.release(selected.selection, 'locked')) ?? 0
        await printDue(count, selected.metrics, selected)
      }),
    )
    .addCommand(dropCommand('dead'))
}

/** `held ls|show|release|drop`: implausible values held back, and what a person decides about them. */
export function heldCommand(): Command {
  const release = changingCommand('release')
    .description('make them due, to be sent')
    .option('--allow-unit-change', 'also those with another unit than before; it is the unit from their hour on')
  return new Command('held')
    .description('held metrics (implausible values): list, show, release, drop')
    .addCommand(listCommand('held'), { isDefault: true })
    .addCommand(showCommand('held'))
    .addCommand(changing(release, 'held', releaseHeld))
    .addCommand(dropCommand('held'))
}

async function releaseHeld(call: Selected): Promise<void> {
  const { outbox, selection, metrics, options } = call
  const stays = options.allowUnitChange ? [] : metrics.filter(({ kind }) => kind === 'unit')
  const count = (await outbox?.operators.release(selection, options.allowUnitChange ? 'changed' : 'locked')) ?? 0
  const released = metrics.filter(metric => !stays.includes(metric))
  if (released.length > 0) await printDue(count, released, call)
  if (stays.length === 0) return
  await noteStaying(stays, call)
  endIncomplete()
}

async function noteStaying(stays: readonly DeadOrHeldMetric[], { outbox }: Selected): Promise<void> {
  const byId = [...Map.groupBy(stays, ({ id }) => id).values()].flatMap(([first]) => first ?? [])
  note(`${counted(stays.length, 'metric')} stay${stays.length === 1 ? 's' : ''} held, because the unit changes:`)
  const shown = byId.slice(0, idsMax)
  const pasts = await outbox?.intake.pasts(shown)
  for (const [place, { id, hour, unit = 'none' }] of shown.entries()) {
    const was = pasts?.[place]?.unit ?? 'none'
    note(`  ${id}: from ${was} to ${unit}, from ${hourText(hour)} on`)
  }
  if (byId.length > idsMax) note(`  and ${counted(byId.length - idsMax, 'metric id')} more`)
  const idWords = byId.length > idsMax ? 'ID…' : byId.map(({ id }) => id).join(' ')
  note(`  → if that is meant: tidegauge held release ${idWords} --allow-unit-change`)
  note(`    if not, once the collector is repaired: tidegauge ${againWords(stays)}`)
  note(`    what cannot be read again is given up for ever: tidegauge held drop ${idWords}`)
}

/** `ls`: dead or held metrics as a table. */
function listCommand(state: State): Command {
  return selectingCommand('ls')
    .description(`list ${state} metrics (also without ls)`)
    .option('--json', 'print JSON: all of them, in full')
    .action(
      onSelected(
        state,
        async call => {
          const { command, metrics, options } = call
          if (command.parent && command.parent.args[0] !== 'ls') await demandKnown(call, command.parent)
          if (options.json) printStored(metrics.map(deadOrHeldJson))
          else printDeadOrHeld(call)
        },
        openExistingForListing,
      ),
    )
}

/** Refuses an unknown name without `ls`, which may be a misspelt command. @throws Fault `usage` */
async function demandKnown(query: Selected, group: Command): Promise<void> {
  for (const name of query.selection.ids ?? []) {
    if (await isKnown(name, query)) continue
    throw strayWord(group, name, ', and no metric or protocol has that name', await knownNames(query))
  }
}

/** `show ID…`: each metric in full. */
function showCommand(state: State): Command {
  return configuredCommand('show')
    .description('show each metric in full, and what to do next')
    .argument('<id...>', 'metric or protocol ids')
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z')
    .option('--json', 'print JSON')
    .action(
      onSelected(
        state,
        async selected => {
          if (selected.options.json) printStored(selected.metrics.map(deadOrHeldJson))
          else printInFull(selected)
        },
        openExistingForListing,
      ),
    )
}

/** `drop`: gives metrics up. */
function dropCommand(state: State): Command {
  const command = changingCommand('drop').description('drop them for ever: not sent, not collected again')
  return changing(command, state, async ({ outbox, selection }) => {
    printDropped((await outbox?.operators.drop(selection)) ?? 0)
  })
}

function changing(command: Command, state: State, act: (selected: Selected) => Promise<void>): Command {
  return command.action(onSelected(state, selected => changeSelected(command.name(), selected, () => act(selected))))
}

function onSelected(
  state: State,
  act: (selected: Selected) => Promise<void>,
  openOutbox?: typeof openExistingForListing,
) {
  return onOutbox<WaitingOptions, [ids: readonly string[]]>(async (call, ids) => {
    const selection = selectionOf(state, ids, call.options)
    const selected = { ...call, selection, metrics: (await call.outbox?.operators.deadOrHeld(selection)) ?? [] }
    await act(selected)
    await noteMisfits(selected, name => misfit(name, selected))
    return undefined
  }, openOutbox)
}

/** Whether a name is a configured protocol, or a metric with matches. */
async function isKnown(name: string, { context, outbox, metrics }: Selected): Promise<boolean> {
  const { config, time } = context
  if (metrics.some(({ id, protocolId }) => name === id || name === protocolId)) return true
  if (config.protocols.some(({ id }) => id === name)) return true
  if (!outbox) return false
  const { byProtocol } = await outbox.operators.backlog()
  if (byProtocol.has(name)) return true
  const [past] = await outbox.intake.pasts([{ id: name as MetricId, hour: hourAt(time.nowMs()) }])
  return past !== undefined
}

async function misfit(name: string, call: Selected): Promise<string> {
  const { outbox, selection } = call
  const { state, hour, reason } = selection
  const isOf = hour === undefined ? '' : ` of ${hourText(hour)}`
  if (!(await isKnown(name, call))) return `no metric or protocol is called "${name}"`
  const otherState = state === 'dead' ? 'held' : 'dead'
  const otherCount = (await outbox?.operators.deadOrHeld({ ...selection, state: otherState, ids: [name] }))?.length ?? 0
  const dueCount = (await outbox?.operators.due({ ids: [name], ...(hour === undefined ? {} : { hour }) }))?.length ?? 0
  const counts = [
    ...(otherCount > 0 ? [`; ${counted(otherCount, 'metric')} ${otherState}: tidegauge ${otherState} ls ${name}`] : []),
    ...(dueCount > 0 ? [`; ${counted(dueCount, 'metric')} due: tidegauge due ls ${name}`] : []),
  ]
  return `nothing of ${name}${isOf} is ${state}${reason === undefined ? '' : ' for such a reason'}${counts.join('')}`
}

/** Reports that metrics are due from now on, and which process pushes them. */
async function printDue(count: number, metrics: readonly DeadOrHeldMetric[], { context }: Selected): Promise<void> {
  const deliverer = count === 0 ? '' : `: ${await delivererSentence(context)}`
  print(`${counted(count, 'metric')} due${deliverer}`)
  const configured = new Set(context.config.protocols.map(({ id }) => id))
  const homeless = new Set(metrics.map(({ protocolId }) => protocolId).filter(id => !configured.has(id)))
  for (const id of homeless) note(`${id} is not in ${context.config.file}: its metrics stay due until it is`)
}

/** A dead or held metric as JSON; unknown fields are left out. */
function deadOrHeldJson(metric: DeadOrHeldMetric) {
  const { id, protocolId, hour, value, unit, kind, reason, status, attempts, sinceMs, collector } = metric
  return jsonForm({ id, protocolId, hour, value, unit, kind, reason, status, attempts, sinceMs, collector })
}

/** Prints dead or held metrics as a table: the newest hours, and if there are more, the words they share. */
function printDeadOrHeld({ metrics, selection }: Selected): void {
  const { state } = selection
  if (metrics.length === 0) {
    if (!isNarrow(selection)) print(`nothing is ${state}`)
    return
  }
  const newestRows = metrics.slice(-rowsMax)
  if (state === 'dead') printDead(newestRows)
  else printHeld(newestRows)
  if (newestRows.length === metrics.length) return
  print('')
  print(`${counted(metrics.length, 'metric')} ${state}, the newest ${newestRows.length} shown; --json has all. Why:`)
  printGroups(metrics)
  print(`select with ids, --hour H, or --reason TEXT, as in tidegauge ${state} ls --reason ${sampleWords(metrics)}`)
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
    instantText(metric.sinceMs),
    cut(metric.reason, wordCharsMax),
  ])
  printTable(['metric', 'hour', 'value', 'unit', 'since', 'why'], rows, ['value'])
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
  return reason
    .replace(/[\w.-]+/g, word => (word.includes('___') ? '…' : word))
    .replace(/[-\u2212]?\d[\d.,:eTZ+\u2212-]*(?<=[\dZ])/g, '…')
}

/** The longest run of plain words of the newest reason. */
function sampleWords(found: readonly DeadOrHeldMetric[]): string {
  const runs = general(found.at(-1)?.reason ?? '').match(/[\p{Letter} ]+/gu) ?? []
  const longest = runs.map(run => run.trim()).reduce((best, run) => (run.length > best.length ? run : best), '')
  return shellWord(longest)
}

function printInFull({ metrics }: Selected): void {
  const newestMetrics = metrics.slice(-inFullMax)
  for (const [index, metric] of newestMetrics.entries()) {
    if (index > 0) print('')
    for (const line of inFull(metric)) print(line)
  }
  const more = metrics.length - newestMetrics.length
  if (more > 0) note(`${counted(more, 'older one')} not shown: --hour H picks one hour, --json has all`)
}

function inFull(metric: DeadOrHeldMetric): string[] {
  const { id, hour, value, unit, kind, status, attempts, sinceMs, collector } = metric
  const facts: readonly (readonly [name: string, fact: string | undefined])[] = [
    ['value', unit === undefined ? numberText(value) : `${numberText(value)} ${unit}`],
    [metric.state, kind === 'refused' ? 'the service refused it for good' : words(metric)],
    ['status', status === undefined ? undefined : String(status)],
    ['attempts', attempts === undefined ? undefined : String(attempts)],
    ['since', instantText(sinceMs)],
    ['collector', collector],
    ['words', kind === 'refused' ? words(metric) : undefined],
    ...nextSteps(metric).map(([when, words], index) => {
      return [index === 0 ? 'next' : '', `${when}: tidegauge ${words}`] as const
    }),
  ]
  const lines = facts.flatMap(([name, fact]) => (fact === undefined ? [] : [`  ${name.padEnd(9)}  ${indented(fact)}`]))
  return [`${id}  ${hourText(hour)}`, ...lines]
}

function indented(fact: string): string {
  return fact.trim().replace(/\n/g, `\n${' '.repeat(13)}`)
}

/** The command that reads the hours of metrics again, from a repaired collector. */
function againWords(metrics: readonly Pick<DeadOrHeldMetric, 'hour' | 'collector'>[]): string {
  const hours = metrics.map(({ hour }) => hour).toSorted((a, b) => a - b)
  const [from = '', to = ''] = [hours[0], hours.at(-1)].map(hour => hour && hourText(hour))
  const collectors = [...new Set(metrics.map(({ collector }) => collector))].map(shellWord)
  return `backfill --from ${from} --to ${to} --only ${collectors.join(' ')} --overwrite`
}

function nextSteps(metric: DeadOrHeldMetric): readonly (readonly [when: string, words: string])[] {
  const { id, hour, kind, state } = metric
  const target = `${id} --hour ${hourText(hour)}`
  const giveUp = ['to give it up for ever', `${state} drop ${target}`] as const
  if (kind === 'refused') return [['once the service takes it', `dead retry ${target}`], giveUp]
  const origin = ['to see where it came from', `explain ${id} ${hourText(hour)}`] as const
  const isRight = ['if the value is right', `held release ${target}`] as const
  const isMeant = ['if the change is meant', `held release ${id} --allow-unit-change`] as const
  const repaired = `once the collector is repaired${kind === 'unit' ? '' : ', before it is released'}`
  const again = [repaired, againWords([metric])] as const
  return [origin, kind === 'unit' ? isMeant : isRight, again, giveUp]
}
