import { decodeAbiParameters, parseAbiParameters } from 'viem/utils'
import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader, runnerOn } from '../../app/open-runner.ts'
import { multicall3Address } from '../../chain/read/read-memory.ts'
import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig, Config } from '../../config/config.ts'
import { type DerivedInput, inputsOfHour } from '../../intake/derived-hours.ts'
import { asFault, type PastStore, usable } from '../../intake/validate.ts'
import type { Hex } from '../../model/block.ts'
import { Fault, faultFromRecord, faultLine } from '../../model/fault.ts'
import { type Hour, hourAfter, hourText, parseHour } from '../../model/hour.ts'
import { valueAt } from '../../model/json.ts'
import type { ListKeeper } from '../../model/list-memory.ts'
import { labelOf } from '../../model/metric.ts'
import { tokenIn } from '../../runner/messages.ts'
import { createLog, type Log } from '../../telemetry/log.ts'
import { ReadRecorder } from '../../testing/read-recorder.ts'
import type { RecordedRead, Recording } from '../../testing/recording.ts'

const listKinds = ['length', 'array', 'event', 'url', 'fixed'] as const

/** Result of reading one label of an hour again, now. */
export interface ReadAgain {
  /** Absent where there was none. */
  readonly value?: number
  readonly unit?: string | undefined
  /** Why there is no value, as a sentence. */
  readonly failure?: string
  /** Hosts that others contradict, a sentence each. */
  readonly contradictions?: readonly string[]
  /** Of a derived value: what it is computed from. Absent for another. */
  readonly inputs?: readonly DerivedInput[]
  /** Warnings of the collector, such as items of a list that are left out. */
  readonly warnings?: readonly string[]
  /**
   * All that the collector read, without secrets; absent where a read failed, or nothing was read. Where it read logs, its
   * blocks include that of the hour before them.
   */
  readonly reads?: Recording
  /** The lists that it is over. */
  readonly lists?: readonly ListRead[]
  /** All reads of each price, by its name, including prices that it depends on. */
  readonly prices?: Readonly<Record<string, Recording>>
}

/** A list of the configuration as of the hour. */
export interface ListRead {
  readonly name: string
  /** The option that says where its items are: `length`, `array`, `event`, `url` or `fixed`. */
  readonly kind: string
  readonly chain: string
  /** Number of the as-of block. */
  readonly block: number
  readonly items: number
  /** Those that it did not have an hour before; absent where that cannot be read. */
  readonly added?: readonly Hex[]
}

/** Reads an hour of a collector, as the daemon does, and records what the first host answers. Stores nothing. Never rejects. */
export async function readWithRecord(
  context: AppContext,
  collector: CollectorConfig,
  hour: Hour,
  label: string,
  pasts: PastStore,
  lists: ListKeeper,
): Promise<ReadAgain> {
  await using stack = new AsyncDisposableStack()
  const warnings: string[] = []
  const loggingContext = { ...context, log: warningsOf(collector, createLog('silent', context.redactor), warnings) }
  const chains = openChains(loggingContext, stack)
  const recorder = new ReadRecorder(hour, chains, context.redactor)
  try {
    const reader = openHourReader(loggingContext, chains, stack, { interceptor: recorder, lists })
    const description = usable(collector, await reader.describe(collector))
    const {
      acceptedValues,
      failures,
      fault,
      contradicted: contradictions,
    } = await reader.collect({ collector, description, hour }, pasts)
    const failed = failures[label]
    const own = failed ? faultFromRecord(failed) : fault
    const failure = own ? faultLine(own) : 'the collector does not return it'
    const inputs = await inputsOfHour({ collector, hour }, label, pasts)
    const metric = acceptedValues.find(entry => labelOf(entry.metric) === label)?.metric
    const reads = await readsOf(recorder, chains, loggingContext)
    return {
      ...(metric ? { value: metric.value, unit: metric.unit } : { failure }),
      ...(contradictions && { contradictions }),
      ...(inputs.length > 0 && { inputs }),
      ...(warnings.length > 0 && { warnings }),
      ...(reads && { reads, prices: await pricesOf(reads, chains, loggingContext, hour, lists) }),
      ...(reads?.lists && { lists: await listsOf(reads.lists, chains, loggingContext, hour, lists) }),
    }
  } catch (error) {
    const reads = await readsOf(recorder, chains, loggingContext)
    return { failure: faultLine(asFault(error)), ...(reads && { reads }) }
  }
}

/** A log that adds the warnings of a collector to a list. */
function warningsOf({ id }: CollectorConfig, log: Log, warnings: string[]): Log {
  const warn = ({ collector, ...facts }: Readonly<Record<string, unknown>>, message = '') => {
    const rest = Object.values(facts).map(fact => `: ${String(fact)}`)
    if (collector === id) warnings.push(`${message}${rest.join('')}`)
  }
  return Object.assign(log, { warn })
}

