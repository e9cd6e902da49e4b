import type { ServiceClient } from '../../src/edge/service-client.ts'
import { answerTimes } from '../../src/model/answer-times.ts'
import type { Answer } from '../../src/model/verdict.ts'
import type { ReadMetric, Registration } from '../../src/model/wire.ts'
import type { Clock } from './clock.ts'
import { type Reply, type Request, type Service, sentMetrics } from './service.ts'

/** Listener to what one life of the process asks and hears. */
export interface Listener {
  asked(request: Request): void
  /** @param sentMs when it was asked */
  heard(request: Request, reply: Reply, sentMs: number): void
}

/** The way of one life of the process to the service. A request arrives also when it dies meanwhile. */
export class ScriptedClient implements ServiceClient {
  readonly host = 'metrics.example'
  readonly #clock: Clock
  readonly #service: Service
  readonly #isAlive: () => boolean
  readonly #listener: Listener
  readonly #believedMs: () => number
  /** Requests that are not answered yet. */
  underWay = 0

  /** @param believedMs the time as the process knows it */
  constructor(clock: Clock, service: Service, isAlive: () => boolean, listener: Listener, believedMs: () => number) {
    this.#clock = clock
    this.#service = service
    this.#isAlive = isAlive
    this.#listener = listener
    this.#believedMs = believedMs
  }

  push(body: string, key: string, stop: AbortSignal): Promise<Answer> {
    return this.#ask({ kind: 'push', key, metrics: sentMetrics(body) }, stop)
  }

  register({ id }: Registration, key: string, stop?: AbortSignal): Promise<Answer> {
    return this.#ask({ kind: 'register', key, id }, stop)
  }

  validateKey(key: string, stop?: AbortSignal): Promise<Answer> {
    return this.#ask({ kind: 'validate-key', key }, stop)
  }

  async validateProtocol(): Promise<Answer> {
    return { kind: 'unanswered', reason: 'not asked in these worlds' }
  }

  async widget(): Promise<readonly ReadMetric[]> {
    return []
  }

  async close(): Promise<void> {}

  #ask(request: Request, stop?: AbortSignal): Promise<Answer> {
    return new Promise(resolve => {
      if (!this.#isAlive()) return
      this.#listener.asked(request)
      this.underWay += 1
      const [sentMs, sentBelievedMs] = [this.#clock.nowMs(), this.#believedMs()]
      let isOpen = true
      const end = (answer: Answer) => {
        if (!isOpen || !this.#isAlive()) return
        isOpen = false
        stop?.removeEventListener('abort', broken)
        this.underWay -= 1
        resolve(answer)
      }
      const broken = () => end({ kind: 'unanswered', reason: 'no answer (AbortError)' })
      stop?.addEventListener('abort', broken)
      this.#clock.after(this.#service.latencyMs, () => {
        const reply = this.#service.answer(request)
        this.#clock.after(reply.afterMs, () => {
          if (!isOpen || !this.#isAlive()) return
          this.#listener.heard(request, reply, sentMs)
          end(answerOf(reply, sentBelievedMs, this.#believedMs()))
        })
      })
    })
  }
}

/** As the client proper reads an answer. */
function answerOf({ status, body, date, retryAfter }: Reply, sentMs: number, receivedMs: number): Answer {
  if (status === undefined) return { kind: 'unanswered', reason: 'no answer (ECONNRESET)' }
  return { kind: 'answered', status, body, ...answerTimes({ date, 'retry-after': retryAfter }, { sentMs, receivedMs }) }
}
