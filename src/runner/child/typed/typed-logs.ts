import type { AbiEvent, Log } from 'viem'
import { decodeEventLog, encodeEventTopics } from 'viem/utils'
import type { RawLog } from '../../../chain/log-list.ts'
import type { RawReads } from '../../../chain/reads.ts'
import type { Hex } from '../../../model/block.ts'
import { Fault } from '../../../model/fault.ts'
import type { Hour } from '../../../model/hour.ts'

interface EventFilter<E extends AbiEvent> {
  readonly address: Hex | readonly Hex[]
  readonly event: E
  readonly args?: unknown
}

type TypedLog<E extends AbiEvent> = Pick<
  Log<bigint, number, false, E, true>,
  'args' | 'address' | 'blockNumber' | 'logIndex'
>

/**
 * Decodes logs of one event. Logs with its signature but another number of topics are of another event (an ERC-721
 * `Transfer` instead of an ERC-20 one). They are left out if others fit; if none does, the ABI is wrong.
 *
 * @param chain name for the message of a Fault
 * @throws Fault `chain-call-undecodable`
 */
export async function typedLogs<const E extends AbiEvent>(
  reader: RawReads,
  hour: Hour,
  { address, event, args }: EventFilter<E>,
  signal: AbortSignal,
  chain: string,
): Promise<readonly TypedLog<E>[]> {
  const abi: readonly [AbiEvent] = [event]
  const indexed = args as readonly unknown[] | Record<string, unknown> | undefined
  const topics = encodeEventTopics({ abi, eventName: event.name, ...(indexed && { args: indexed }) })
  const decoded: TypedLog<E>[] = []
  let other: RawLog | undefined
  for (const log of await reader.logs(hour, { address, topics }, signal)) {
    if (log.topics.length === topicsOf(event)) decoded.push(typedLog(chain, event, log))
    else other ??= log
  }
  if (other && decoded.length === 0) throw undecodable(chain, event, other)
  return decoded
}

/** One topic for the signature, and one for each indexed argument. */
function topicsOf({ inputs }: AbiEvent): number {
  return 1 + inputs.filter(input => 'indexed' in input && input.indexed).length
}

function typedLog<E extends AbiEvent>(chain: string, event: E, log: RawLog): TypedLog<E> {
  const { address, topics, data, blockNumber, logIndex } = log
  const [signature, ...indexed] = topics
  try {
    if (!signature) throw new Error('it has no topics')
    const { args } = decodeEventLog({ abi: [event] as readonly [AbiEvent], data, topics: [signature, ...indexed] })
    return { args, address, blockNumber, logIndex } as TypedLog<E>
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
