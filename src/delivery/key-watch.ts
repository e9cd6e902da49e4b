import { isYetToCome } from '../model/backoff.ts'
import { keyAskMs } from '../model/limits.ts'
import type { Answer } from '../model/verdict.ts'
import type { Stop } from './ports.ts'

/** Asks the service about a key. */
export type ValidateKey = (key: string) => Promise<Answer>

/**
 * Which key the service has refused. Nothing is sent with it until the service says that it is valid, which is asked each
 * hour, when a person wants it, and at once where the key has changed.
 */
export class KeyWatch {
  #refusedKey: string | undefined
  #askedKey: string | undefined
  #askedAtMs = 0

  /** The service answered 401. */
  refused(key: string, nowMs: number): void {
    this.#refusedKey = key
    this.#askedKey = key
    this.#askedAtMs = nowMs
  }

  isRefused(key: string): boolean {
    return this.#refusedKey === key
  }

  /**
   * Whether there is a key to be tried in place of the refused one, which need not wait for anything.
   *
   * @param readKey may throw, while the key is being exchanged say
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
   * Why nothing may be sent with a key; `undefined` when it may.
   *
   * @param validate asked about a key after a refusal only
   * @param isAsked a person wants it to be tried
   */
  async objection(key: string, validate: ValidateKey, nowMs: number, isAsked: boolean): Promise<Stop | undefined> {
    if (this.#refusedKey === undefined) return undefined
    const isSame = this.#refusedKey === key
    const isAskedLately = isYetToCome(this.#askedAtMs + keyAskMs, nowMs, keyAskMs)
    if (isSame && !isAsked && isAskedLately) {
      return { kind: 'key-refused', reason: 'the service refused this key and it has not changed' }
    }
    this.#askedKey = key
    this.#askedAtMs = nowMs
    const which = isSame ? 'the refused key' : 'the changed key'
    const answer = await validate(key)
    const wait = waitOf(answer)
    if (wait) return { ...wait, reason: `${which} could not be checked: ${wait.reason}` }
    const status = answer.kind === 'answered' ? answer.status : 0
    if (status === 401) this.#refusedKey = key
    if (status < 200 || status >= 300) {
      return { kind: 'key-refused', reason: `the service answered ${status} about ${which}` }
    }
    this.#refusedKey = undefined
    return undefined
  }
}

/** What an answer about a key says beside the key: that the service cannot tell now, and how long it is to be left alone. */
export function waitOf(answer: Answer): Extract<Stop, { kind: 'transient' }> | undefined {
  if (answer.kind === 'unanswered') return { kind: 'transient', reason: answer.reason }
  const { status, notBeforeMs } = answer
  if (status !== 429 && status < 500) return undefined
  return { kind: 'transient', reason: `${status}`, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) }
}