async function readsOf(recorder: ReadRecorder, chains: Chains, context: AppContext): Promise<Recording | undefined> {
  try {
    if (!recorder.hasRead) return undefined
    return await withFirstBlocks(withSenders(recorder.recording({}), context.config), chains, context)
  } catch {
    return undefined
  }
}

/** Names the sender of calls that named none: Multicall3 makes them, and a contract may answer another sender otherwise. */
function withSenders(recording: Recording, { chains }: Config): Recording {
  const reads = recording.reads.map((recordedRead): RecordedRead => {
    if ('logs' in recordedRead || recordedRead.read.kind !== 'call') return recordedRead
    const from = chains.find(({ name }) => name === recordedRead.chain)?.multicall ?? multicall3Address
    return { ...recordedRead, read: { ...recordedRead.read, kind: 'call-from', from } }
  })
  return { ...recording, reads }
}

/** Adds the blocks after which logs count. The first block of a chain has none before it. */
async function withFirstBlocks(recording: Recording, chains: Chains, { config, time }: AppContext): Promise<Recording> {
  const signal = time.timeout(config.collect.deadlineMs)
  const chainRecords = structuredClone(recording.chains)
  for (const recordedRead of recording.reads) {
    if (!('logs' in recordedRead)) continue
    const previousHour = hourBefore(recordedRead, recording)
    const blocks = chainRecords[recordedRead.chain]?.blocks
    if (!blocks || blocks[hourText(previousHour)]) continue
    const block = await chains[recordedRead.chain]?.block(previousHour, signal).catch(ifBeforeFirst)
    if (block) blocks[hourText(previousHour)] = { ...block, number: Number(block.number) }
  }
  return { ...recording, chains: chainRecords }
}

/** The hour after whose block logs count. */
function hourBefore(read: RecordedRead, { hour }: Pick<Recording, 'hour'>): Hour {
  const first = 'since' in read && read.since !== undefined ? parseHour(read.since) : undefined
  return hourAfter(first ?? hourAfter(parseHour(hour), -(read.hoursBefore ?? 0)), -1)
}

function ifBeforeFirst(error: unknown): undefined {
  if (!(error instanceof Fault) || error.code !== 'chain-before-first-block') throw error
}

/** The lists of a collector, compared with those of the hour before. */
async function listsOf(
  listRecords: NonNullable<Recording['lists']>,
  chains: Chains,
  context: AppContext,
  hour: Hour,
  lists: ListKeeper,
): Promise<ListRead[]> {
  await using stack = new AsyncDisposableStack()
  const [previousHour, signal] = [hourAfter(hour, -1), context.time.timeout(context.config.collect.deadlineMs)]
  const recorder = new ReadRecorder(previousHour, chains, context.redactor)
  const runner = runnerOn(chains, context, stack, { interceptor: recorder, lists })
  const reads = Object.entries(listRecords).map(async ([name, items]): Promise<ListRead[]> => {
    const list = context.config.lists.find(one => one.name === name)?.collector
    const [chain, kind] = [valueAt(list?.options, ['chain']), listKinds.find(one => one in Object(list?.options))]
    const block =
      typeof chain === 'string' ? await chains[chain]?.block(hour, signal).catch(() => undefined) : undefined
    if (!list || !kind || typeof chain !== 'string' || !block) return []
    const options = { chain, each: name, values: { Count: { count: true } } }
    await runner
      .collect({ ...list, use: 'contract-read', id: `count ${name}`, options }, previousHour)
      .catch(() => undefined)
    const known = recorder.lists.get(name)
    const added = known && items.filter(item => !known.includes(item))
    return [{ name, kind, chain, block: Number(block.number), items: items.length, ...(added && { added }) }]
  })
  return (await Promise.all(reads)).flat()
}

/** Reads each price again, and each that it needs, since runs of prices are not recorded with the collector's. */
async function pricesOf(
  reads: Recording,
  chains: Chains,
  context: AppContext,
  hour: Hour,
  lists: ListKeeper,
): Promise<Record<string, Recording>> {
  const recordings: Record<string, Recording> = {}
  const names = Object.keys(reads.prices)
  for (const name of names) {
    const price = priceReader(name, context.config)
    if (!price) continue
    await using stack = new AsyncDisposableStack()
    const recorder = new ReadRecorder(hour, chains, context.redactor)
    // A source that fails is followed by the next one: what was read is there all the same.
    await runnerOn(chains, context, stack, { interceptor: recorder, lists })
      .collect(price, hour)
      .catch(() => undefined)
    const priceReads = await readsOf(recorder, chains, context)
    if (!priceReads) continue
    recordings[name] = priceReads
    names.push(...Object.keys(priceReads.prices).filter(other => !names.includes(other)))
  }
  return recordings
}

