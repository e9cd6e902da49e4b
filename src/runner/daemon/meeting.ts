import type { Time } from '../../edge/time.ts'
import type { Hour } from '../../model/hour.ts'
import { meetMsMax } from './limits.ts'

interface Round {
  /** Runs that have neither asked nor ended yet. */
  readonly silent: Set<string>
  readonly met: Promise<void>
  readonly open: () => void
  /** Whether a question waits, so that the time limit runs. */
  isWaiting: boolean
}

/**
 * Lets the first questions of an hour's runs meet, from all processes: questions of one turn are one request to the
 * node. A question waits until all runs of its hour have asked or ended, but only up to a limit, since a process may be
 * slow to start.
 */
export class Meeting {
  readonly #time: Time
  readonly #rounds = new Map<Hour, Round>()

  constructor(time: Time) {
    this.#time = time
  }

  /** Adds a run given to a process. */
  join(hour: Hour, run: string): void {
    const round = this.#rounds.get(hour) ?? this.#newRound(hour)
    round.silent.add(run)
  }

  /** Puts a run in the place that was kept for it. */
  takePlace(hour: Hour, place: string, run: string): void {
    this.join(hour, run)
    this.leave(hour, place)
  }

  /** Removes a run that has ended, or will not ask. */
  leave(hour: Hour, run: string): void {
    const round = this.#rounds.get(hour)
    round?.silent.delete(run)
    if (round?.silent.size === 0) this.#end(hour, round)
  }

  /** Waits for the others. Resolves in one turn for all that wait. */
  async ask(hour: Hour, run: string): Promise<void> {
    const round = this.#rounds.get(hour)
    // Further questions of a run wait with its first.
    if (!round?.silent.has(run)) return round?.isWaiting ? round.met : undefined
    if (!round.isWaiting) {
      round.isWaiting = true
      const bound = new AbortController()
      void round.met.then(() => bound.abort())
      void this.#time.sleep(meetMsMax, bound.signal).then(
        () => this.#end(hour, round),
        () => {},
      )
    }
    this.leave(hour, run)
    return round.met
  }

  #newRound(hour: Hour): Round {
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { silent: new Set(), met: promise, open: resolve, isWaiting: false }
    this.#rounds.set(hour, round)
    return round
  }

  #end(hour: Hour, round: Round): void {
    if (this.#rounds.get(hour) === round) this.#rounds.delete(hour)
    round.open()
  }
}
