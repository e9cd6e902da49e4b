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
export interface Asks {
  /**
   * The chain as one run sees it, as of its hour or an earlier one. Rejects with the signal's reason when aborted before
   * the reply.
   */
  reader(run: string, chain: string, hoursBefore: number, scope: Pick<Scope, 'waitsFor'>): RawReads
  /** A price as of the run's hour. Rejects with the signal's reason when aborted before the reply. */
  price(run: string, name: string, scope: Pick<Scope, 'waitsFor'>, signal: AbortSignal): Promise<Priced>
  /** Shows an off-chain request to the daemon. @returns the answer. Rejects with its Fault, or the signal's reason */
  http(run: string, request: HttpRead, signal: AbortSignal): Promise<string>
  replied(ask: number, reply: Reply['reply']): void
}

/** @param post sends questions to the daemon */
export function createAsks(post: (asks: readonly Ask[]) => void): Asks {
  const waiting = new Map<number, (reply: Reply['reply']) => void>()
  const scheduler = new BatchScheduler<Ask, Reply['reply']>(
    jobs => {
      for (const { request, resolve } of jobs) waiting.set(request.ask, resolve)
      post(jobs.map(({ request }) => request))
    },
    { untilComplete },
  )
  let lastAsk = 0

  async function ask(run: string, question: RunQuestion, signal: AbortSignal) {
    signal.throwIfAborted()
    const number = ++lastAsk
    try {
      const reply = await scheduler.schedule({ ask: number, run, ...question }, signal)
      if (reply.kind === 'faulted') throw faultFromRecord(reply.fault)
      return reply
    } finally {
      waiting.delete(number)
    }
  }

  async function askChain(run: string, asked: ChainAsk, signal: AbortSignal) {
    const wrong = questionMistake(asked.question)
    if (wrong !== undefined) throw new Fault('collector-output', `a read of ${asked.chain}: ${wrong}`)
    return ask(run, asked, signal)
  }

  return {
    replied: (number, reply) => waiting.get(number)?.(reply),
    async price(run, name, scope, signal) {
      const reply = await scope.waitsFor(`price ${name}`, ask(run, { price: name }, signal))
      return reply.kind === 'price' ? reply.price : mismatch(`price ${name}`)
    },
    async http(run, request, signal) {
      const reply = await ask(run, { http: request }, signal)
      return reply.kind === 'http' ? reply.text : mismatch('a request')
    },
    reader: (run, chain, hoursBefore, scope) => {
      const at = hoursBefore > 0 ? { chain, hoursBefore } : { chain }
      const asked = (question: ChainQuestion, signal: AbortSignal) =>
        scope.waitsFor(`chain ${chain}`, askChain(run, { ...at, question }, signal))
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
    },
  }
}

function mismatch(asked: string): never {
  throw new Fault('chain-unreachable', `${asked} was answered with something else`)
}