/** The collector that reads a price; of a token, its chain's for that alone. */
function priceReader(name: string, { prices }: Config): CollectorConfig | undefined {
  const tokenPlace = tokenIn(name)
  const reader = prices.find(one => one.name === (tokenPlace ? `${tokenPlace.chain}/` : name))?.collector
  if (!reader || !tokenPlace) return reader
  return { ...reader, options: { ...Object(reader.options), tokens: { Price: tokenPlace.token } } }
}

/**
 * The answer of a read by the ABI that its collector used: `12`, or `supply 12, isPaused false`. Undefined for a revert, for
 * what no ABI describes, and for bytes that do not fit it.
 */
export function decodedText(recorded: RecordedRead): string | undefined {
  if ('logs' in recorded || recorded.returned === undefined) return undefined
  const { read: request, returned: returnedBytes, number } = recorded
  if (request.kind === 'balance') return number
  if (request.kind === 'storage' || !request.returns) return undefined
  try {
    const outputs = parseAbiParameters(request.returns)
    const values = decodeAbiParameters(outputs, returnedBytes)
    if (outputs.length === 1) return textOf(values[0])
    return outputs.map(({ name }, place) => `${name ? `${name} ` : ''}${textOf(values[place])}`).join(', ')
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.startsWith('0x') ? value : JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`
  return `(${Object.entries(value)
    .map(([name, part]) => `${name} ${textOf(part)}`)
    .join(', ')})`
}

/** A block number as nodes write it. */
const quantity = (number: number) => `0x${number.toString(16)}`

/**
 * A read as a JSON-RPC request, which any tool can send to any node of the chain: without an address. Undefined where its
 * block is not known.
 */
export function rpcLine(recordedRead: RecordedRead, { chains, hour }: Recording): string | undefined {
  const { chain, hoursBefore = 0 } = recordedRead
  const blockOf = (at: Hour) => chains[chain]?.blocks[hourText(at)]
  const block = blockOf(hourAfter(parseHour(hour), -hoursBefore))
  if (!block) return undefined
  // The first blocks of a chain have none before them.
  const first = (blockOf(hourBefore(recordedRead, { hour }))?.number ?? -1) + 1
  const [method, ...params] = callOf(recordedRead, quantity(block.number), quantity(first))
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function callOf(recorded: RecordedRead, blockTag: string, first: string): readonly unknown[] {
  if ('logs' in recorded) return ['eth_getLogs', { ...recorded.logs, fromBlock: first, toBlock: blockTag }]
  const { read: request } = recorded
  switch (request.kind) {
    case 'call':
      return ['eth_call', { to: request.to, data: request.input }, blockTag]
    case 'call-from':
      return ['eth_call', { from: request.from, to: request.to, data: request.input }, blockTag]
    case 'balance':
      return ['eth_getBalance', request.address, blockTag]
    case 'storage':
      return ['eth_getStorageAt', request.address, request.slot, blockTag]
  }
}

/** A read in words: `totalAssets() of 0x…`. */
export function readWords(entry: RecordedRead): string {
  if ('logs' in entry) {
    const since = entry.since === undefined ? '' : ` since ${entry.since}`
    return `logs of ${[entry.logs.address].flat().join(', ')}${since}`
  }
  const { read: request } = entry
  switch (request.kind) {
    case 'call':
    case 'call-from':
      return `${request.name ?? request.input.slice(0, 10)} of ${request.to}`
    case 'balance':
      return `balance of ${request.address}`
    case 'storage':
      return `slot ${request.slot} of ${request.address}`
  }
}

/** Its answer as it came: the bytes. */
export function answerWords(recordedRead: RecordedRead): string {
  if ('logs' in recordedRead) return `${recordedRead.answer.length} logs`
  if (recordedRead.reverted !== undefined) return `reverted with ${recordedRead.reverted}`
  return recordedRead.returned ?? ''
}

/** Prices of a value, and prices that these needed, with all that each was read from as far as it could be read again. */
export function pricesIn(
  reads: Recording,
  readOf: Readonly<Record<string, Recording>>,
): (readonly [name: string, price: Recording['prices'][string], own: Recording | undefined])[] {
  const prices = Object.assign({}, ...Object.values(readOf).map(own => own.prices), reads.prices) as Recording['prices']
  return Object.entries(prices).map(([name, price]) => [name, price, readOf[name]] as const)
}
