import { sentTogether } from '../../edge/batch-scheduler.ts'
import { systemTime } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import type { RequestEnd, TurnAsk, TurnEnd, TurnReply } from '../messages.ts'
import type { RequestTurn, RequestTurns } from './http/turns.ts'

/** Connection to the daemon for turns. */
interface TurnPosts {
  readonly asks: (asks: readonly TurnAsk[]) => void
  readonly ends: (ends: readonly TurnEnd[]) => void
}

/** Turns in a child: the daemon gives them, so that a host's limit holds for the collectors of all processes. */
export class TurnAsks {
  readonly #waiting = new Map<number, (reply: TurnReply) => void>()
  readonly #ask: (ask: TurnAsk) => void
  readonly #end: (end: TurnEnd) => void
  #lastTurn = 0

  constructor(post: TurnPosts) {
    this.#ask = sentTogether(post.asks)
    this.#end = sentTogether(post.ends)
  }

  /** The turns of one run. */
  of(run: string): RequestTurns {
    return { take: (host, signal) => this.#take(run, host, signal) }
  }

  /** Takes a reply of the daemon. A turn that its run does not wait for any more is ended at once. */
  replied(reply: TurnReply): void {
    const resolve = this.#waiting.get(reply.turn)
    if (resolve) resolve(reply)
    else if (reply.kind === 'granted') this.#end({ turn: reply.turn, how: { kind: 'failed' } })
  }

  async #take(run: string, host: string, signal: AbortSignal): Promise<RequestTurn> {
    signal.throwIfAborted()
    this.#lastTurn += 1
    const turn = this.#lastTurn
    const { promise, resolve } = Promise.withResolvers<TurnReply>()
    this.#waiting.set(turn, resolve)
    this.#ask({ turn, run, host })
    try {
      const reply = await unlessAborted(promise, signal)
      const nowMs = systemTime.nowMs()
      if (reply.kind === 'refused') return { kind: 'refused', untilMs: nowMs + reply.waitMs }
      const end = (how: RequestEnd) => this.#end({ turn, how })
      return { kind: 'granted', deadlineAtMs: nowMs + reply.leftMs, end }
    } finally {
      this.#waiting.delete(turn)
    }
  }
}
