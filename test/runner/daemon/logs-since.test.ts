import { expect, it } from 'vitest'
import { beforeFirstBlock } from '../../../src/chain/endpoint/failures.ts'
import { LogList, packed } from '../../../src/chain/log-list.ts'
import type { ChainReader } from '../../../src/chain/reads.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { Lists } from '../../../src/runner/daemon/lists.ts'
import { LogHistories } from '../../../src/runner/daemon/logs-since.ts'
import { chainOf } from '../../support/reads.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { hour as since } from '../setup.ts'

it.each(['final', 'not final'])(
  'logs since before the first block are those since it, also on the first day: %s',
  async state => {
    const begun = hourAfter(since, 10)
    const first = { number: 0n, hash: `0x${'0'.repeat(64)}`, timestampSeconds: begun / 1000 + 1_100 } as const
    const blockAt = (hour: Hour) => ({ ...first, number: BigInt((hour - begun) / 3_600_000) })
    const log = (number: bigint) => ({
      ...({
        address: '0x07',
        topics: [],
        data: '0x',
        blockNumber: number,
        logIndex: 0,
        transactionHash: first.hash,
      } as const),
    })
    const demand = (hour: Hour) => {
      if (hour <= begun) throw beforeFirstBlock('demo', hour, first)
      return blockAt(hour)
    }
    const never = async () => Promise.reject(new Error('nothing is read here'))
    const logs: ChainReader['logs'] = async (hour, _filter, _signal, count = 1) => {
      const at = demand(hour)
      const numbers = Array.from(
        { length: Math.min(count, Number(at.number)) },
        (_, index) => at.number - BigInt(index),
      )
      return { at, value: new LogList([packed(numbers.toReversed().map(log))]) }
    }
    const demo: ChainReader = { ...chainOf({ block: async hour => demand(hour), read: never, logs: never }), logs }
    const shared = { chains: { demo }, time: new VirtualTime(hourAfter(begun, 30)) }
    const lists = new Lists({ ...shared, finalHour: () => (state === 'final' ? hourAfter(begun, 29) : undefined) })
    const histories = new LogHistories({ ...shared, lists, stepMsMax: 60_000, warn: () => {} })
    const asked = { collectorId: 'p/c', chain: 'demo', filter: { address: '0x07', topics: [] } as const, since }
    for (const place of [1, 5, 20]) {
      const { logs } = await histories.read(asked, hourAfter(begun, place))
      expect([...logs].map(({ blockNumber }) => Number(blockNumber))).toEqual(
        Array.from({ length: place }, (_, index) => index + 1),
      )
    }
  },
)
