import { isYetToCome } from '../../model/backoff.ts'
import type { Answer } from '../../model/verdict.ts'
import { keyAskMs } from './limits.ts'
import type { Stop } from './stop.ts'

/** Asks the service about a key. */
export type ValidateKey = (key: string) => Promise<Answer>

/**
 * Knows which key the service has refused. Nothing is sent with it until the service says that it is valid. The service is
 * asked each hour, when a person wants it, and at once when the key has changed.
 */
export class KeyWatch {
  #refusedKey: string | undefined
  #askedKey: string | undefined
  #askedAtMs = 0

  /** Notes that the service answered 401. */
  refused(key: string, nowMs: number): void {
    this.#refusedKey = key
    this.#askedKey = key
    this.#askedAtMs = nowMs
  }

  isRefused(key: string): boolean {
    return this.#refusedKey === key
  }

  /** Instant at which the service is asked about the refused key again. */
  get askAtMs(): number {
    return this.#askedAtMs + keyAskMs
  }

  /**
   * Whether there is an untried key in place of the refused one, which need not wait for anything.
   *
   * @param readKey may throw, for example while the key is being exchanged
   */
  hasNew(readKey: () => string): boolean {
    if (this.#refusedKey === undefined) return false
    try {
      const key = readKey()
      return key !== this.#refusedKey && key !== this.#askedKey
    } catch {
      return false
    }
  }

  /**
   * The reason why nothing may be sent with a key; `undefined` when something may.
   *
   * @param validate called after a refusal only
   * @param isAsked a person wants it to be tried
   */
  async objection(key: string, validate: ValidateKey, nowMs: number, isAsked: boolean): Promise<Stop | undefined> {
    if (this.#refusedKey === undefined) return undefined
    const isSame = this.#refusedKey === key
    const isAskedLately = isYetToCome(this.askAtMs, nowMs, keyAskMs)
    if (isSame && !isAsked && isAskedLately) {
      return { kind: 'key-refused', reason: '401', isUnchanged: true }
    }
    this.#askedKey = key
    this.#askedAtMs = nowMs
    const which = isSame ? 'the refused key' : 'the changed key'
    const answer = await validate(key)
    const wait = waitOf(answer)
    if (wait) return { kind: 'transient', reason: `${which} could not be checked: ${wait.stop.reason}` }
    const status = answer.kind === 'answered' ? answer.status : 0
    if (status === 401) this.#refusedKey = key
    if (status < 200 || status >= 300) {
      return { kind: 'key-refused', reason: `${status}`, ...(isSame && { isUnchanged: true }) }
    }
    this.#refusedKey = undefined
    return undefined
  }
}

/** An answer that does not judge the key: the service cannot do so now. */
export interface KeyWait {
  readonly stop: Stop
  /** The retry-after instant; absent when the service names none. */
  readonly notBeforeMs?: number
}

/** The wait that an answer about a key calls for; `undefined` when the answer judges the key. */
export function waitOf(answer: Answer): KeyWait | undefined {
  if (answer.kind === 'unanswered') return { stop: { kind: 'transient', reason: answer.reason } }
  const { status, notBeforeMs } = answer
  if (status !== 429 && status < 500) return undefined
  return { stop: { kind: 'transient', reason: `${status}` }, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) }
}
