import { describe, expect, it } from 'vitest'
import type { ChainReader } from '../../../src/chain/reads.ts'
import type { EarliestMs } from '../../../src/model/clock.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { type ListKeeper, Lists } from '../../../src/runner/daemon/lists.ts'
import type { Listed, ListMemory } from '../../../src/runner/messages.ts'
import { chainOf } from '../../support/reads.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { configured, hour } from '../setup.ts'

const list = configured('list', { id: 'list vaults', options: { chain: 'demo' } })
const hash = (branch: string, at: Hour) => `0x${branch}${at.toString(16).padStart(62, '0')}` as const
const itemAt = (at: Hour) => `0x${at.toString(16).padStart(40, '0')}` as const

/** A list that gets an item each hour, and whose runs read at most three hours on. */
class HourlyList {
  readonly time = new VirtualTime(hour + 60_000)
  /** Hours of the runs, in their order, with those they were read on from. */
  readonly runs: (readonly [number, number | undefined])[] = []
  /** First two digits of all hashes: another branch has others. */
  branch = 'aa'
  readonly kept: ListMemory[] = []
  readonly lists: Lists

  constructor({ settleMs = 3_600_000 / 2, keeper }: { settleMs?: number; keeper?: ListKeeper } = {}) {
    const never = async () => {
      throw new Error('nothing is read here')
    }
    const block: ChainReader['block'] = async at => ({
      number: BigInt(at),
      hash: hash(this.branch, at),
      timestampSeconds: at / 1000,
    })
    const demo = { ...chainOf({ block, read: never, logs: never }), settleMs }
    const write: ListKeeper['write'] = async (_list, memory) => void this.kept.push(memory)
    this.lists = new Lists({
      chains: { demo },
      time: this.time,
      earliestMs: () => this.time.nowMs() as EarliestMs,
      keeper: keeper ?? { read: async () => undefined, write },
      run: async (_list, at) => this.#listed(at.hour, at.known),
    })
  }

  /** Runs so far, in hours from the current one. */
  get ran() {
    return this.runs.splice(0)
  }

  #listed(at: Hour, known: ListMemory | undefined): Listed {
    const begin = known?.hour ?? hourAfter(hour, -8)
    const back = (of: Hour) => (of - hour) / 3_600_000
    this.runs.push([back(at), known && back(known.hour)])
    if (at - begin > 3 * 3_600_000) return { items: [], first: hourAfter(begin, 3), pins: [] }
    const items = Array.from({ length: (at - hourAfter(hour, -8)) / 3_600_000 }, (_, place) =>
      itemAt(hourAfter(hour, place - 7)),
    )
    const block = { number: BigInt(at), hash: hash(this.branch, at), timestampSeconds: at / 1000 }
    return { items, memory: { hour: at, items }, pins: [{ chainId: 1, block }] }
  }
}

describe('lists', () => {
  it('read a long past in steps, each of which is kept', async () => {
    const hourly = new HourlyList()
    const { items } = await hourly.lists.read(list, hour)
    expect(items).toHaveLength(8)
    expect(hourly.ran).toEqual([
      [0, undefined],
      [-5, undefined],
      [0, -5],
      [-2, -5],
      [0, -2],
    ])
    // The current hour is not final.
    expect(hourly.kept.map(each => (each.hour - hour) / 3_600_000)).toEqual([-5, -2])
  })

  it('read a past once, however many hours need it at the same time', async () => {
    const hourly = new HourlyList()
    const hours = Array.from({ length: 7 }, (_, index) => hourAfter(hour, -index))
    const lengths = (await Promise.all(hours.map(each => hourly.lists.read(list, each)))).map(each => each.items.length)
    expect(lengths).toEqual([8, 7, 6, 5, 4, 3, 2])
    expect(hourly.ran.filter(([at, from]) => from === undefined && at === -5)).toHaveLength(1)
  })

  it('remember an hour once it is final, and nothing of a block that was replaced', async () => {
    const hourly = new HourlyList()
    await hourly.lists.read(list, hour)
    await hourly.time.sleep(3_600_000)
    await hourly.lists.read(list, hourAfter(hour, 1))
    expect(hourly.ran.at(-1)).toEqual([1, 0])

    hourly.branch = 'bb'
    await hourly.time.sleep(3_600_000)
    await hourly.lists.read(list, hourAfter(hour, 2))
    expect(hourly.ran.at(-1)).toEqual([2, 0])
  })

  it('begin with what was kept', async () => {
    const memory = { hour: hourAfter(hour, -1), items: [itemAt(hour)] }
    const hourly = new HourlyList({ keeper: { read: async () => memory, write: async () => {} } })
    expect(await hourly.lists.recent(list)).toEqual(memory.items)
    await hourly.lists.read(list, hour)
    expect(hourly.ran).toEqual([[0, -1]])
  })
})
