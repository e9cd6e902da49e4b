import { createHash } from 'node:crypto'
import { LogList, packed, type RawLog } from '../../chain/log-list.ts'
import type { ChainReader, Chains, ReadAt } from '../../chain/reads.ts'
import type { Time } from '../../edge/time.ts'
import type { AsOfBlock, Hex, LogFilter, PinnedBlock, PinnedLogs } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import { type Listed, reorganized, unknownChain } from '../messages.ts'
import type { ListHour, ListSource, Lists } from './lists.ts'

/** Filters of one collector whose logs are remembered. */
const filtersMax = 10

/** Bytes of the logs that are remembered for one filter. */
const logBytesMax = 4 * 1_048_576

/** Hours of logs that are read at once. */
const stepHours = 720

/** Hours that are not final and are read one by one, each with its pin. */
const openHoursMax = 24

/** A question for all logs of a filter since an hour. */
export interface LogsSince {
  /** The collector that asks: what is remembered is its own. */
  readonly collectorId: string
  /** The chain's name in the configuration. */
  readonly chain: string
  readonly filter: LogFilter
  /** The first hour whose logs count. */
  readonly since: Hour
}

/** Logs as of an hour, and the blocks that they depend on. */
interface ReadHistory {
  readonly at: AsOfBlock
  readonly logs: LogList
  readonly pins: readonly PinnedBlock[]
}

interface LogsSinceDeps {
  readonly chains: Chains
  readonly lists: Lists
  readonly time: Time
  /** Time limit for one step through the past, in milliseconds. */
  readonly stepMsMax: number
  /** Writes a sentence under a collector's name into the log. */
  readonly warn: (collectorId: string, sentence: string) => void
}

/** Reads all logs of filters since an hour, each on from what is remembered of them, as lists are. */
export class LogHistories {
  readonly #deps: LogsSinceDeps
  /** Sources by collector and name. */
  readonly #sources = new Map<string, Map<string, ListSource>>()

  constructor(deps: LogsSinceDeps) {
    this.#deps = deps
  }

  /**
   * The logs after the as-of block of the hour before `since`, up to and including the hour's, oldest first, and the blocks
   * that they depend on.
   *
   * @throws Fault of the chain, `chain-unknown`, `list-missing`, or `collector-threw` for more than a collector may ask
   */
  async read(question: LogsSince, hour: Hour): Promise<ReadHistory> {
    const { since } = question
    if (since > hour)
      throw new Fault('collector-threw', `logs are asked since ${hourText(since)}, which is after ${hourText(hour)}`, {
        fix: 'ask since an hour that is not after the hour of the run',
      })
    const { items, pins } = await this.#deps.lists.read(this.#sourceOf(question), hour)
    const logs = [...new LogList(items.map(item => Buffer.from(item.slice(2), 'hex')))].sort(inOrder)
    const [pin] = pins
    if (!pin) throw new Fault('list-missing', `logs since ${hourText(since)} have no block`)
    return { at: pin.block, logs: new LogList([packed(logs)]), pins }
  }

