/** What is to leave together: how many turns of the event loop are waited for more of it. */
export interface GatherWait {
  /** Turns without anything new after which it leaves; 0: at the end of the turn it came in. */
  readonly quietTurns: number
  /** Turns after which it leaves in any case. */
  readonly turnsMax: number
}

/** What came in one turn leaves at its end. */
export const atTurnsEnd: GatherWait = { quietTurns: 0, turnsMax: 1 }

/**
 * Gathers what comes one by one and lets it leave together. Counts turns, not time: how it is parted does not depend on
 * how fast the machine is.
 *
 * @param leave is called with everything gathered, never with nothing
 * @returns takes one
 */
export function gathering<T>(leave: (all: readonly T[]) => void, patience: GatherWait = atTurnsEnd): (one: T) => void {
  let waiting: T[] = []

  function turned(seen: number, quiet: number, turns: number): void {
    const quietNow = waiting.length === seen ? quiet + 1 : 0
    if (quietNow < patience.quietTurns && turns < patience.turnsMax) {
      const { length } = waiting
      setImmediate(() => turned(length, quietNow, turns + 1))
      return
    }
    const all = waiting
    waiting = []
    leave(all)
  }

  return one => {
    if (waiting.push(one) === 1) setImmediate(() => turned(0, 0, 1))
  }
}
