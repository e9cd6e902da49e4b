import { relative } from 'node:path'
import type { Command } from 'commander'
import { namedService } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { openExistingForListing } from '../../app/open-outbox.ts'
import type { CollectorConfig } from '../../config/config.ts'
import { Fault, type FaultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText, instantText, parseHour } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import { readingOnly } from '../../model/list-memory.ts'
import { labelOf, type MetricId, type Provenance } from '../../model/metric.ts'
import { exactText } from '../../model/number-text.ts'
import { isExpected } from '../../model/rhythm.ts'
import type { HistoryEntry, HourOrigin, OriginBlock, UnsuccessfulFlushes } from '../../outbox/contract/hours.ts'
import type { DeadOrHeldMetric, Warning } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { historyHours } from '../../status/history.ts'
import type { Recording } from '../../testing/recording.ts'
import { checkEach, startLoadMsMax } from '../check-collectors.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { presentOf } from '../diff/hour-again.ts'
import {
  answerWords,
  decodedText,
  type ListRead,
  pricesIn,
  type ReadAgain,
  readWithRecord,
  readWords,
  rpcLine,
} from '../explain/reads.ts'
import { onOutbox } from '../outbox-action.ts'
import { demandBegun, unknownMetric } from '../selection.ts'
import { printTable } from '../table.ts'
import { counted, cut, instant, print, redactor } from '../terminal.ts'

/** `explain METRIC [HOUR]`: the origin of a value, or why there is none. Ends with 1 where it is not as stored. */
export function explainCommand(): Command {
  return configuredCommand('explain')
    .description('how a value came about, enough to repeat it with another tool; or why there is none')
    .argument('<metric>', 'metric id, like awesome-vault___TVL')
    .argument('[hour]', 'a full hour, like 2026-11-20T13:00:00Z (default: the newest with a value)')
    .option('--json', 'print JSON')
    .action(
      onOutbox<ConfigOption & JsonOption, [id: string, hour?: string]>(async (call, id, hourAsked) => {
        const { context, outbox } = call
        if (!outbox) throw new Fault('usage', 'nothing was ever collected', { fix: 'tidegauge collect' })
        const hour = hourAsked === undefined ? undefined : parseHour(hourAsked)
        if (hour !== undefined) demandBegun(hour, context.time.nowMs())
        const asked = await explained(context, outbox, id as MetricId, hour)
        const explanation = await explanationOf(context, outbox, asked)
        const { entry, secondRead } = explanation
        const isOther = entry && secondRead.value !== undefined && !isSame(secondRead, entry)
        return {
          json: () => explanationJson(explanation),
          text: () => printExplanation(explanation),
          isIncomplete: isOther || !entry,
        }
      }, openExistingForListing),
    )
}

/** @throws Fault `usage` for a metric that no collector gives */
async function explained(
  context: AppContext,
  outbox: Pick<Outbox, 'operators'>,
  id: MetricId,
  hourWanted: Hour | undefined,
): Promise<Explained> {
  const { operators } = outbox
  const current = hourAt(context.time.nowMs())
  const to = hourWanted ?? current
  const known = await operators.history(id, hourAfter(to, -historyHours), to)
  const latest = known.at(-1) ?? (await operators.history(id, current, current))[0]
  const protocolId = context.config.protocols.find(one => id.startsWith(`${one.id}___`))?.id ?? latest?.protocolId
  const collector = latest?.collector ?? (protocolId && (await collectorOf(context, id, protocolId)))
  if (protocolId === undefined || !collector) {
    throw await unknownMetric(`no metric is called "${id}"`, id, { context, outbox })
  }
  return { id, protocolId, collector, hour: hourWanted ?? latest?.hour ?? current }
}

/** The configured collector that declares a metric which has no value yet. */
async function collectorOf(context: AppContext, id: MetricId, protocolId: string): Promise<string | undefined> {
  const own = context.config.protocols.find(one => one.id === protocolId)?.collectors ?? []
  const { usable } = await checkEach(own, context, startLoadMsMax)
  return usable.find(({ description }) => labelOf({ id, protocolId }) in description.metrics)?.collector.id
}

