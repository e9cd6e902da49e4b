import { relative } from 'node:path'
import { hourText } from '../../model/hour.ts'
import type { Provenance } from '../../model/metric.ts'
import type { OriginBlock } from '../../outbox/contract/history.ts'
import type { Recording } from '../../testing/recording.ts'
import { asTyped, type ConfigOption } from '../configured-command.ts'
import { counted, cut, instantText, print } from '../terminal.ts'
import { decodedText } from './decoded.ts'
import type { Explanation } from './explanation.ts'
import { pricesIn } from './prices-in.ts'
import { answerWords, readWords, rpcLine } from './rpc-line.ts'

/** Characters of an option list, of a raw answer, and of an answer by HTTP. */
const [optionCharsMax, answerCharsMax] = [600, 200]
/** Width of the names of facts. */
const nameChars = 13

/** Prints an explanation for a person. */
export function printExplanation(found: Explanation, options: ConfigOption): void {
  print(headline(found))
  print('')
  for (const [name, text] of [...happened(found, options), ...origins(found)]) {
    print(`${name.padEnd(nameChars)} ${text}`)
  }
  print('')
  printAgain(found)
}

type Fact = readonly [name: string, text: string]

function headline({ id, hour, entry, origin, unread }: Explanation): string {
  const what = `${id} of ${hourText(hour)}`
  if (entry) return `${what}: ${entry.value}${entry.unit === undefined ? '' : ` ${entry.unit}`}, ${entry.state}`
  if (unread) return `${what}: no value, a backfill could not read the hour`
  if (!origin) return `${what}: no value, the hour was never expected`
  if (origin.state === 'collected') return `${what}: no value, although the hour is collected`
  return `${what}: no value, ${origin.state === 'gap' ? 'the hour is a gap' : 'the hour is not collected yet'}`
}

/** Facts about its collection and its pushes. */
function happened(found: Explanation, options: ConfigOption): Fact[] {
  const { entry, origin, detained, flushes, warnings, collector, id } = found
  const fault = origin?.fault ?? found.unread
  const attempts = origin && origin.attempts > 1 ? `, after ${counted(origin.attempts, 'attempt')}` : ''
  return [
    ...(entry ? [['collected', `${instantText(entry.collectedMs)}, by ${collector}${attempts}`] as const] : []),
    ...(entry ? [] : [['collector', `${collector}${attempts}`] as const]),
    ...attemptFacts(origin),
    ...(fault ? [['why not', `${fault.message}${fault.fix === undefined ? '' : ` → ${fault.fix}`}`] as const] : []),
    ...(entry?.earlier ?? []).map(({ value, untilMs }, place, all): Fact => {
      const next = all[place + 1]?.value ?? entry?.value
      return ['corrected', `${instantText(untilMs)}, from ${value} to ${next}`]
    }),
    ...flushes.map(({ firstMs, lastMs, flushes: count, reason }): Fact => {
      const when = count === 1 ? instantText(firstMs) : `${instantText(firstMs)} to ${instantText(lastMs)}`
      return ['not accepted', `${when}, ${counted(count, 'flush', 'flushes')}: ${cut(reason, answerCharsMax)}`]
    }),
    ...(entry?.deliveredMs === undefined
      ? []
      : [['delivered', `${instantText(entry.deliveredMs)}, the service accepted it`] as const]),
    ...(detained ? detainedFacts(detained, asTyped(`${detained.state} show ${id}`, options)) : []),
    ...(entry?.state === 'due' ? [['due', `not delivered yet: ${asTyped('status', options)}`] as const] : []),
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
  { state, reason, attempts, sinceMs }: NonNullable<Explanation['detained']>,
  command: string,
): Fact[] {
  const pushes = attempts === undefined ? '' : ` after ${counted(attempts, 'push', 'pushes')}`
  const words = state === 'dead' ? `the service answered ${reason}` : reason
  return [[state, `${instantText(sinceMs)}${pushes}: ${words} → ${command}`]]
}

/** Facts about where the value came from. */
function origins({ origin, present, configured }: Explanation): Fact[] {
  const provenance = origin?.provenance
  return [
    ...(origin?.blocks ?? []).map(block => ['block', blockText(block, provenance)] as const),
    ...(provenance ? programFacts(provenance, present) : []),
    ...(configured ? [['uses', configured.use] as const, configuredFact(configured)] : []),
    ...(configured ? [] : [['uses', 'nothing: it is no longer configured'] as const]),
  ]
}

function blockText({ chainId, block, isFinal }: OriginBlock, provenance: Provenance | undefined): string {
  const at = instantText(block.timestampSeconds * 1000)
  const host = provenance?.hosts[String(chainId)]
  const served = host === undefined ? '' : `, served by ${host}`
  return `${block.number} of chain ${chainId}, ${block.hash}, ${at}, ${isFinal ? 'final' : 'not final yet'}${served}`
}

function programFacts({ version, code, options }: Provenance, present: Explanation['present']): Fact[] {
  const since = (was: string, is: string | undefined) => {
    if (is === undefined) return was
    return was === is ? `${was}, the same now` : `${was}, now ${is}`
  }
  return [
    ['version', `tidegauge ${since(version, present?.version)}`],
    ['code', since(code, present?.code)],
    ['options', since(options, present?.options)],
  ]
}

function configuredFact({ place, options }: NonNullable<Explanation['configured']>): Fact {
  const below = relative(process.cwd(), place.file)
  const file = below.startsWith('..') ? place.file : below
  return ['configured', `${file}:${place.line}: ${cut(JSON.stringify(options) ?? '', optionCharsMax)}`]
}

function printAgain({ again, entry, origin }: Explanation): void {
  const { value, failure, reads, prices = {}, contradicted = [] } = again
  if (value === undefined) print(`not read again: ${failure ?? ''}`)
  else if (!entry) print(`read again now: ${value}`)
  else
    print(
      `read again now: ${value}, ${Object.is(value, entry.value) ? 'the same value' : `not the stored ${entry.value}`}`,
    )
  for (const sentence of contradicted) print(sentence)
  if (!reads) return
  printBlocks(reads, origin?.blocks ?? [])
  printReads(reads)
  for (const [name, { usd }, own] of pricesIn(reads, prices)) {
    const others = own ? Object.keys(own.prices) : []
    print(`price of ${name}: ${usd} USD${others.length > 0 ? `, by the price of ${others.join(', ')}` : ''}`)
    if (own) printReads(own)
  }
}

function printReads(recording: Recording): void {
  for (const [place, read] of recording.reads.entries()) {
    const [decoded, answer] = [decodedText(read), cut(answerWords(read), answerCharsMax)]
    const meaning = decoded === undefined ? ` → ${answer}` : ` = ${cut(decoded, answerCharsMax)} (${answer})`
    print(`${place + 1}. ${read.chain}: ${readWords(read)}${meaning}`)
    const request = rpcLine(read, recording)
    if (request !== undefined) print(`   ${request}`)
  }
  for (const { request, answers } of recording.http) {
    print(`${request} → ${cut(answers.map(answer => JSON.stringify(answer)).join(', '), answerCharsMax)}`)
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
