import { Fault } from '../../model/fault.ts'

/** Limit on the RPC calls of a backfill. */
export interface CallBudget {
  /** Calls, at most. */
  readonly callsMax: number
  /** Number of calls made so far. */
  readonly spent: () => number
  /** Number of chains that may be read. */
  readonly chains: number
}

/** Assumed calls of an hour for each chain, before anything was measured. */
const guess = { callsOnce: 12, callsAnHour: 6 } as const

/** Calls a window may need of each chain beyond those the last one suggests: their beginnings differ. */
const spareCalls = 6

/** Assumed calls of a single hour, before anything was measured. */
export function firstHourCalls({ chains }: Pick<CallBudget, 'chains'>): number {
  return chains * (guess.callsOnce + guess.callsAnHour)
}

interface Measured {
  /** Calls of the first hour, which was read alone: no later hour takes more alone. */
  readonly oneHourCalls: number
  /** Calls for each hour of the last window. */
  readonly callsAnHour: number
}

/**
 * Computes how many hours fit into the rest of a budget, because the calls of a window cut off by the limit are lost.
 * The first window is one hour, as collectors may make any number of calls; the last window predicts the next.
 */
export class HoursAffordable {
  readonly #budget: CallBudget | undefined
  #spentBefore = 0
  #measured: Measured | undefined
  /** Hours of the next window while no calls were needed. */
  #trialHours = 1

  /** @param budget absent: windows are not limited */
  constructor(budget: CallBudget | undefined) {
    this.#budget = budget
  }

  /** Hours of the next window, from 1 to `most`. @throws Fault `stopped` when not even one fits */
  next(most: number): number {
    if (!this.#budget || this.#budget.chains === 0) return most
    const { callsMax, chains } = this.#budget
    this.#spentBefore = this.#budget.spent()
    const rest = callsMax - this.#spentBefore
    const one = this.#measured?.oneHourCalls ?? firstHourCalls(this.#budget)
    if (rest < one) throw tooFew(rest, callsMax, one)
    if (!this.#measured) return Math.min(most, this.#trialHours)
    const fitting = Math.floor((rest - spareCalls * chains) / this.#measured.callsAnHour)
    return Math.min(most, Math.max(1, fitting))
  }

  /** Records that a window of this many hours was read. */
  took(hours: number): void {
    const calls = (this.#budget?.spent() ?? 0) - this.#spentBefore
    if (calls === 0) this.#trialHours *= 2
    else this.#measured = { callsAnHour: calls / hours, oneHourCalls: this.#measured?.oneHourCalls ?? calls }
  }
}

function tooFew(rest: number, callsMax: number, one: number): Fault {
  const message = `one more hour takes about ${one} RPC calls, and ${rest} of the ${callsMax} of --max-calls are left`
  return new Fault('stopped', message)
}
