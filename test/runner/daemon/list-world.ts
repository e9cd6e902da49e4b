import { expect } from 'vitest'
import listCollector from '../../../collectors/list.ts'
import { LogList, packed, type RawLog } from '../../../src/chain/log-list.ts'
import type { ChainReader } from '../../../src/chain/reads.ts'
import type { Hex } from '../../../src/model/block.ts'
import { type Hour, hourAfter, hourText } from '../../../src/model/hour.ts'
import { configuredList, type ListHour, type ListSource, Lists } from '../../../src/runner/daemon/lists.ts'
import { LogHistories } from '../../../src/runner/daemon/logs-since.ts'
import type { Listed } from '../../../src/runner/messages.ts'
import type { Fortune } from '../../simulation/chance.ts'
import { KeptLists } from '../../support/kept-lists.ts'
import { chainOf } from '../../support/reads.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { configured, hour as firstHour } from '../setup.ts'

export const hoursCount = 200
const blocksPerHour = 10

/** A whole number below a limit; 0 where there is none. */
export const below = (fortune: Fortune, limit: number) => fortune.whole(0, Math.max(0, limit - 1))

const addressOf = (number: number): Hex => `0x${number.toString(16).padStart(40, '0')}`

/** A contract whose items change at random from hour to hour, and the events of those that were ever added. */
export class Contract {
  /** Items by hour. */
  readonly items: (readonly Hex[])[] = []
  /** Events by hour: an item, and its block. */
  readonly events: (readonly { readonly item: Hex; readonly block: number }[])[] = []
  #next: number

  constructor(name: number, fortune: Fortune, size: number, onlyGrows: boolean) {
    this.#next = name * 1_000_000
    for (let place = 0; place <= hoursCount; place += 1) this.#addHour(place, fortune, size, onlyGrows)
  }

  /** A branch that is as another one up to an hour. */
  static branch(
    of: Contract,
    from: number,
    name: number,
    fortune: Fortune,
    size: number,
    onlyGrows: boolean,
  ): Contract {
    const branch = new Contract(name, fortune, size, onlyGrows)
    branch.items.splice(0, from, ...of.items.slice(0, from))
    branch.events.splice(0, from, ...of.events.slice(0, from))
    if (!onlyGrows) return branch
    for (let place = from; place <= hoursCount; place += 1) {
      const born = branch.events[place]?.map(({ item }) => item) ?? []
      branch.items[place] = [...(branch.items[place - 1] ?? []), ...born]
    }
    return branch
  }

