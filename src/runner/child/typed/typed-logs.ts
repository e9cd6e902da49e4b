import type { AbiEvent } from 'viem'
import {
  decodeAbiParameters,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  toEventSelector,
} from 'viem/utils'
import type { RawLog } from '../../../chain/log-list.ts'
import type { RawReads } from '../../../chain/reads.ts'
import type { Hex, LogFilter } from '../../../model/block.ts'
import { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'
import type { EventLog } from './chain-as-of.ts'
import { checkWords } from './static-outputs.ts'

/** Logs of one event, which may be selected by its indexed arguments, or of several. */
export type EventFilter = { readonly address: Hex | readonly Hex[] } & (
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
export async function typedLogs(
  reader: RawReads,
  hour: Hour,
  filter: EventFilter,
  signal: AbortSignal,
  chain: string,
): Promise<readonly EventLog<AbiEvent>[]> {
  const asked = rawFilter(filter)
  if (filter.event?.anonymous) return anonymousLogs(chain, filter.event, await reader.logs(hour, asked, signal))
  const events = (filter.events ?? [filter.event]).map(event => ({ event, signature: toEventSelector(event) }))
  const decoded: EventLog<AbiEvent>[] = []
  const fitting = new Set<string>()
  const others = new Map<string, RawLog>()
  for (const log of await reader.logs(hour, asked, signal)) {
    const [signature] = log.topics
    const source = `${log.address.toLowerCase()} ${signature}`
    const known = events.find(one => one.signature === signature && topicsOf(one.event) === log.topics.length)
    if (known) {
      decoded.push(typedLog(chain, known.event, log))
      fitting.add(source)
    } else if (!others.has(source)) others.set(source, log)
  }
  for (const [source, log] of others) {
    const wrong = events.find(one => one.signature === log.topics[0])
    if (wrong && !fitting.has(source)) throw undecodable(chain, wrong.event, log)
  }
  return decoded
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

/** Types whose 32 bytes are never those of a signature: some of them are always the same. */
const narrow = /^(address|bool|bytes([1-9]|1\d|2[0-8])|u?int([1-9]\d?|1\d\d|2[01]\d|22[0-4]))$/

/** Types that are a topic as they are; of the others it is the hash. */
const ownTopic = /^(address|bool|bytes\d+|u?int\d+)$/

/** Logs of an anonymous event. Where all logs with its topics have other data, the ABI is wrong. */
function anonymousLogs(chain: string, event: AbiEvent, logs: Iterable<RawLog>): EventLog<AbiEvent>[] {
  const decoded: EventLog<AbiEvent>[] = []
  let other: Fault | undefined
  for (const log of logs) {
    if (!hasTopics(event, log)) continue
    try {
      decoded.push(typedLog(chain, event, log))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      other ??= error
    }
  }
  if (other && decoded.length === 0) throw other
  return decoded
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
  const indexed = event.anonymous ? topics : topics.slice(1)
  try {
    const topicTypes = indexedOf(event).map(({ type }) => ({ type: ownTopic.test(type) ? type : 'bytes32' }))
    checkWords(topicTypes, `0x${indexed.map(topic => topic.slice(2)).join('')}`)
    const unindexed = event.inputs.filter(({ indexed }) => !indexed)
    checkWords(unindexed, data)
    const abi: readonly [AbiEvent] = [event]
    const { args } = decodeEventLog({ abi, data, topics: [toEventSelector(event), ...indexed] })
    if (event.anonymous && !isWhole(event, data)) throw new Error('it has other data')
    const decoded = { eventName: event.name, args, address, blockNumber, logIndex, transactionHash }
    return decoded as EventLog<AbiEvent>
  } catch {
    throw undecodable(chain, event, log)
  }
}

/** Whether data have the length of an event's arguments, if that is always the same. */
function isWhole(event: AbiEvent, data: Hex): boolean {
  const types = event.inputs.filter(({ indexed }) => !indexed).map(({ type }) => type)
  return !types.every(type => ownTopic.test(type)) || data.length === 2 + 64 * types.length
}

function undecodable(chain: string, event: AbiEvent, { address, topics, data, blockNumber }: RawLog): Fault {
  const has = `${topics.length} topics and ${(data.length - 2) / 2} bytes`
  const count = topicsOf(event)
  const wants = count === topics.length ? 'other data' : `${count} topic${count === 1 ? '' : 's'}`
  return new Fault('chain-call-undecodable', `a log of ${event.name} has ${has} where the ABI describes ${wants}`, {
    facts: { chain, contract: address, event: event.name, block: Number(blockNumber) },
    fix: `check which arguments of ${event.name} are indexed, and that address and event belong together`,
  })
}