/** All that is known of a metric of an hour. */
interface Explanation {
  readonly id: MetricId
  readonly hour: Hour
  /** Id of its collector. */
  readonly collector: string
  /** Absent where it has no value. */
  readonly entry?: HistoryEntry
  /** Absent where the hour was never expected. */
  readonly origin?: HourOrigin
  /** Why a backfill could not read the hour; absent where the hour is expected, or none tried. */
  readonly unread?: FaultRecord
  /** Why it waits for a person; absent where it does not. */
  readonly detention?: DeadOrHeldMetric
  /** Entry of the configuration; absent where the collector was removed. */
  readonly collectorConfig?: CollectorConfig
  /** Provenance that a run now would have; absent where the collector was removed. */
  readonly present?: Omit<Provenance, 'hosts'>
  /** Flushes that left metrics over between its collection and its delivery. */
  readonly flushes: readonly UnsuccessfulFlushes[]
  /** Remarks of the service on this metric id. */
  readonly warnings: readonly Warning[]
  readonly secondRead: ReadAgain
}

/** The metric that is explained. */
interface Explained {
  readonly id: MetricId
  readonly protocolId: string
  readonly hour: Hour
  readonly collector: string
}

/** Gathers what is known of a metric of an hour, and reads it again. */
async function explanationOf(
  context: AppContext,
  { operators, intake, lists }: Pick<Outbox, 'operators' | 'intake' | 'lists'>,
  { id, protocolId, hour, collector }: Explained,
): Promise<Explanation> {
  const { config } = context
  const collectorConfig = config.protocols.flatMap(({ collectors }) => collectors).find(one => one.id === collector)
  const [entry] = await operators.history(id, hour, hour)
  const origin = await operators.origin(collector, hour)
  const [range] = origin ? [] : await operators.hourRanges('unread', { collectors: [collector], from: hour, to: hour })
  const state = entry?.state
  const isDetained = state === 'dead' || state === 'held'
  const detention = isDetained ? (await operators.deadOrHeld({ state, ids: [id], hour }))[0] : undefined
  const secondRead = collectorConfig
    ? await readWithRecord(context, collectorConfig, hour, labelOf({ id, protocolId }), intake, readingOnly(lists))
    : { failure: 'its collector is no longer configured' }
  return {
    id,
    hour,
    collector,
    ...(entry && { entry }),
    ...(origin && { origin }),
    ...(range?.fault && { unread: range.fault }),
    ...(detention && { detention }),
    ...(collectorConfig && { collectorConfig, present: presentOf(collectorConfig) }),
    flushes: entry ? await flushesOf(context, operators, protocolId, entry) : [],
    warnings: (await operators.warnings()).filter(({ metricId }) => metricId === id),
    secondRead,
  }
}

async function flushesOf(
  { config, time }: AppContext,
  operators: OperatorStore,
  protocolId: string,
  { collectedMs, deliveredMs }: HistoryEntry,
): Promise<readonly UnsuccessfulFlushes[]> {
  const { destinations } = namedService(config)
  const own = destinations.find(({ protocols }) => protocols.some(({ id }) => id === protocolId))
  return own ? operators.unsuccessfulFlushes(own.name, collectedMs, deliveredMs ?? time.nowMs()) : []
}

/** An explanation as JSON: instants as text, blocks by number. Fields that are undefined are not printed. */
function explanationJson(explanation: Explanation) {
  const { id, hour, collector, entry, origin, detention, collectorConfig, flushes, warnings } = explanation
  return {
    id,
    hour: hourText(hour),
    collector,
    state: entry?.state ?? origin?.state ?? 'unexpected',
    value: entry?.value,
    unit: entry?.unit,
    collected: instant(entry?.collectedMs),
    delivered: instant(entry?.deliveredMs),
    corrections: entry?.earlier.map(({ value, untilMs }) => ({ from: value, at: instant(untilMs) })),
    reason: detention?.reason,
    since: instant(detention?.sinceMs),
    status: detention?.status,
    pushes: detention?.attempts,
    attempts: origin?.attempts,
    failedAttempts: origin?.failed.map(({ atMs, reason }) => ({ at: instant(atMs), reason: redactor.redact(reason) })),
    fault: origin?.fault ?? explanation.unread,
    blocks: blocksJson(origin),
    provenance: origin?.provenance,
    present: explanation.present,
    configuration: collectorConfig && {
      file: collectorConfig.place.file,
      line: collectorConfig.place.line,
      use: collectorConfig.use,
      options: collectorConfig.options,
    },
    notAccepted: flushes.map(({ firstMs, lastMs, flushes: count, reason }) => ({
      from: instant(firstMs),
      to: instant(lastMs),
      flushes: count,
      reason: redactor.redact(reason),
    })),
    warnings: warnings.map(({ kind, text, count }) => ({ kind, text, count })),
    again: againJson(explanation),
  }
}

