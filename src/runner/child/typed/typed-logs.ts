import type { AbiEvent } from 'viem'
import { decodeEventLog, encodeEventTopics, toEventSelector } from 'viem/utils'
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
 * fit; if none does, the ABI is wrong for that contract.
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
    if (args !== undefined)
      throw wrongFilter('has args of several events', 'read that event alone, or compare its args')
    return { address, topics: [[...new Set(events.map(toEventSelector))]] }
  }
  const abi: readonly [AbiEvent] = [event]
  const indexed = args as readonly unknown[] | Record<string, unknown> | undefined
  return { address, topics: encodeEventTopics({ abi, eventName: event.name, ...(indexed && { args: indexed }) }) }
}

function wrongFilter(what: string, fix: string): Fault {
  return new Fault('collector-threw', `logs ${what}`, { fix })
}

/** One topic for the signature, and one for each indexed argument. */
function topicsOf({ inputs }: AbiEvent): number {
  return 1 + inputs.filter(isIndexed).length
}

const isIndexed = ({ indexed = false }: AbiEvent['inputs'][number]) => indexed

/** A type whose indexed argument is a topic as it is; of any other the topic is a hash. */
const oneWord = /^(u?int\d*|address|bool|bytes\d+)$/

function typedLog(chain: string, event: AbiEvent, log: RawLog): EventLog<AbiEvent> {
  const { address, topics, data, blockNumber, logIndex, transactionHash } = log
  const [signature, ...indexed] = topics
  try {
    if (!signature) throw new Error('it has no topics')
    const inTopics = event.inputs.filter(isIndexed).map(({ type }) => ({ type: oneWord.test(type) ? type : 'bytes32' }))
    checkWords(inTopics, `0x${indexed.map(topic => topic.slice(2)).join('')}`)
    checkWords(
      event.inputs.filter(input => !isIndexed(input)),
      data,
    )
    const { args } = decodeEventLog({ abi: [event] as readonly [AbiEvent], data, topics: [signature, ...indexed] })
    const decoded = { eventName: event.name, args, address, blockNumber, logIndex, transactionHash }
    return decoded as EventLog<AbiEvent>
  } catch {
    throw undecodable(chain, event, log)
  }
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
