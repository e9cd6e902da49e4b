import type { Abi, AbiEvent, AbiFunction, AbiParameter } from 'viem'
import {
  decodeAbiParameters,
  decodeErrorResult,
  decodeEventLog,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionData,
  formatAbiParams,
  getAbiItem,
  toEventSelector,
} from 'viem/utils'
import { decimalsReader } from '../../../collectors/values/decimals.ts'
import type { RawLog } from '../../chain/log-list.ts'
import type { RawReads, ReadAnswer, ReadRequest } from '../../chain/reads.ts'
import type { Hex, LogFilter } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, parseHour } from '../../model/hour.ts'
import { firstChars, shortened } from '../../model/text.ts'
import { collectorTextCharsMax } from '../messages.ts'
import type { ChainAsOf, EventLog } from './typed/chain-as-of.ts'

/**
 * A chain as a collector sees it in one run: encodes by ABI, reads, decodes. Runs in the collector's thread; `reader`
 * sends the raw reads to the daemon.
 *
 * @param signal aborted at the run's deadline
 * @param chain name of the chain in the configuration
 * @param isNamed whether reads carry the names of their functions, for a recording
 */
export function chainAsOf(
  reader: RawReads,
  hour: Hour,
  signal: AbortSignal,
  chain: string,
  isNamed = false,
): ChainAsOf {
  const ask = async (requests: readonly ReadRequest[]) => {
    const answers = await reader.read(hour, requests, signal)
    if (answers.length === requests.length) return answers
    throw new Fault('chain-unreachable', `a read of ${chain} was answered in part`, { facts: { chain } })
  }

  async function read(callOrCalls: unknown, options: object = {}): Promise<unknown> {
    const calls = (Array.isArray(callOrCalls) ? callOrCalls : [callOrCalls]) as readonly TypedCall[]
    const answers = await ask(calls.map(call => encoded(chain, call, isNamed)))
    const decode = (answer: ReadAnswer, index: number) => decoded(chain, calls[index], answer)
    if (isPartialIn(options)) return answers.map((answer, index) => settled(() => decode(answer, index)))
    const values = answers.map(decode)
    return Array.isArray(callOrCalls) ? values : values[0]
  }

  const decimalsOf = decimalsReader({ read: read as ChainAsOf['read'] })
  return {
    block: () => reader.block(hour, signal),
    // Typed by the ABI of the calls, as they are decoded.
    read: read as ChainAsOf['read'],
    async call({ to, data, from }) {
      const sender = from === undefined ? { kind: 'call' as const } : { kind: 'call-from' as const, from }
      const [answer] = await ask([{ ...sender, to, input: data }])
      if (answer?.kind === 'returned') return answer.output
      throw reverted(chain, { address: to, abi: [], functionName: data.slice(0, 10) }, answer?.output ?? '0x')
    },
    async storage(address, slot) {
      const [answer] = await ask([{ kind: 'storage', address, slot: typeof slot === 'bigint' ? slotOf(slot) : slot }])
      if (answer?.kind === 'returned') return answer.output
      throw new Fault('chain-unreachable', `a storage slot of ${address} was not answered`, { facts: { chain } })
    },
    async balance(owner) {
      const [answer] = await ask([{ kind: 'balance', address: owner }])
      if (answer?.kind === 'returned') return BigInt(answer.output)
      throw new Fault('chain-unreachable', `the balance of ${owner} was not answered`, { facts: { chain } })
    },
    decimals: tokens => Promise.all(tokens.map(token => decimalsOf(token))),
    // Typed by the events of the filter, as they are decoded.
    logs: ((filter: EventFilter) =>
      typedLogs(filter, raw => reader.logs(hour, raw, signal), chain)) as ChainAsOf['logs'],
    logsSince: ((since: string | number, filter: EventFilter) =>
      typedLogs(filter, raw => reader.logs(hour, raw, signal, sinceOf(since)), chain)) as ChainAsOf['logsSince'],
  }
}

/** @throws Fault for what is neither a number nor the text of a full hour: without an hour, those of the run's hour would be read */
function sinceOf(since: unknown): Hour {
  if (typeof since === 'number') return since as Hour
  try {
    return parseHour(String(since))
  } catch (error) {
    const { fix } = error as Fault
    throw new Fault('collector-threw', `logsSince: ${shortMessage(error)}`, { ...(fix !== undefined && { fix }) })
  }
}

