import { commitRowsMax } from '../../model/limits.ts'
import type { Settlement } from '../../outbox/outbox.ts'

interface Waiting {
  readonly settlement: Settlement
  readonly recorded: PromiseWithResolvers<void>
  readonly onDelay: () => void
}

/** Stores a settlement, all or nothing; says when that cannot be done at once. */
export type Record = (settlement: Settlement, onDelay: () => void) => Promise<void>

/**
 * Verdicts that arrive in the same turn of the event loop are recorded in one commit. A lane goes on only when its own is
 * recorded, or waits for another process's lock, so that no more is sent twice after a crash than was under way.
 */
export class AckGroup {
  readonly #record: Record
  #waiting: Waiting[] = []

  constructor(record: Record) {
    this.#record = record
  }

  /**
   * Resolves when it is recorded; rejects with what recording threw.
   *
   * @param onDelay called when it cannot be recorded at once
   */
  add(settlement: Settlement, onDelay: () => void = () => {}): Promise<void> {
    if (this.#waiting.length === 0) setImmediate(() => void this.#commit())
    const recorded = Promise.withResolvers<void>()
    this.#waiting.push({ settlement, recorded, onDelay })
    return recorded.promise
  }

  async #commit(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    for (const group of groupsOf(waiting)) {
      try {
        const onDelay = () => group.forEach(one => void one.onDelay())
        await this.#record(merged(group.map(({ settlement }) => settlement)), onDelay)
        for (const { recorded } of group) recorded.resolve()
      } catch (error) {
        for (const { recorded } of group) recorded.reject(error)
      }
    }
  }
}

/** In their order, each of as many rows as a commit may hold, or of one settlement. */
function groupsOf(waiting: readonly Waiting[]): Waiting[][] {
  const groups: Waiting[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const one of waiting) {
    const { delivered, dead, warnings } = one.settlement
    const more = delivered.length + dead.length + warnings.length
    if (rows + more > commitRowsMax) {
      groups.push([])
      rows = 0
    }
    rows += more
    groups.at(-1)?.push(one)
  }
  return groups
}

function merged(settlements: readonly Settlement[]): Settlement {
  const [only] = settlements
  if (only && settlements.length === 1) return only
  return {
    delivered: settlements.flatMap(({ delivered }) => delivered),
    dead: settlements.flatMap(({ dead }) => dead),
    warnings: settlements.flatMap(({ warnings }) => warnings),
  }
}
