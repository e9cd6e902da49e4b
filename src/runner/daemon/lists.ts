import type { Chains } from '../../chain/reads.ts'
import type { CollectorConfig } from '../../config/config.ts'
import type { Time } from '../../edge/time.ts'
import { type Hex, isFinal } from '../../model/block.ts'
import type { EarliestMs } from '../../model/clock.ts'
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
  /** The earliest that the present can be, as in `isFinal`. */
  readonly earliestMs: () => EarliestMs | undefined
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
  /** Whether anything of it is remembered; unknown until it was read. */
  hasMemory?: boolean
  /** A run that reads on for all hours. Never rejects. */
  step?: Promise<unknown>
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
      await this.#lastStep(known)
      const { memory, step } = known
      const isFirst = memory === undefined && known.hasMemory !== false
      const listed = await (isFirst ? this.#step(list, known, hour) : this.#run(list, known, hour))
      const { first, items } = listed
      if (first === undefined) {
        known.recent = items
        return listed
      }
      // Another hour may be reading on.
      if (!isFirst && known.step !== step) continue
      await this.#step(list, known, first)
      if (known.memory === memory) throw new Fault('list-missing', 'its past cannot be read')
    }
  }

  /** Waits until no hour reads on. */
  async #lastStep(known: KnownList): Promise<void> {
    let step: KnownList['step']
    do {
      step = known.step
      await step
    } while (step !== known.step)
  }

  /** Runs a list while other hours wait, so that its past is read once. */
  #step(list: CollectorConfig, known: KnownList, hour: Hour): Promise<Listed> {
    const run = this.#run(list, known, hour)
    known.step = run.catch(() => {})
    return run
  }

  async #run(list: CollectorConfig, known: KnownList, hour: Hour): Promise<Listed> {
    const isFinal = this.#isFinal(list, hour)
    const listed = await this.#deps.run(list, { hour, isFinal, known: known.memory })
    const { memory, pins, first } = listed
    const [pin] = pins
    if (first === undefined) known.hasMemory ??= memory !== undefined
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
    if (known.memory && memory.hour <= known.memory.hour) return
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
    return chain !== undefined && isFinal(hour, chain.settleMs, this.#deps.earliestMs())
  }
}

/** Time limit for looking up whether a block is still the block of its hour. */
const lookUpMsMax = 10_000

/** Fixed items need no run to be known. */
function fixedItems(options: unknown): readonly Hex[] {
  const fixed = isRecord(options) ? options['fixed'] : undefined
  return Array.isArray(fixed) ? fixed : []
}
