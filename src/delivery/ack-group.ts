import { commitRowsMax } from '../model/limits.ts'
import type { Settlement } from '../outbox/outbox.ts'

interface Waiting {
  readonly settlement: Settlement
  readonly recorded: PromiseWithResolvers<void>
}

/**
 * Verdicts that arrive in the same turn of the event loop are recorded in one commit. A lane goes on only when its own is
 * recorded, so that no more is sent twice after a crash than was under way.
 */
export class AckGroup {
  readonly #record: (settlement: Settlement) => void
  #waiting: Waiting[] = []

  /** @param record stores a settlement, all or nothing */
  constructor(record: (settlement: Settlement) => void) {
    this.#record = record
  }

  /** Resolves when it is recorded; rejects with what recording threw. */
  add(settlement: Settlement): Promise<void> {
    if (this.#waiting.length === 0) setImmediate(() => this.#commit())
    const recorded = Promise.withResolvers<void>()
    this.#waiting.push({ settlement, recorded })
    return recorded.promise
  }

  #commit(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const group of groupsOf(waiting)) {
      try {
        this.#record(merged(group.map(({ settlement }) => settlement)))
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