function blocksJson(origin: Explanation['origin']) {
  return (origin?.blocks ?? []).map(({ chainId, block, isFinal }) => ({
    chainId,
    number: Number(block.number),
    hash: block.hash,
    timestamp: instant(block.timestampSeconds * 1000),
    isFinal,
    host: origin?.provenance?.hosts[String(chainId)],
  }))
}

function isSame({ value, unit }: ReadAgain, entry: HistoryEntry): boolean {
  return Object.is(value, entry.value) && unit === entry.unit
}

function againJson({ secondRead, entry }: Explanation) {
  const { value, failure, contradictions, inputs, warnings, lists, reads, prices = {} } = secondRead
  return {
    value,
    isSame: value === undefined || !entry ? undefined : isSame(secondRead, entry),
    failure,
    contradicted: contradictions,
    inputs: inputs?.map(({ metric, hour, input }) => ({ metric, hour: hourText(hour), ...input })),
    warnings,
    lists,
    ...(reads && {
      ...readsJson(reads),
      prices: Object.fromEntries(pricesIn(reads, prices).map(([name, price, own]) => [name, priceJson(price, own)])),
    }),
  }
}

function priceJson(price: Recording['prices'][string], own: Recording | undefined) {
  return { ...price, ...(own && { ...readsJson(own), prices: Object.keys(own.prices) }) }
}

function readsJson(recording: Recording) {
  const reads = recording.reads.map(recordedRead => {
    const request = rpcLine(recordedRead, recording)
    return {
      chain: recordedRead.chain,
      what: readWords(recordedRead),
      answer: answerWords(recordedRead),
      decoded: decodedText(recordedRead),
      logs: 'logs' in recordedRead ? recordedRead.answer : undefined,
      request: request === undefined ? undefined : jsonOf(request),
    }
  })
  return { reads, http: recording.http }
}

/** Characters of an option list, of a raw answer, and of an answer by HTTP. */
const [optionCharsMax, answerCharsMax] = [600, 200]
/** Width of the names of facts. */
const nameChars = 13

function printExplanation(explanation: Explanation): void {
  print(headline(explanation))
  print('')
  for (const [name, text] of [...happened(explanation), ...origins(explanation)]) {
    if (text !== undefined) print(`${name.padEnd(nameChars)} ${text}`)
  }
  print('')
  printAgain(explanation)
}

/** A fact that is not known has no text. */
type Fact = readonly [name: string, text: string | undefined]

function headline({ id, hour, entry, origin, unread: backfillFault }: Explanation): string {
  const subject = `${id} of ${hourText(hour)}`
  if (entry)
    return `${subject}: ${exactText(entry.value)}${entry.unit === undefined ? '' : ` ${entry.unit}`}, ${entry.state}`
  if (backfillFault) {
    const isInputMissing = backfillFault.code === 'input-missing' || backfillFault.code === 'window-incomplete'
    return `${subject}: no value, a backfill ${isInputMissing ? 'had not all inputs of the hour' : 'could not read the hour'}`
  }
  if (!origin) return `${subject}: no value, the hour was never expected`
  if (origin.state === 'collected') return `${subject}: no value, although the hour is collected`
  return `${subject}: no value, ${origin.state === 'gap' ? 'the hour is a gap' : 'the hour is not collected yet'}`
}