function encoded(chain: string, call: TypedCall, isNamed: boolean): ReadRequest {
  try {
    const { address: to, from } = call
    const input = encodedInput(call)
    const request =
      from === undefined ? { kind: 'call' as const, to, input } : { kind: 'call-from' as const, from, to, input }
    return isNamed ? { ...request, ...wordsOf(call) } : request
  } catch (error) {
    throw new Fault('collector-threw', `${call.functionName} cannot be called: ${shortMessage(error)}`, {
      facts: factsOf(chain, call),
      fix: 'correct the ABI, the function name or the arguments in the collector',
    })
  }
}

function wordsOf(call: TypedCall): { readonly name: string; readonly returns?: string } {
  const { functionName, args = [] } = call
  const name = firstChars(`${functionName}(${args.map(textOf).join(', ')})`, collectorTextCharsMax)
  const returns = returnsText(call)
  // Cut types could not be parsed.
  return returns === undefined || returns.length > collectorTextCharsMax ? { name } : { name, returns }
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.values(value).map(textOf).join(', ')
  return Array.isArray(value) ? `[${parts}]` : `(${parts})`
}

function decoded(chain: string, call: TypedCall | undefined, answer: ReadAnswer): unknown {
  if (!call) throw new Fault('chain-unreachable', `a read of ${chain} was answered twice`, { facts: { chain } })
  if (answer.kind === 'reverted') throw reverted(chain, call, answer.output)
  try {
    return decodedValue(call, answer.output)
  } catch (error) {
    throw undecodable(chain, call, answer.output, error)
  }
}

function reverted(chain: string, call: TypedCall, output: Hex): Fault {
  return new Fault('chain-call-reverted', `${call.functionName} reverted: ${revertReason(call.abi, output)}`, {
    facts: factsOf(chain, call),
    fix:
      output === '0x'
        ? 'check that the contract has such a function, then the arguments, and that it can answer this at that hour'
        : 'check the arguments, and that the contract can answer this at that hour',
  })
}

/** A value or the reason why there is none, in the form of viem's `multicall`. */
function settled(value: () => unknown) {
  try {
    return { status: 'success', result: value() }
  } catch (error) {
    return { status: 'failure', error }
  }
}

/** Whether a list is read in parts. @throws Fault for an unknown option, which would be ignored */
function isPartialIn({ partial = false, ...others }: { readonly partial?: boolean }): boolean {
  const [unknown] = Object.keys(others)
  if (unknown === undefined) return partial
  throw new Fault('collector-threw', `read has no option ${firstChars(unknown, 40)}`, { fix: 'its option is partial' })
}

