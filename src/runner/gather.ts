/** How long items are gathered before they are sent together, in event-loop turns. */
export interface GatherWait {
  /** Turns without a new item after which they are sent; 0: at the end of the turn of the first. */
  readonly quietTurns: number
  /** Turns after which they are sent in any case. */
  readonly turnsMax: number
}

/** Items of one turn are sent at its end. */
export const atTurnsEnd: GatherWait = { quietTurns: 0, turnsMax: 1 }

/**
 * Gathers items and passes them on together. Counts turns, not time, so that the result does not depend on the speed of
 * the machine.
 *
 * @param leave called with all gathered items, never with none
 * @returns a function that adds one
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
