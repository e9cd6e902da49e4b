import { type AbiEvent, encodeAbiParameters, encodeEventTopics, type Hex, parseAbiItem } from 'viem'
import type { RawLog } from '../../src/chain/log-list.ts'

let logIndex = 0
/** A log of an event by its signature, as a node answers it; each has the next index. */
export function log(emitter: Hex, event: string, args: Readonly<Record<string, unknown>>): RawLog {
  const abi = parseAbiItem([`event ${event}`] as readonly string[]) as AbiEvent
  const data = abi.inputs.filter(({ indexed }) => !indexed)
  logIndex += 1
  return {
    address: emitter,
    topics: encodeEventTopics({ abi: [abi], eventName: abi.name, args } as never) as Hex[],
    data: encodeAbiParameters(
      data,
      data.map(({ name = '' }) => args[name]),
    ),
    blockNumber: 1n,
    logIndex,
    transactionHash: `0x${'00'.repeat(32)}`,
  }
}
