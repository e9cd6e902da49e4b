import { Fault } from '../../model/fault.ts'

/** How many RPC calls may be made. */
export interface CallBudget {
  readonly callsMax: number
  /** Made so far. */
  readonly spent: () => number
  /** Chains that may be read. */
  readonly chains: number
}

/** What an hour takes of a chain, about, as long as nothing was measured. */
const guess = { callsOnce: 12, callsAnHour: 6 } as const

/** What a window may take of each chain beyond what the hours of the last one took: how it begins differs. */
const spareCalls = 6

/** Calls that one hour alone takes, about, before anything was measured. */
export function firstHourCalls({ chains }: Pick<CallBudget, 'chains'>): number {
  return chains * (guess.callsOnce + guess.callsAnHour)
}

interface Measured {
  /** Of the first hour, which was read alone: no other takes more alone. */
  readonly oneHourCalls: number
  /** As the last window took. */
  readonly callsAnHour: number
}

/**
 * How many hours the rest of a budget allows: the calls of a window that the cap breaks off are lost. The first window is
 * one hour, as collectors may take any number of calls; those after it are as large as the last one lets expect.
 */
export class HoursAffordable {
  readonly #budget: CallBudget | undefined
  #spentBefore = 0
  #measured: Measured | undefined
  /** Hours of the next window as long as none took any call. */
  #trialHours = 1

  /** @param budget absent: every window may be as large as it likes */
  constructor(budget: CallBudget | undefined) {
    this.#budget = budget
  }

  /** Hours of the next window, from 1 up to `most`. @throws Fault `stopped` when not even one fits */
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

  /** Learns from a window of so many hours. */
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