function happened(found: Explanation): Fact[] {
  const { entry, origin, detention, flushes, warnings, collector, id } = found
  const fault = origin?.fault ?? found.unread
  const attempts = origin && origin.attempts > 1 ? `, after ${counted(origin.attempts, 'attempt')}` : ''
  const deliveredMs = entry?.deliveredMs
  return [
    ['collected', entry && `${instantText(entry.collectedMs)}, by ${collector}${attempts}`],
    ['collector', entry ? undefined : `${collector}${attempts}`],
    ...attemptFacts(origin),
    ['why not', fault && `${fault.message}${fault.fix === undefined ? '' : ` → ${fault.fix}`}`],
    ...(entry?.earlier ?? []).map(({ value, untilMs }, place, all): Fact => {
      const next = all[place + 1]?.value ?? entry?.value
      const to = next === undefined ? 'none' : exactText(next)
      return ['corrected', `${instantText(untilMs)}, from ${exactText(value)} to ${to}`]
    }),
    ...flushes.map(({ firstMs, lastMs, flushes: count, reason }): Fact => {
      const when = count === 1 ? instantText(firstMs) : `${instantText(firstMs)} to ${instantText(lastMs)}`
      return ['not accepted', `${when}, ${counted(count, 'flush', 'flushes')}: ${cut(reason, answerCharsMax)}`]
    }),
    ['delivered', deliveredMs === undefined ? undefined : `${instantText(deliveredMs)}, the service accepted it`],
    ...(detention ? detainedFacts(detention, `tidegauge ${detention.state} show ${id}`) : []),
    ['due', entry?.state === 'due' ? 'not delivered yet: tidegauge status' : undefined],
    ['private', entry?.state === 'private' ? 'kept for other values, and not sent' : undefined],
    ...warnings.map(({ text, count }): Fact => ['warning', `${counted(count, 'time')}: ${cut(text, answerCharsMax)}`]),
  ]
}

/** Failed attempts at collecting the hour, but for one whose fault is shown as the reason why there is no value. */
function attemptFacts(origin: Explanation['origin']): Fact[] {
  const failed = origin?.failed ?? []
  const shown = origin?.state === 'due' && origin.fault ? failed.slice(0, -1) : failed
  return shown.map(({ atMs, reason }) => ['attempt', `${instantText(atMs)}, failed: ${reason}`])
}

function detainedFacts(
  { state, reason, attempts, sinceMs }: NonNullable<Explanation['detention']>,
  command: string,
): Fact[] {
  const pushes = attempts === undefined ? '' : ` after ${counted(attempts, 'push', 'pushes')}`
  const words = state === 'dead' ? `the service answered ${reason}` : reason
  return [[state, `${instantText(sinceMs)}${pushes}: ${words} → ${command}`]]
}

/** Facts about where the value came from. */
function origins({ origin, present: currentProvenance, collectorConfig }: Explanation): Fact[] {
  const provenance = origin?.provenance
  return [
    ...(origin?.blocks ?? []).map((block): Fact => ['block', blockText(block, provenance)]),
    ...(provenance ? programFacts(provenance, currentProvenance) : []),
    ['uses', collectorConfig ? collectorConfig.use : 'nothing: it is no longer configured'],
    ['configured', collectorConfig && configuredText(collectorConfig)],
  ]
}

function blockText({ chainId, block, isFinal }: OriginBlock, provenance: Provenance | undefined): string {
  const timeText = instantText(block.timestampSeconds * 1000)
  const host = provenance?.hosts[String(chainId)]
  const served = host === undefined ? '' : `, served by ${host}`
  return `${block.number} of chain ${chainId}, ${block.hash}, ${timeText}, ${isFinal ? 'final' : 'not final yet'}${served}`
}

function programFacts({ version, code, options }: Provenance, currentProvenance: Explanation['present']): Fact[] {
  const since = (was: string, is: string | undefined) => {
    if (is === undefined) return was
    return was === is ? `${was}, the same now` : `${was}, now ${is}`
  }
  return [
    ['version', `tidegauge ${since(version, currentProvenance?.version)}`],
    ['code', since(code, currentProvenance?.code)],
    ['options', since(options, currentProvenance?.options)],
  ]
}

