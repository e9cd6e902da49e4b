import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { Time } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { isRecord } from '../../model/json.ts'
import type { Listed, ListMemory, ListTask } from '../messages.ts'

/**
 * Keeps what lists have read, for the next start. It only saves reads: answers are the same without it. No method
 * rejects.
 */
export interface ListKeeper {
  /** Memory of a list; `undefined` when none was kept, or of another list with its name. */
  read(list: CollectorConfig): Promise<ListMemory | undefined>
  write(list: CollectorConfig, memory: ListMemory): Promise<void>
}

/** The part of a task that a list adds. */
export type ListHour = Pick<ListTask, 'hour' | 'isFinal' | 'known'>

interface ListsDeps {
  readonly chains: Chains
  readonly time: Time
  readonly keeper?: ListKeeper | undefined
  /** Runs a list once. Rejects with a Fault. */
  readonly run: (list: CollectorConfig, at: ListHour) => Promise<Listed>
}

/** State of one list. */
interface KnownList {
  /** Read at a final block: a reorg cannot change it. */
  memory?: ListMemory | undefined
  /** Read at a block that was not final, with its hash. It becomes the memory once its hour is final. */
  pending?: { readonly memory: ListMemory; readonly hash: Hex } | undefined
  /** As last read, of whichever hour. */
  recent: readonly Hex[]
}

/** Reads the lists of the configuration, each on from what it has read before. */
export class Lists {
  readonly #deps: ListsDeps
  readonly #known = new Map<string, Promise<KnownList>>()

  constructor(deps: ListsDeps) {
    this.#deps = deps
  }

  /** The items when the list was last read, of whichever hour; none when it was not. Never rejects. */
  async recent(list: CollectorConfig | undefined): Promise<readonly Hex[]> {
    return list ? (await this.#knownOf(list)).recent : []
  }

  /** Reads a list as of an hour; a long past in several runs, each of which is remembered. Rejects with a Fault. */
  async read(list: CollectorConfig, hour: Hour): Promise<Listed> {
    const known = await this.#knownOf(list)
    await this.#adopt(list, known)
    for (;;) {
      const listed = await this.#run(list, known, hour)
      if (listed.first === undefined) {
        known.recent = listed.items
        return listed
      }
      const before = await this.#run(list, known, listed.first)
      if (known.memory?.hour !== listed.first) throw stuck(before)
    }
  }

  async #run(list: CollectorConfig, known: KnownList, hour: Hour): Promise<Listed> {
    const isFinal = this.#isFinal(list, hour)
    const listed = await this.#deps.run(list, { hour, isFinal, known: known.memory })
    const { memory, pins } = listed
    const [pin] = pins
    if (!memory || !pin) return listed
    if (isFinal) await this.#remember(list, known, memory)
    // The first that waits becomes final first.
    else known.pending ??= { memory, hash: pin.block.hash }
    return listed
  }

  /** Remembers what was read at a block that has become final, if that is still the block of its hour. */
  async #adopt(list: CollectorConfig, known: KnownList): Promise<void> {
    const { pending } = known
    if (!pending || !this.#isFinal(list, pending.memory.hour)) return
    delete known.pending
    const { time } = this.#deps
    const block = await this.#chainOf(list)
      ?.block(pending.memory.hour, time.timeout(lookUpMsMax))
      .catch(() => undefined)
    if (block?.hash === pending.hash) await this.#remember(list, known, pending.memory)
  }

  async #remember(list: CollectorConfig, known: KnownList, memory: ListMemory): Promise<void> {
    known.memory = memory
    await this.#deps.keeper?.write(list, memory)
  }

  #knownOf(list: CollectorConfig): Promise<KnownList> {
    const known = this.#known.get(list.id) ?? this.#load(list)
    this.#known.set(list.id, known)
    return known
  }

  async #load(list: CollectorConfig): Promise<KnownList> {
    const memory = await this.#deps.keeper?.read(list)
    return { memory, recent: memory?.items ?? fixedItems(list.options) }
  }

  #chainOf({ options }: CollectorConfig): Chains[string] | undefined {
    const name = isRecord(options) ? options['chain'] : undefined
    return typeof name === 'string' && Object.hasOwn(this.#deps.chains, name) ? this.#deps.chains[name] : undefined
  }

  #isFinal(list: CollectorConfig, hour: Hour): boolean {
    const chain = this.#chainOf(list)
    return chain !== undefined && hour + chain.settleMs <= this.#deps.time.nowMs()
  }
}

/** Time limit for looking up whether a block is still the block of its hour. */
const lookUpMsMax = 10_000

/** Fixed items need no run to be known. */
function fixedItems(options: unknown): readonly Hex[] {
  const fixed = isRecord(options) ? options['fixed'] : undefined
  return Array.isArray(fixed) ? fixed : []
}

function stuck({ first }: Listed): Fault {
  const again = first === undefined ? 'nothing is remembered of it' : 'it must be read of yet an earlier hour'
  return new Fault('list-missing', `its past cannot be read: ${again}`)
}
