import { createHash } from 'node:crypto'
import type { ChainReader, Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { Time } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { endOfTime, type Hour, hourAfter, hourAt, hourText } from '../../model/hour.ts'
import { isRecord } from '../../model/json.ts'
import { dayMs, hourMs } from '../../model/limits.ts'
import type { ListKeeper, ListMemory, RememberedList } from '../../model/list-memory.ts'
import type { Listed, ListTask } from '../messages.ts'

/** The part of a task that a list adds. */
export type ListHour = Pick<ListTask, 'hour' | 'finalHour' | 'memory'>

interface ListsDeps {
  readonly chains: Chains
  readonly time: Time
  readonly keeper?: ListKeeper | undefined
  /** The newest hour of a chain whose as-of block cannot be replaced any more; `undefined` while none is known to be. */
  readonly finalHour: (chain: Pick<ChainReader, 'settleMs'>) => Hour | undefined
}

/** Something that grows from hour to hour, and is read on from what is remembered of it. */
export interface ListSource {
  /** Under which it is remembered. */
  readonly name: string
  /** Its definition, as JSON: with another one, what is remembered is of something else. */
  readonly definition: unknown
  /** Its chain's name in the configuration; absent where it is read from no chain. */
  readonly chain?: string | undefined
  /** The first hour of its past, where it is read by hours. */
  readonly since?: Hour | undefined
  /** Whether items are taken from what is remembered: all others are read again each hour. */
  readonly isBelieved: boolean
  /** Whether its source knows the present alone. */
  readonly isOfPresent: boolean
  /** Items that need no run to be known. */
  readonly fixed: readonly Hex[]
  /** Reads it once. Rejects with a Fault. */
  run(listHour: ListHour): Promise<Listed>
  /** Writes a sentence about it into the log. */
  warn(sentence: string): void
}

/** State of one list. */
interface KnownList {
  memory?: RememberedList | undefined
  /** As it is kept. */
  savedList?: RememberedList | undefined
  /** Whether it was asked what is kept. */
  isLoaded: boolean
  /** Until when what is remembered needs no new certificate, in milliseconds since 1970. */
  certifiedUntilMs: number
  /** When hosts disagreed over it last. */
  doubtedMs: number
  /** Hours that are being read: a past is read once for all of them. */
  readonly wanted: Hour[]
  /** Items of an event of an hour that was not final, and the hash of its block. */
  openRead?: { readonly memory: ListMemory; readonly hash: Hex } | undefined
  /** As last read, of whichever hour. */
  recent: readonly Hex[]
  /** Whether anything of it is remembered; unknown until it was read. */
  hasMemory?: boolean
  /** Work that all hours wait for. Never rejects. */
  step?: Promise<unknown>
}

/** A list of which nothing is remembered. */
const noMemory = { memory: undefined, savedList: undefined, openRead: undefined } satisfies Partial<KnownList>

/** Hours of the past that are read again at once. */
const pieceHours = 720

/** Time limit for questions about the block that certifies what is remembered. */
const certifyMsMax = 10_000

/**
 * Reads the lists of the configuration, each on from what is remembered of it.
 *
 * Remembered are items as of an hour, and its block. Items of an event are remembered from final hours alone, read with more
 * evidence than those of an hour; items by their place from any hour, since all, or samples of them, are read again. It is
 * believed while its block is a block of the chain, which is asked each hour. It is doubted where the chain, a piece of the
 * past that is read again each day, or another host says otherwise, and then read from its beginning.
 */
export class Lists {
  readonly #deps: ListsDeps
  readonly #known = new Map<string, KnownList>()

  constructor(deps: ListsDeps) {
    this.#deps = deps
  }

  /** The items when the list was last read, of whichever hour; none when it was not. Never rejects. */
  async recent(list: ListSource): Promise<readonly Hex[]> {
    const state = this.#knownOf(list)
    while (state.step) await state.step
    if (!state.isLoaded) await this.#asStep(state, () => this.#load(list, state))
    return state.recent
  }

  /** Reads a list as of an hour; a long past in several runs, each of which is remembered. Rejects with a Fault. */
  async read(list: ListSource, hour: Hour): Promise<Listed> {
    const { time } = this.#deps
    if (list.isOfPresent && hour !== hourAt(time.nowMs()))
      throw new Fault('list-missing', `its source knows the present alone, and ${hourText(hour)} is past`)
    const state = this.#knownOf(list)
    state.wanted.push(hour)
    try {
      const listed = await this.#readOn(list, state, hour)
      state.recent = listed.items
      return listed
    } finally {
      state.wanted.splice(state.wanted.indexOf(hour), 1)
    }
  }

  async #readOn(list: ListSource, state: KnownList, hour: Hour): Promise<Listed> {
    // The past is read up to the newest hour that is wanted, unless that cannot be had.
    for (let newestHour = endOfTime, isCertified = false; ; ) {
      // Nothing is awaited between this and the next step, so that one hour alone takes it.
      while (state.step) await state.step
      if (this.#deps.time.nowMs() >= state.certifiedUntilMs && !isCertified) {
        isCertified = true
        await this.#asStep(state, () => this.#certify(list, state, hour))
        continue
      }
      const { memory } = state
      const isFirst = memory === undefined && state.hasMemory !== false
      const finalHour = Math.min(this.#finalHour(list), newestHour, Math.max(...state.wanted)) as Hour
      const run = () => this.#run(list, state, { hour, finalHour, memory })
      const listed = await (isFirst ? this.#asStep(state, run) : run())
      const { first } = listed
      if (first === undefined) return listed
      // Another hour may have read on.
      while (state.step) await state.step
      if (state.memory !== memory) continue
      const before = () => this.#run(list, state, { hour: first, finalHour: first, memory })
      try {
        await this.#asStep(state, before)
      } catch (error) {
        if (first <= hour) throw error
        newestHour = hour
        continue
      }
      if (state.memory === memory) throw new Fault('list-missing', 'its past cannot be read')
    }
  }

  /**
   * Forgets what is remembered of a list, at most once a day: hosts disagree over what was computed from it.
   *
   * @returns whether it is read afresh now. Never rejects
   */
  async doubt(list: ListSource): Promise<boolean> {
    const state = this.#knownOf(list)
    while (state.step) await state.step
    const nowMs = this.#deps.time.nowMs()
    if (!state.memory || !list.isBelieved || nowMs < state.doubtedMs + dayMs) return false
    state.doubtedMs = nowMs
    await this.#drop(list, state, 'hosts disagree over what is computed from it')
    return true
  }

  /** Does something while other hours wait, so that a past is read once. */
  #asStep<T>(state: KnownList, work: () => Promise<T>): Promise<T> {
    const result = work()
    const step = result
      .catch(() => {})
      .then(() => {
        if (state.step === step) delete state.step
      })
    state.step = step
    return step.then(() => result)
  }

  /** Asks for evidence of what is remembered. Rejects with a Fault where that cannot be had. */
  async #certify(list: ListSource, state: KnownList, hour: Hour): Promise<void> {
    await this.#load(list, state)
    await this.#dropForgotten(list, state)
    if (state.memory && list.isBelieved) await this.#requireBlock(list, state, state.memory, hour)
    if (state.memory) await this.#readAgain(list, state, state.memory)
    const { memory } = state
    const isStanding = !memory || !list.isBelieved || memory.hour <= this.#finalHour(list)
    state.certifiedUntilMs = isStanding && state.isLoaded ? this.#deps.time.nowMs() + hourMs : 0
  }

  /** Takes what is kept, if it is of this list and whole. */
  async #load(list: ListSource, state: KnownList): Promise<void> {
    if (state.isLoaded) return
    try {
      const fromKeeper = await this.#deps.keeper?.read(list.name)
      state.isLoaded = true
      if (!fromKeeper || fromKeeper.digest !== this.#digestOf(list, fromKeeper)) return
      state.savedList = fromKeeper
      state.doubtedMs = fromKeeper.doubtedMs
      if (state.memory && state.memory.hour >= fromKeeper.hour) return
      state.memory = fromKeeper
      if (state.recent.length === 0) state.recent = fromKeeper.items
    } catch (error) {
      list.warn(`what is remembered of it cannot be read, so it is read from its beginning: ${textOf(error)}`)
    }
  }

  /** A person or another daemon may have forgotten it. */
  async #dropForgotten(list: ListSource, state: KnownList): Promise<void> {
    const { keeper } = this.#deps
    if (!keeper || !state.savedList) return
    try {
      if ((await keeper.sinceMs(list.name)) === state.savedList.sinceMs) return
    } catch (error) {
      list.warn(`what is remembered of it cannot be read: ${textOf(error)}`)
      return
    }
    Object.assign(state, { ...noMemory, isLoaded: false })
    await this.#load(list, state)
  }

  /** Drops what was read on another branch, or of another chain. @throws Fault of the chain */
  async #requireBlock(list: ListSource, state: KnownList, memory: RememberedList, hour: Hour): Promise<void> {
    const chain = this.#chainOf(list)
    const { block } = memory
    if (!chain || !block) return
    const [isReplaced, asOf] = await Promise.all([
      this.#isReplaced(list, block),
      chain.block(hour, this.#deps.time.timeout(certifyMsMax)).catch(error => {
        // The run says what is wrong with the hour.
        if (error instanceof Fault) return undefined
        throw error
      }),
    ])
    // A node without the header says nothing, but an hour that is not in its order does.
    const isBehind = asOf !== undefined && hour >= memory.hour && asOf.number < block.number
    if (!isReplaced && !isBehind) return
    await this.#drop(list, state, `block ${block.number}, as of which it was read, is not in the chain any more`)
  }

  /** Whether a block is not in the chain any more; not where a node says nothing of it. @throws Fault of the chain */
  async #isReplaced(list: ListSource, block: RememberedList['block']): Promise<boolean> {
    const signal = this.#deps.time.timeout(certifyMsMax)
    return block !== undefined && (await this.#chainOf(list)?.hasBlock?.(block, signal)) === false
  }

  async #drop(list: ListSource, known: KnownList, why: string): Promise<void> {
    list.warn(`${why}: what was remembered of it is forgotten, and it is read from its beginning`)
    Object.assign(known, { ...noMemory, certifiedUntilMs: 0 })
    try {
      await this.#deps.keeper?.forget(list.name)
    } catch (error) {
      list.warn(`what is remembered of it cannot be deleted: ${textOf(error)}`)
    }
  }

  /** Once a day, reads a piece of the past of an event again: a node may have left something out. Never rejects. */
  async #readAgain(list: ListSource, state: KnownList, memory: RememberedList): Promise<void> {
    const nowMs = this.#deps.time.nowMs()
    if (!memory.blocks || list.since === undefined || nowMs < memory.rereadMs + dayMs) return
    const begin = hourAfter(list.since, -1)
    const from = memory.rereadTo > begin && memory.rereadTo < memory.hour ? memory.rereadTo : begin
    const to = Math.min(hourAfter(from, pieceHours), memory.hour) as Hour
    const next = { ...memory, rereadMs: nowMs, rereadTo: to }
    try {
      const task = { hour: to, finalHour: to, memory: { hour: from, items: [], blocks: [] } }
      const piece = (await list.run(task)).memory
      const newMemory = piece ? withItems(memory, piece) : memory
      const count = newMemory.items.length - memory.items.length
      if (count > 0) {
        const hours = `${hourText(hourAfter(from, 1))} to ${hourText(to)}`
        list.warn(
          `${count} of its items had been left out by a node, which were found when ${hours} was read again: hours since then may be wrong, and tidegauge backfill --overwrite mends them`,
        )
      }
      await this.#keep(list, state, { ...next, items: newMemory.items, blocks: newMemory.blocks })
    } catch (error) {
      list.warn(`a piece of its past cannot be read again: ${textOf(error)}`)
      state.memory = next
    }
  }

  async #run(list: ListSource, state: KnownList, listHour: ListHour): Promise<Listed> {
    let reading = await list.run(listHour)
    // From memory alone: no read has shown that its block, which may be kept from before a reorg, is in the chain.
    const isFromMemory = listHour.memory?.blocks !== undefined && listHour.hour <= listHour.memory.hour
    if (isFromMemory && (await this.#isReplaced(list, reading.pins[0]?.block))) reading = await list.run(listHour)
    const { memory, pins, first } = reading
    if (first === undefined) state.hasMemory ??= memory !== undefined
    const [pin] = pins
    if (!memory) return reading
    if (memory.blocks && memory.hour > this.#finalHour(list)) {
      if (pin) state.openRead = { memory, hash: pin.block.hash }
      return reading
    }
    await this.#remember(list, state, memory, pin?.block)
    return reading
  }

  async #remember(list: ListSource, state: KnownList, memory: ListMemory, block: RememberedList['block']) {
    const { memory: memoryBefore, openRead } = state
    if (memoryBefore && memory.hour <= memoryBefore.hour) return
    // The same block: what the hour had when it was not final yet was not replaced since.
    const seen = openRead?.memory.hour === memory.hour && openRead.hash === block?.hash ? openRead.memory : undefined
    const fullMemory = seen ? withItems(memory, seen) : memory
    if (fullMemory.items.length > memory.items.length)
      list.warn('a node leaves out what it has answered before: that counts all the same')
    const nowMs = this.#deps.time.nowMs()
    const { hour, items, blocks } = fullMemory
    const rereadState = memoryBefore ?? { sinceMs: nowMs, rereadMs: nowMs, rereadTo: 0 as Hour }
    if (hour > this.#finalHour(list)) state.certifiedUntilMs = 0
    await this.#keep(list, state, {
      ...{ name: list.name, digest: '', hour, items, blocks, doubtedMs: state.doubtedMs },
      ...{ sinceMs: rereadState.sinceMs, rereadMs: rereadState.rereadMs, rereadTo: rereadState.rereadTo },
      ...(block && { block: { number: block.number, hash: block.hash } }),
    })
  }

  /** Remembers items, and keeps them for the next start where that saves much. Never rejects. */
  async #keep(list: ListSource, state: KnownList, listRead: RememberedList): Promise<void> {
    const memory = { ...listRead, digest: this.#digestOf(list, listRead) }
    const { savedList } = state
    state.memory = memory
    const isNews =
      !savedList ||
      savedList.items.length !== memory.items.length ||
      savedList.rereadMs !== memory.rereadMs ||
      memory.hour >= savedList.hour + dayMs ||
      memory.items.some((item, place) => item !== savedList.items[place])
    if (!this.#deps.keeper || !isNews) return
    try {
      await this.#deps.keeper.save(memory)
      state.savedList = memory
    } catch (error) {
      list.warn(`what is remembered of it cannot be kept: ${textOf(error)}`)
    }
  }

  #knownOf(list: ListSource): KnownList {
    const state = this.#known.get(list.name) ?? {
      ...{ isLoaded: this.#deps.keeper === undefined, certifiedUntilMs: 0, doubtedMs: 0, wanted: [] },
      recent: list.fixed,
    }
    this.#known.set(list.name, state)
    return state
  }

  #chainOf({ chain }: ListSource): Chains[string] | undefined {
    return chain !== undefined && Object.hasOwn(this.#deps.chains, chain) ? this.#deps.chains[chain] : undefined
  }

  #finalHour(list: ListSource): Hour {
    const chain = this.#chainOf(list)
    return (chain && this.#deps.finalHour(chain)) ?? (0 as Hour)
  }

  #digestOf(list: ListSource, { hour, block, items, blocks = [] }: RememberedList): string {
    const memory = [hour, String(block?.number), block?.hash, items, blocks]
    return createHash('sha256')
      .update(JSON.stringify([list.definition, this.#chainOf(list)?.id, memory]))
      .digest('hex')
  }
}

/** A list of the configuration as its options define it. */
export function configuredList({ id, options }: CollectorConfig, means: Pick<ListSource, 'run' | 'warn'>): ListSource {
  const { chain, since, now, event, grows, fixed: fixedItems } = isRecord(options) ? options : {}
  return {
    name: id.slice('list '.length),
    definition: options,
    ...(typeof chain === 'string' && { chain }),
    ...(typeof since === 'string' && { since: hourAt(Date.parse(since)) }),
    isBelieved: event !== undefined || grows === true,
    isOfPresent: now === true,
    fixed: Array.isArray(fixedItems) ? fixedItems : [],
    ...means,
  }
}

/** The items of an event with those of another reading of the same blocks, in the order in which they came. */
function withItems<M extends ListMemory>(memory: M, addition: ListMemory): M {
  const blockByItem = new Map(memory.items.map((item, place) => [item, memory.blocks?.[place] ?? 0]))
  for (const [place, item] of addition.items.entries()) {
    const block = addition.blocks?.[place] ?? 0
    blockByItem.set(item, Math.min(blockByItem.get(item) ?? block, block))
  }
  const sorted = [...blockByItem].sort(([, one], [, two]) => one - two)
  return { ...memory, items: sorted.map(([item]) => item), blocks: sorted.map(([, block]) => block) }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
