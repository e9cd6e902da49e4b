import { LogList } from '../../chain/log-list.ts'
import type { RawReads } from '../../chain/reads.ts'
import { afterQuietTurn, BatchScheduler } from '../../edge/batch-scheduler.ts'
import { Fault, faultFromRecord } from '../../model/fault.ts'
import type { Ask, ChainQuestion, ChainReply } from '../messages.ts'
import { questionMistake } from '../question.ts'
import type { Scope } from './scope.ts'

/** The first questions of the runs of one message come within a turn or two; the bound is for runs that never pause. */
const departure = afterQuietTurn(50)

/** Chain access in a child: the questions of all runs are sent together once no new one comes. */
export interface ChainAsks {
  /** The chain as one run sees it. Rejects with the signal's reason when aborted before the reply. */
  reader(run: string, chain: string, scope: Pick<Scope, 'waitsFor'>): RawReads
  replied(ask: number, reply: ChainReply): void
}

/** @param post sends questions to the daemon */
export function createChainAsks(post: (asks: readonly Ask[]) => void): ChainAsks {
  const waiting = new Map<number, (reply: ChainReply) => void>()
  const scheduler = new BatchScheduler<Ask, ChainReply>(
    jobs => {
      for (const { request, resolve } of jobs) waiting.set(request.ask, resolve)
      post(jobs.map(({ request }) => request))
    },
    { departure },
  )
  let lastAsk = 0

  async function ask(run: string, chain: string, question: ChainQuestion, signal: AbortSignal): Promise<ChainReply> {
    signal.throwIfAborted()
    const wrong = questionMistake(question)
    if (wrong !== undefined) throw new Fault('collector-output', `a read of ${chain}: ${wrong}`)
    const number = ++lastAsk
    try {
      const reply = await scheduler.schedule({ ask: number, run, chain, question }, signal)
      if (reply.kind === 'faulted') throw faultFromRecord(reply.fault)
      return reply
    } finally {
      waiting.delete(number)
    }
  }

  return {
    replied: (number, reply) => waiting.get(number)?.(reply),
    reader: (run, chain, scope) => {
      const asked = (question: ChainQuestion, signal: AbortSignal) =>
        scope.waitsFor(`chain ${chain}`, ask(run, chain, question, signal))
      return {
        async block(_hour, signal) {
          const reply = await asked({ kind: 'block' }, signal)
          return reply.kind === 'block' ? reply.at : mismatch(chain)
        },
        async read(_hour, requests, signal) {
          const reply = await asked({ kind: 'read', requests }, signal)
          return reply.kind === 'read' ? reply.value : mismatch(chain)
        },
        async logs(_hour, filter, signal) {
          const reply = await asked({ kind: 'logs', filter }, signal)
          return reply.kind === 'logs' ? new LogList(reply.value) : mismatch(chain)
        },
      }
    },
  }
}

function mismatch(chain: string): never {
  throw new Fault('chain-unreachable', `a read of ${chain} was answered with something else`)
}
