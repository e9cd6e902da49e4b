import type { AbiEvent, Log } from 'viem'
import { decodeEventLog, encodeEventTopics } from 'viem/utils'
import type { Hex } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import type { RawLog, RawReads } from '../reads.ts'

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
 * Logs of one event, decoded. A log with the event's signature that does not fit it (an ERC-721 `Transfer` where an
 * ERC-20 one is asked for) is another event, and left out.
 */
export async function typedLogs<const E extends AbiEvent>(
  reader: RawReads,
  hour: Hour,
  { address, event, args }: EventFilter<E>,
  signal: AbortSignal,
): Promise<readonly TypedLog<E>[]> {
  const abi: readonly [AbiEvent] = [event]
  const indexed = args as readonly unknown[] | Record<string, unknown> | undefined
  const topics = encodeEventTopics({ abi, eventName: event.name, ...(indexed && { args: indexed }) })
  const logs = await reader.logs(hour, { address, topics }, signal)
  return [...logs].flatMap(log => decoded(event, log))
}

function decoded<E extends AbiEvent>(
  event: E,
  { address, topics, data, blockNumber, logIndex }: RawLog,
): TypedLog<E>[] {
  const [signature, ...indexed] = topics
  if (!signature) return []
  try {
    const { args } = decodeEventLog({ abi: [event] as readonly [AbiEvent], data, topics: [signature, ...indexed] })
    return [{ args, address, blockNumber, logIndex } as TypedLog<E>]
  } catch {
    return []
  }
}