  #addHour(place: number, fortune: Fortune, size: number, onlyGrows: boolean): void {
    const items = [...(this.items.at(-1) ?? [])]
    const born: Hex[] = []
    const add = () => born.push(addressOf(this.#next++)) && items.push(born.at(-1) as Hex)
    const changes = place === 0 ? size : below(fortune, below(fortune, 4) === 0 ? 40 : 4)
    for (let change = 0; change < changes; change += 1) {
      const [at, other] = [below(fortune, items.length), below(fortune, items.length)]
      const kind = onlyGrows || place === 0 ? 0 : below(fortune, 5)
      if (kind <= 1 || items.length === 0) add()
      // As an EnumerableSet does: the last item takes the place of the removed one.
      else if (kind === 2) items.splice(at, 1, ...items.splice(-1)).length > items.length && items.pop()
      else if (kind === 3) items[at] = addressOf(this.#next++)
      else [items[at], items[other]] = [items[other] as Hex, items[at] as Hex]
    }
    this.items.push(items)
    const blocks = born.map(() => place * blocksPerHour + below(fortune, blocksPerHour)).sort((a, b) => a - b)
    this.events.push(born.map((item, index) => ({ item, block: blocks[index] ?? 0 })))
  }
}

type Call = { readonly functionName: string; readonly args?: readonly [bigint] }

/** A chain with one contract, as of hours, and what reads a list of it. */
export class World {
  readonly time = new VirtualTime(firstHour)
  readonly keeper = new KeptLists()
  readonly warnings: string[] = []
  contract: Contract
  /** The first hour of the branch, and the digits that its hashes begin with. */
  branch = { from: 0, name: 'a' }
  readonly list: ListSource
  readonly #options: unknown
  lists: Lists
  #histories: LogHistories
  /** Items whose logs the node leaves out. */
  readonly leftOut = new Set<Hex>()
  /** Hours of the runs, each with the one it was read on from; hours from the first. */
  readonly runs: (readonly [number, number | undefined])[] = []

  constructor(contract: Contract, options: Record<string, unknown>) {
    this.contract = contract
    const list = configured('list', {
      id: 'list things',
      options: { chain: 'demo', address: addressOf(7), ...options },
    })
    this.#options = list.options
    this.list = configuredList(list, { run: at => this.#run(at), warn: sentence => void this.warnings.push(sentence) })
    this.lists = this.#started()
    this.#histories = this.#startedHistories()
  }

  /** Starts again, with what is kept. */
  start(): void {
    this.lists = this.#started()
    this.#histories = this.#startedHistories()
  }

  #startedHistories(): LogHistories {
    return new LogHistories({
      ...{ chains: { demo: this.#reader() }, lists: this.lists, time: this.time, stepMsMax: 60_000 },
      warn: (_, sentence) => void this.warnings.push(sentence),
    })
  }

  #started(): Lists {
    return new Lists({
      chains: { demo: this.#reader() },
      time: this.time,
      keeper: this.keeper,
      finalHour: () => hourAfter(firstHour, Math.floor((this.time.nowMs() - firstHour) / 3_600_000) - 2),
    })
  }

  /** Lets hours pass, so that this one is the newest that can be read. */
  async pass(place: number): Promise<void> {
    const ms = hourAfter(firstHour, place) + 60_000 - this.time.nowMs()
    if (ms > 0) await this.time.sleep(ms)
  }

  expected(place: number): readonly Hex[] {
    const { event, logs } = Object(this.#options)
    if (event === undefined && logs === undefined) return [...new Set(this.contract.items[place])]
    return this.contract.events.slice(0, place + 1).flatMap(events => events.map(({ item }) => item))
  }

  async read(place: number): Promise<readonly Hex[]> {
    const hour = hourAfter(firstHour, place)
    if (Object(this.#options).logs === undefined) return (await this.lists.read(this.list, hour)).items
    const filter = { address: addressOf(7), topics: [] }
    const asked = { collectorId: 'p/c', chain: 'demo', filter, since: firstHour }
    const logs = [...(await this.#histories.read(asked, hour)).logs]
    expect(logs.toSorted((one, two) => Number(one.blockNumber - two.blockNumber))).toEqual(logs)
    return logs.map(({ data }) => data)
  }

  #block(place: number) {
    const number = BigInt(place * blocksPerHour + blocksPerHour - 1)
    return { number, hash: this.#hash(number), timestampSeconds: hourAfter(firstHour, place) / 1000 }
  }

  #hash(number: bigint): Hex {
    const isOfBranch = number >= this.branch.from * blocksPerHour
    return `0x${isOfBranch ? this.branch.name : 'a'}${number.toString(16).padStart(63, '0')}`
  }

  #reader(): ChainReader {
    const block: ChainReader['block'] = async at => this.#block((at - firstHour) / 3_600_000)
    const never = async () => Promise.reject(new Error('nothing is read here'))
    const logs: ChainReader['logs'] = async (hour, _filter, _signal, hours = 1) => {
      const place = (hour - firstHour) / 3_600_000
      return { at: this.#block(place), value: new LogList([packed(this.#events(place, hours).map(logOf))]) }
    }
    const hasBlock: ChainReader['hasBlock'] = async asked => this.#hash(asked.number) === asked.hash
    return { ...chainOf({ block, read: never, logs: never }), logs, hasBlock }
  }

  /** Runs since this was asked last. */
  get ran() {
    return this.runs.splice(0)
  }

  async #run({ hour, finalHour, memory: known }: ListHour): Promise<Listed> {
    const placeOf = (of: Hour) => (of - firstHour) / 3_600_000
    this.runs.push([placeOf(hour), known && placeOf(known.hour)])
    const options = (await listCollector.options.parseAsync(this.#options)) as never
    const chain = (_name: string, { hoursBefore = 0 } = {}) => this.#asOf((hour - firstHour) / 3_600_000 - hoursBefore)
    const logsOver = (_name: string, hours: number) => this.#asOf((hour - firstHour) / 3_600_000, hours)
    const log = { warn: (sentence: string) => void this.warnings.push(sentence) }
    const { items, memory, first } = await listCollector.listOf({
      ...{ options, hour, finalHour, memory: known, chain, logsOver, log },
    } as never)
    const block = this.#block((hour - firstHour) / 3_600_000)
    return { items, memory, first, pins: [{ chainId: 1, block }] }
  }

  /** A chain as a collector sees it. */
  #asOf(place: number, hours = 1) {
    const items = this.contract.items[place] ?? []
    const answer = ({ functionName, args }: Call) => {
      if (functionName === 'n') return BigInt(items.length)
      const item = items[Number(args?.[0])]
      if (!item) throw new Error('there is no such place')
      return item
    }
    return {
      block: async () => this.#block(place),
      read: async (calls: Call | readonly Call[]) => ('map' in calls ? calls.map(answer) : answer(calls)),
      logs: async () => {
        if (place < 0) throw new Error('there is no contract yet')
        return this.#events(place, hours).map(({ item, block }) => ({ args: { item }, blockNumber: BigInt(block) }))
      },
    }
  }

  /** The events of hours up to one, as the node answers them. */
  #events(place: number, hours: number) {
    const events = this.contract.events.slice(Math.max(0, place + 1 - hours), place + 1)
    return events.flat().filter(({ item }) => !this.leftOut.has(item))
  }
}

function logOf({ item, block }: { readonly item: Hex; readonly block: number }): RawLog {
  const transactionHash: Hex = `0x${item.slice(2).padStart(64, '0')}`
  const logIndex = Number(BigInt(item) % 1_000_000n)
  return { address: addressOf(7), topics: [], data: item, blockNumber: BigInt(block), logIndex, transactionHash }
}

const byPlace = { length: 'n() view returns (uint256)', item: 'at(uint256) view returns (address)' }
export const kinds = {
  'by their place': byPlace,
  'by their place, of a contract that only adds': { ...byPlace, grows: true },
  'of an event': { event: 'Added(address item)', take: 'item', since: hourText(firstHour) },
  'logs since an hour': { logs: true },
} as const