/** A slot's number as 32 bytes. */
function slotOf(number: bigint): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`
}

function undecodable(chain: string, call: TypedCall, output: Hex, error: unknown): Fault {
  const facts = factsOf(chain, call)
  if (output === '0x') {
    return new Fault(
      'chain-call-undecodable',
      `${call.functionName} returned nothing: no contract there at that hour?`,
      {
        facts,
        fix: 'check address and chain; for hours before the contract was deployed, set since: of the collector',
      },
    )
  }
  const bytes = `${(output.length - 2) / 2} bytes its ABI does not describe`
  const what = error instanceof UnfitWord ? error.message : bytes
  return new Fault('chain-call-undecodable', `${call.functionName} returned ${what}`, {
    facts,
    fix: 'check that address and ABI belong together',
  })
}

function factsOf(chain: string, { address, functionName }: TypedCall): Record<string, string> {
  return { chain, contract: String(address), function: String(functionName) }
}

/** viem's message without its links and version. */
function shortMessage(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given'
  const { shortMessage } = error as Error & { shortMessage?: string }
  return (shortMessage ?? error.message).replace(/\s+/g, ' ')
}

type ErrorAbi = NonNullable<Parameters<typeof decodeErrorResult>[0]['abi']>

/** Panic codes of Solidity (https://docs.soliditylang.org/en/latest/control-structures.html). */
const panicReasons: Readonly<Record<string, string>> = {
  '1': 'an assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'conversion to an enum value that does not exist',
  '34': 'a badly encoded storage array',
  '49': 'pop of an empty array',
  '50': 'an array index out of bounds',
  '65': 'too much memory',
  '81': 'a call of a function that was not set',
}

const reasonCharsMax = 200

/** Why a call reverted: the reason string, the panic, or the custom error of the ABI with its arguments. */
function revertReason(abi: ErrorAbi, output: Hex): string {
  if (output === '0x') return 'it gave no reason'
  try {
    const { errorName, args } = decodeErrorResult<ErrorAbi>({ abi, data: output })
    if (errorName === 'Error') return shortened(`"${args?.[0]}"`, reasonCharsMax)
    if (errorName === 'Panic') return panicReasons[String(args?.[0])] ?? `panic ${args?.[0]}`
    return shortened(`${errorName}(${(args ?? []).map(text).join(', ')})`, reasonCharsMax)
  } catch {
    return `an error its ABI does not describe, ${output.slice(0, 10)}`
  }
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)).replaceAll(
    '"',
    '',
  )
}

/** A call of a contract's function, with its ABI. */
export interface TypedCall {
  readonly address: Hex
  readonly abi: Abi
  readonly functionName: string
  readonly args?: readonly unknown[]
  /** The `msg.sender` that the contract sees. Default: Multicall3. */
  readonly from?: Hex | undefined
}

/** Call data, as viem's `encodeFunctionData` encodes them. @throws errors of viem */
export function encodedInput({ abi, functionName, args }: TypedCall): Hex {
  return encodeFunctionData({ abi, functionName, ...(args && { args }) })
}

/**
 * The value, as viem's `decodeFunctionResult` decodes it.
 *
 * @throws UnfitWord; errors of viem
 */
export function decodedValue(call: TypedCall, output: Hex): unknown {
  const { abi, functionName, args } = call
  const outputs = outputsOf(call)
  try {
    const value = decodeFunctionResult<Abi>({ abi, functionName, data: output, ...(args && { args }) })
    checkWords(outputs, output)
    return value
  } catch (error) {
    // viem refuses a bool of 2 without its bytes.
    throw unfitWordIn(outputs, output) ?? error
  }
}

function unfitWordIn(outputs: readonly AbiParameter[], output: Hex): UnfitWord | undefined {
  try {
    checkWords(outputs, output)
    return undefined
  } catch (error) {
    return error instanceof UnfitWord ? error : undefined
  }
}

/** Types and names of what the function returns: `uint256 supply, bool isPaused`. Undefined where it returns nothing. */
export function returnsText(call: TypedCall): string | undefined {
  const outputs = outputsOf(call)
  return outputs.length > 0 ? formatAbiParams(outputs, { includeName: true }) : undefined
}

/** Outputs of the function; none where the ABI lacks it. */
function outputsOf({ abi, functionName, args = [] }: TypedCall): AbiFunction['outputs'] {
  const item = getAbiItem<Abi, string>({ abi, name: functionName, args })
  return item?.type === 'function' ? item.outputs : []
}

/**
 * Checks that each word of encoded values fits its type: of a `uint8` of 511, and of an address with more than 20
 * bytes, viem would drop what is too much.
 *
 * @throws UnfitWord; errors of viem
 */
function checkWords(parameters: readonly AbiParameter[], data: Hex): void {
  if (parameters.every(isWide)) return
  const words = decodeAbiParameters(parameters.map(asWords), data)
  for (const [place, parameter] of parameters.entries()) checkPart(parameter, words[place])
}

const fixedSize = /^(u?int\d*|address|bool|bytes\d+)(?=$|\[)/

/** Whether any bytes fit the type. */
function isWide({ type }: AbiParameter): boolean {
  return /^(u?int(256)?|bytes(32)?|string)(\[|$)/.test(type)
}

/** The same parameter with each value of a fixed size as the 32 bytes that it is in, and each tuple as a list. */
function asWords(parameter: AbiParameter): AbiParameter {
  const type = parameter.type.replace(fixedSize, 'bytes32')
  const components = 'components' in parameter ? { components: parameter.components.map(asWords) } : {}
  return { type, name: '', ...components }
}

function checkPart(parameter: AbiParameter, value: unknown): void {
  const item = /^(.*)\[\d*\]$/.exec(parameter.type)?.[1]
  if (!Array.isArray(value)) checkWord(parameter.type, value as Hex)
  else
    for (const [place, part] of value.entries()) {
      if (item !== undefined) checkPart({ ...parameter, type: item }, part)
      else if ('components' in parameter && parameter.components[place]) checkPart(parameter.components[place], part)
    }
}

function checkWord(type: string, word: Hex): void {
  if (!wordFits(type, word)) throw new UnfitWord(`${word.replace(/^0x0+(?=.)/, '0x')}, which is no ${type}`)
}

/** Error of a word that does not fit its type; the message begins with the word. */
class UnfitWord extends Error {}

function wordFits(type: string, word: Hex): boolean {
  const [, kind = '', size] = fixedForm.exec(type) ?? []
  const bits = Number(size ?? { address: 160, bool: 1 }[kind] ?? 256)
  if (kind === '' || bits === 256) return true
  if (kind === 'bytes') return /^0*$/.test(word.slice(2 + 2 * bits))
  const value = BigInt(word)
  return kind === 'int' ? BigInt.asIntN(bits, value) === BigInt.asIntN(256, value) : value >> BigInt(bits) === 0n
}

const fixedForm = /^(u?int|address|bool|bytes(?=\d))(\d+)?$/

/** Logs of one event, which may be selected by its indexed arguments, or of several. */
type EventFilter = { readonly address: Hex | readonly Hex[] } & (
  | { readonly event: AbiEvent; readonly args?: unknown; readonly events?: never }
  | { readonly events: readonly AbiEvent[]; readonly event?: never; readonly args?: never }
)

/**
 * Decodes logs of one or more events. Logs with the signature of an event but another number of topics are of another
 * event (an ERC-721 `Transfer` instead of an ERC-20 one). They are left out if others of that contract and signature
 * fit; if none does, the ABI is wrong for that contract. An anonymous event has no signature: its logs are those whose
 * topics fit its arguments.
 *
 * @param chain name for the message of a Fault
 * @throws Fault `chain-call-undecodable`, or `collector-threw` for a wrong filter
 */
async function typedLogs(
  filter: EventFilter,
  readLogs: (filter: LogFilter) => Promise<Iterable<RawLog>>,
  chain: string,
): Promise<readonly EventLog<AbiEvent>[]> {
  const logFilter = rawFilter(filter)
  if (filter.event?.anonymous) return anonymousLogs(chain, filter.event, await readLogs(logFilter))
  const events = (filter.events ?? [filter.event]).map(event => ({ event, signature: toEventSelector(event) }))
  const logs: EventLog<AbiEvent>[] = []
  const fittingSources = new Set<string>()
  const unfitLogs = new Map<string, RawLog>()
  for (const log of await readLogs(logFilter)) {
    const [signature] = log.topics
    const source = `${log.address.toLowerCase()} ${signature}`
    const known = events.find(one => one.signature === signature && topicsOf(one.event) === log.topics.length)
    if (known) {
      logs.push(typedLog(chain, known.event, log))
      fittingSources.add(source)
    } else if (!unfitLogs.has(source)) unfitLogs.set(source, log)
  }
  for (const [source, log] of unfitLogs) {
    const wrong = events.find(one => one.signature === log.topics[0])
    if (wrong && !fittingSources.has(source)) throw undecodableLog(chain, wrong.event, log)
  }
  return logs
}

function rawFilter({ address, event, args, events }: EventFilter): LogFilter {
  if ((event === undefined) === (events === undefined) || events?.length === 0) {
    throw wrongFilter('has one event, or a list of events', 'write { address, event } or { address, events: [a, b] }')
  }
  if (events) {
    if (events.some(({ anonymous }) => anonymous))
      throw wrongFilter('has an anonymous event among several', 'read that event alone')
    if (args !== undefined)
      throw wrongFilter('has args of several events', 'read that event alone, or compare its args')
    return { address, topics: [[...new Set(events.map(toEventSelector))]] }
  }
  const abi: readonly [AbiEvent] = [event]
  const indexed = args as readonly unknown[] | Record<string, unknown> | undefined
  requireSelective(event, indexed ?? [])
  const topics = encodeEventTopics({ abi, eventName: event.name, ...(indexed && { args: indexed }) })
  const [first] = indexedOf(event)
  if (event.anonymous && first && !topics[0] && !narrow.test(first.type)) {
    throw wrongFilter(
      `cannot tell the anonymous ${event.name} from other events: its first topic may be any 32 bytes, like a signature`,
      `select it by args: { ${first.name || 'first'}: … }`,
    )
  }
  return { address, topics }
}

/** @throws Fault for args that would select nothing: an unknown name is left out of topics, and an empty list in them is any value */
function requireSelective(event: AbiEvent, args: readonly unknown[] | Record<string, unknown>): void {
  const names = indexedOf(event).map(({ name }, place) => (Array.isArray(args) ? String(place) : name))
  for (const [name, value] of Object.entries(args)) {
    const place = names.indexOf(name)
    if (place === -1)
      throw wrongFilter(
        `has args of ${name}, which is no indexed argument of ${event.name}`,
        'compare the args of each log',
      )
    if (Array.isArray(value) && value.length === 0)
      throw wrongFilter(`has no value for ${indexedOf(event)[place]?.name}`, 'ask only where there are values')
  }
}

/** Types whose 32 bytes are never those of a signature: some of them are always the same. */
const narrow = /^(address|bool|bytes([1-9]|1\d|2[0-8])|u?int([1-9]\d?|1\d\d|2[01]\d|22[0-4]))$/

/** Types that are a topic as they are; of the others it is the hash. */
const ownTopic = /^(address|bool|bytes\d+|u?int\d+)$/

/** Logs of an anonymous event. Where all logs with its topics have other data, the ABI is wrong. */
function anonymousLogs(chain: string, event: AbiEvent, logs: Iterable<RawLog>): EventLog<AbiEvent>[] {
  const typedLogs: EventLog<AbiEvent>[] = []
  let firstFault: Fault | undefined
  for (const log of logs) {
    if (!hasTopics(event, log)) continue
    try {
      typedLogs.push(typedLog(chain, event, log))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      firstFault ??= error
    }
  }
  if (firstFault && typedLogs.length === 0) throw firstFault
  return typedLogs
}

/** Whether the topics of a log are values of the types of the event's indexed arguments. */
function hasTopics(event: AbiEvent, { topics }: RawLog): boolean {
  const indexed = indexedOf(event)
  if (topics.length !== indexed.length) return false
  return indexed.every((input, index) => {
    const topic = topics[index]
    return topic !== undefined && (!ownTopic.test(input.type) || isValue(input, topic))
  })
}

/** Whether a word is a value of a type, with nothing in the bytes that the type does not use. */
function isValue(input: AbiEvent['inputs'][number], word: Hex): boolean {
  try {
    return encodeAbiParameters([input], decodeAbiParameters([input], word)) === word.toLowerCase()
  } catch {
    return false
  }
}

function wrongFilter(what: string, fix: string): Fault {
  return new Fault('collector-threw', `logs ${what}`, { fix })
}

/** One topic for each indexed argument, and one for the signature unless the event is anonymous. */
function topicsOf(event: AbiEvent): number {
  return indexedOf(event).length + (event.anonymous ? 0 : 1)
}

function indexedOf({ inputs }: AbiEvent): AbiEvent['inputs'] {
  return inputs.filter(({ indexed }) => indexed)
}

function typedLog(chain: string, event: AbiEvent, log: RawLog): EventLog<AbiEvent> {
  const { address, topics, data, blockNumber, logIndex, transactionHash } = log
  const indexedTopics = event.anonymous ? topics : topics.slice(1)
  try {
    const topicTypes = indexedOf(event).map(({ type }) => ({ type: ownTopic.test(type) ? type : 'bytes32' }))
    checkWords(topicTypes, `0x${indexedTopics.map(topic => topic.slice(2)).join('')}`)
    const unindexed = event.inputs.filter(({ indexed }) => !indexed)
    checkWords(unindexed, data)
    const abi: readonly [AbiEvent] = [event]
    const { args } = decodeEventLog({ abi, data, topics: [toEventSelector(event), ...indexedTopics] })
    if (event.anonymous && !isWhole(event, data)) throw new Error('it has other data')
    const decoded = { eventName: event.name, args, address, blockNumber, logIndex, transactionHash }
    return decoded as EventLog<AbiEvent>
  } catch {
    throw undecodableLog(chain, event, log)
  }
}

/** Whether data have the length of an event's arguments, if that is always the same. */
function isWhole(event: AbiEvent, data: Hex): boolean {
  const types = event.inputs.filter(({ indexed }) => !indexed).map(({ type }) => type)
  return !types.every(type => ownTopic.test(type)) || data.length === 2 + 64 * types.length
}

function undecodableLog(chain: string, event: AbiEvent, { address, topics, data, blockNumber }: RawLog): Fault {
  const topicsText = (count: number) => `${count} topic${count === 1 ? '' : 's'}`
  const has = `${topicsText(topics.length)} and ${(data.length - 2) / 2} bytes`
  const count = topicsOf(event)
  const wants = count === topics.length ? 'other data' : topicsText(count)
  return new Fault('chain-call-undecodable', `a log of ${event.name} has ${has} where the ABI describes ${wants}`, {
    facts: { chain, contract: address, event: event.name, block: Number(blockNumber) },
    fix: `check which arguments of ${event.name} are indexed, and that address and event belong together`,
  })
}
