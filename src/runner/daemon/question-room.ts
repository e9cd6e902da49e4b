import type { Ask } from '../messages.ts'

/** Reads that processes of foreign code may wait for together; each of them for half. */
const readsWaitingMax = 40_000

/** Reads that each process may wait for, whatever the others do: one that asks little is never held up. */
const readsOfEach = 1_000

/**
 * Bounds the memory that questions of foreign code take while nodes do not answer: a process with too many is not read until
 * some have replies. A message may exceed the bounds where it begins below them.
 */
export class QuestionRoom {
  readonly #readsOf = new Map<object, number>()
  #all = 0
  #left = Promise.withResolvers<void>()

  /** Counts a question of a process. @returns to be called when it has its reply */
  take(owner: object, question: Ask): () => void {
    const reads = readsIn(question)
    this.#add(owner, reads)
    return () => {
      this.#add(owner, -reads)
      this.#wake()
    }
  }

  isFreeFor(owner: object): boolean {
    const own = this.#readsOf.get(owner) ?? 0
    return own < readsOfEach || (this.#all < readsWaitingMax && own < readsWaitingMax / 2)
  }

  /** Resolves when a process may ask more, or the signal is aborted. */
  async freeFor(owner: object, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake()
    signal.addEventListener('abort', wake)
    while (!signal.aborted && !this.isFreeFor(owner)) await this.#left.promise
    signal.removeEventListener('abort', wake)
  }

  #wake(): void {
    this.#left.resolve()
    this.#left = Promise.withResolvers()
  }

  #add(owner: object, reads: number): void {
    this.#all += reads
    const own = (this.#readsOf.get(owner) ?? 0) + reads
    if (own > 0) this.#readsOf.set(owner, own)
    else this.#readsOf.delete(owner)
  }
}

/** Reads of a question; of logs, the addresses and topics that they must have. */
function readsIn(ask: Ask): number {
  if (!('chain' in ask)) return 1
  const { question } = ask
  if (question.kind === 'block') return 1
  if (question.kind === 'read') return 1 + question.requests.length
  const { address, topics } = question.filter
  return [address, ...topics].flat().length
}
