import { LogList } from '../../chain/log-list.ts'
import type { RawReads } from '../../chain/reads.ts'
import { afterQuietTurn, BatchScheduler } from '../../edge/batch-scheduler.ts'
import { Fault, faultFromRecord } from '../../model/fault.ts'
import type { Ask, ChainAsk, ChainQuestion, HttpRead, Priced, Reply, RunQuestion } from '../messages.ts'
import { questionMistake } from '../question.ts'
import type { Scope } from './scope.ts'

/** The first questions of the runs of one message come within a turn or two; the bound is for runs that never pause. */
const untilComplete = afterQuietTurn(50)

/** Questions of a child to the daemon: those of all runs are sent together once no new one comes. */
export class Asks {
  readonly #waiting = new Map<number, (reply: Reply['reply']) => void>()
  readonly #scheduler: BatchScheduler<Ask, Reply['reply']>
  #lastAsk = 0

  /** @param post sends questions to the daemon */
  constructor(post: (asks: readonly Ask[]) => void) {
    this.#scheduler = new BatchScheduler<Ask, Reply['reply']>(
      jobs => {
        for (const { request, resolve } of jobs) this.#waiting.set(request.ask, resolve)
        post(jobs.map(({ request }) => request))
      },
      { untilComplete },
    )
  }

  /**
   * The chain as one run sees it, as of its hour or an earlier one. Rejects with the signal's reason when aborted before
   * the reply.
   */
  reader(run: string, chain: string, hoursBefore: number, scope: Pick<Scope, 'waitsFor'>): RawReads {
    const at = hoursBefore > 0 ? { chain, hoursBefore } : { chain }
    const asked = (question: ChainQuestion, signal: AbortSignal) =>
      scope.waitsFor(`chain ${chain}`, this.#askChain(run, { ...at, question }, signal))
    return {
      async block(_hour, signal) {
        const reply = await asked({ kind: 'block' }, signal)
        return reply.kind === 'block' ? reply.at : mismatch(`a read of ${chain}`)
      },
      async read(_hour, requests, signal) {
        const reply = await asked({ kind: 'read', requests }, signal)
        return reply.kind === 'read' ? reply.value : mismatch(`a read of ${chain}`)
      },
      async logs(_hour, filter, signal) {
        const reply = await asked({ kind: 'logs', filter }, signal)
        return reply.kind === 'logs' ? new LogList(reply.value) : mismatch(`a read of ${chain}`)
      },
    }
  }

  /** A price as of the run's hour. Rejects with the signal's reason when aborted before the reply. */
  async price(run: string, name: string, scope: Pick<Scope, 'waitsFor'>, signal: AbortSignal): Promise<Priced> {
    const reply = await scope.waitsFor(`price ${name}`, this.#ask(run, { price: name }, signal))
    return reply.kind === 'price' ? reply.price : mismatch(`price ${name}`)
  }

  /** Shows an off-chain request to the daemon. @returns the answer. Rejects with its Fault, or the signal's reason */
  async http(run: string, request: HttpRead, signal: AbortSignal): Promise<string> {
    const reply = await this.#ask(run, { http: request }, signal)
    return reply.kind === 'http' ? reply.text : mismatch('a request')
  }

  /** Resolves the question that the daemon has replied to; one that was aborted is forgotten. */
  replied(ask: number, reply: Reply['reply']): void {
    this.#waiting.get(ask)?.(reply)
  }

  async #ask(run: string, question: RunQuestion, signal: AbortSignal): Promise<Reply['reply']> {
    signal.throwIfAborted()
    this.#lastAsk += 1
    const ask = this.#lastAsk
    try {
      const reply = await this.#scheduler.schedule({ ask, run, ...question }, signal)
      if (reply.kind === 'faulted') throw faultFromRecord(reply.fault)
      return reply
    } finally {
      this.#waiting.delete(ask)
    }
  }

  async #askChain(run: string, asked: ChainAsk, signal: AbortSignal): Promise<Reply['reply']> {
    const wrong = questionMistake(asked.question)
    if (wrong !== undefined) throw new Fault('collector-output', `a read of ${asked.chain}: ${wrong}`)
    return this.#ask(run, asked, signal)
  }
}

function mismatch(asked: string): never {
  throw new Fault('chain-unreachable', `${asked} was answered with something else`)
}