function configuredText({ place, options }: CollectorConfig): string {
  const below = relative(process.cwd(), place.file)
  const file = below.startsWith('..') ? place.file : below
  return `${file}:${place.line}: ${cut(JSON.stringify(options) ?? '', optionCharsMax)}`
}

function printAgain({ secondRead, entry, origin, collectorConfig, hour }: Explanation): void {
  const { value, failure, reads, prices = {}, contradictions = [], inputs = [], warnings = [], lists = [] } = secondRead
  if (value === undefined) print(`not read again: ${failure ?? ''}`)
  else if (!entry) {
    // Reading it now stores nothing, and no daemon takes up an hour that is not expected.
    const isFillable = !origin && collectorConfig && isExpected(collectorConfig, hour)
    const fill = isFillable ? ` → tidegauge backfill --from ${hourText(hour)} --to ${hourText(hour)}` : ''
    print(`read again now: ${exactText(value)}${fill}`)
  } else {
    const { unit } = secondRead
    const words = (number: number, name = 'without a unit') =>
      `${exactText(number)}${unit === entry.unit ? '' : ` ${name}`}`
    const comparison = isSame(secondRead, entry) ? 'the same value' : `not the stored ${words(entry.value, entry.unit)}`
    print(`read again now: ${words(value, unit)}, ${comparison}`)
  }
  for (const sentence of contradictions) print(sentence)
  if (inputs.length > 0) {
    const rows = inputs.map(({ metric, hour, input }) => [
      hourText(hour),
      metric,
      'value' in input ? exactText(input.value) : input.lacks,
    ])
    printTable(['hour', 'computed from', 'value'], rows, ['value'])
  }
  for (const warning of warnings) print(`warning: ${warning}`)
  for (const list of lists) print(listText(list))
  if (!reads) return
  printBlocks(reads, origin?.blocks ?? [])
  printReads(reads)
  for (const [name, { usd }, priceReads] of pricesIn(reads, prices)) {
    const others = priceReads ? Object.keys(priceReads.prices) : []
    print(`price of ${name}: ${usd} USD${others.length > 0 ? `, by the price of ${others.join(', ')}` : ''}`)
    if (priceReads) printReads(priceReads)
  }
}

/** `list pairs (length) at block 12 of ethereum: 40 items, 1 of them new in this hour: 0x…` */
function listText({ name, kind, chain, block, items, added }: ListRead): string {
  const addresses = cut((added ?? []).join(', '), answerCharsMax)
  const isNew = added === undefined ? '' : `, ${added.length} of them new in this hour`
  return `list ${name} (${kind}) at block ${block} of ${chain}: ${counted(items, 'item')}${isNew}${addresses && `: ${addresses}`}`
}

function printReads(recording: Recording): void {
  for (const [place, recordedRead] of recording.reads.entries()) {
    const [decoded, answer] = [decodedText(recordedRead), cut(answerWords(recordedRead), answerCharsMax)]
    const meaning = decoded === undefined ? ` → ${answer}` : ` = ${cut(decoded, answerCharsMax)} (${answer})`
    print(`${place + 1}. ${recordedRead.chain}: ${readWords(recordedRead)}${meaning}`)
    const request = rpcLine(recordedRead, recording)
    if (request !== undefined) print(`   ${request}`)
  }
  for (const { request, body, answers } of recording.http) {
    print(`${request} → ${cut(answers.map(answer => JSON.stringify(answer)).join(', '), answerCharsMax)}`)
    if (body !== undefined) print(`   ${typeof body === 'string' ? body : JSON.stringify(body)}`)
  }
}

/** Reports a block that is not the one that the stored values were read at. */
function printBlocks({ chains }: Recording, stored: readonly OriginBlock[]): void {
  for (const { id, blocks } of Object.values(chains)) {
    const was = stored.find(({ chainId }) => chainId === id)
    const hashes = Object.values(blocks).map(({ hash }) => hash.toLowerCase())
    if (was && !hashes.includes(was.block.hash.toLowerCase()))
      print(`it was read at another block of chain ${id} now: a reorg replaced it`)
  }
}
