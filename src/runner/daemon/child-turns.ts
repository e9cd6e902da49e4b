import type { RequestEnd, TurnAsk, TurnEnd, TurnReply } from '../messages.ts'
import type { Asker, TurnResult } from './host-limit.ts'

/** Gives a turn to send a request to a host, by name and port. Rejects when the asker's run is over. */
type TakeTurn = (host: string, asker: Asker) => Promise<TurnResult>

/** The turns that one process has asked for. */
export class ChildTurns {
  readonly #take: TakeTurn
  readonly #tell: (reply: TurnReply) => void
  /** Ends of the granted turns by their number; undefined while a turn is waited for. */
  readonly #ends = new Map<number, ((how: RequestEnd) => void) | undefined>()
  #isOver = false

  constructor(take: TakeTurn, tell: (reply: TurnReply) => void) {
    this.#take = take
    this.#tell = tell
  }

  /** Asks for a turn and replies. @returns a mistake in the question; `undefined` when it is valid */
  ask({ turn, host }: TurnAsk, asker: Asker): string | undefined {
    if (this.#ends.has(turn)) return 'a turn that it has asked for already'
    this.#ends.set(turn, undefined)
    void this.#reply(turn, host, asker)
    return undefined
  }

  /** Ends a turn. One that is not held any more is ignored. */
  end({ turn, how }: TurnEnd): void {
    const end = this.#ends.get(turn)
    if (!end) return
    this.#ends.delete(turn)
    end(how)
  }

  /** Ends all turns, because the process has ended. */
  endAll(): void {
    this.#isOver = true
    for (const turn of this.#ends.keys()) this.end({ turn, how: { kind: 'failed' } })
  }

  async #reply(turn: number, host: string, asker: Asker): Promise<void> {
    try {
      const result = await asker.deadline.without(this.#take(host, asker))
      this.#ends.set(turn, result.kind === 'granted' ? result.end : () => {})
      if (this.#isOver || result.kind === 'refused') this.end({ turn, how: { kind: 'failed' } })
      const { leftMs } = asker.deadline
      this.#tell(result.kind === 'granted' ? { turn, kind: 'granted', leftMs } : { turn, ...result })
    } catch {
      // The run is over.
      this.#ends.delete(turn)
    }
  }
}