  /** Forgets what is remembered for a collector, at most once a day. @returns whether anything is read afresh now */
  async doubt(collectorId: string): Promise<boolean> {
    const sources = [...(this.#sources.get(collectorId)?.values() ?? [])]
    const forgotten = await Promise.all(sources.map(source => this.#deps.lists.doubt(source)))
    return forgotten.includes(true)
  }

  #sourceOf({ collectorId, chain: name, filter, since }: LogsSince): ListSource {
    const chain = Object.hasOwn(this.#deps.chains, name) ? this.#deps.chains[name] : undefined
    if (!chain) throw unknownChain(name, Object.keys(this.#deps.chains))
    const definition = { chain: name, filter, since }
    const digest = createHash('sha256').update(JSON.stringify(definition)).digest('hex')
    const key = `${collectorId} logs ${digest.slice(0, 12)}`
    const sources = this.#sources.get(collectorId) ?? new Map<string, ListSource>()
    const known = sources.get(key)
    if (known) return known
    if (sources.size >= filtersMax)
      throw new Fault('collector-threw', `logs since an hour are asked of more than ${filtersMax} filters`, {
        fix: 'ask for several contracts and events in one filter, and always since the same hour',
      })
    const source: ListSource = {
      ...{ name: key, definition, chain: name, since, isBelieved: true, isOfPresent: false, fixed: [] },
      run: at => logsUpTo(chain, { chain: name, filter, since }, at, this.#deps.time.timeout(this.#deps.stepMsMax)),
      warn: sentence => this.#deps.warn(collectorId, `logs since ${hourText(since)}: ${sentence}`),
    }
    this.#sources.set(collectorId, sources.set(key, source))
    return source
  }
}

/** The logs up to an hour, on from those that are known; or an hour that must be read as of first. */
async function logsUpTo(
  chain: ChainReader,
  { chain: name, filter, since }: Omit<LogsSince, 'collectorId'>,
  { hour, finalHour, memory }: ListHour,
  signal: AbortSignal,
): Promise<Listed> {
  const block = await chain.block(hour, signal).catch((error: unknown) => beginningOr(error, hour))
  if (!('hash' in block)) return block
  const pin = { chainId: chain.id, block }
  if (memory && hour <= memory.hour) {
    const isBefore = (place: number) => BigInt(memory.blocks?.[place] ?? 0) <= block.number
    return { items: memory.items.filter((_, place) => isBefore(place)), pins: [pin] }
  }
  const from = memory?.hour ?? hourAfter(since, -1)
  const step = Math.min(hourAfter(from, stepHours), finalHour) as Hour
  if (step > from && step !== hour) return { items: [], pins: [pin], first: step }
  const readsFrom = (start: Hour) =>
    readsAfter(chain, filter, { from: start, hour, isFinal: hour <= finalHour }, signal)
  const reads = await readsFrom(from).catch((error: unknown) => {
    const first = firstHourIn(error)
    // Hours that are not final are read one by one, and those before the first block have no logs.
    if (first === undefined || first <= from || first >= hour) throw error
    return readsFrom(first)
  })
  if (reads.at(-1)?.at.hash !== block.hash) throw reorganized(name)
  const found = reads.flatMap(({ value }) => [...value])
  const items = [...(memory?.items ?? []), ...found.map(itemOf)]
  const blocks = [...(memory?.blocks ?? []), ...found.map(({ blockNumber }) => Number(blockNumber))]
  requireRoom(items)
  const logs = reads.flatMap(({ pinned }) => pinned ?? [])
  return { items, memory: { hour, items, blocks }, pins: [{ ...pin, ...(logs.length > 0 && { logs }) }] }
}

/** A chain that began later has no logs before its first block. @throws any other error */
function beginningOr(error: unknown, hour: Hour): Listed {
  const first = firstHourIn(error)
  if (first === undefined || first < hour) throw error
  return { items: [], pins: [], memory: { hour: first, items: [], blocks: [] }, first }
}

/** The last hour before a chain's first block, by the Fault for an hour that had no block yet. */
function firstHourIn(error: unknown): Hour | undefined {
  const firstBlockMs = error instanceof Fault ? Date.parse(String(error.facts['firstBlockAt'])) : Number.NaN
  return Number.isNaN(firstBlockMs) ? undefined : hourAt(firstBlockMs)
}

interface LogRead extends ReadAt<LogList> {
  /** Absent for logs of final hours, which no reorg replaces. */
  readonly pinned?: PinnedLogs
}

/** The logs after an hour, up to another. Hours that are not final are read one by one, each with its pin. */
async function readsAfter(
  chain: ChainReader,
  filter: LogFilter,
  { from, hour, isFinal }: { readonly from: Hour; readonly hour: Hour; readonly isFinal: boolean },
  signal: AbortSignal,
): Promise<readonly LogRead[]> {
  const count = (hour - from) / hourMs
  if (isFinal) return [await chain.logs(hour, filter, signal, count)]
  const openCount = Math.min(count, openHoursMax)
  const olderReads =
    count > openCount ? [chain.logs(hourAfter(hour, -openCount), filter, signal, count - openCount)] : []
  const single = Array.from({ length: openCount }, async (_, index): Promise<LogRead> => {
    const hoursBefore = openCount - 1 - index
    const read = await chain.logs(hourAfter(hour, -hoursBefore), filter, signal)
    return { ...read, pinned: { filter, digest: read.value.digest, ...(hoursBefore > 0 && { hoursBefore }) } }
  })
  return Promise.all([...olderReads, ...single])
}

/** A log as an item of a memory: its bytes. */
function itemOf(log: RawLog): Hex {
  return `0x${Buffer.from(packed([log])).toString('hex')}`
}

function requireRoom(items: readonly Hex[]): void {
  const bytes = items.reduce((sum, item) => sum + item.length / 2 - 1, 0)
  if (bytes > logBytesMax)
    throw new Fault(
      'collector-threw',
      `${items.length} logs are more than the ${logBytesMax} bytes that are remembered`,
      {
        fix: 'select them by indexed args; where earlier ones do not count, ask since a later hour; or add them up hour by hour with event-sum',
      },
    )
}

function inOrder(log: RawLog, other: RawLog): number {
  return Number(log.blockNumber - other.blockNumber) || log.logIndex - other.logIndex
}
