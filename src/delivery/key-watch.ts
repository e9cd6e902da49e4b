import type { Answer } from '../model/verdict.ts'
import type { Stop } from './ports.ts'

/** Asks the service about a key. */
export type ValidateKey = (key: string) => Promise<Answer>

/**
 * Which key the service has refused. As long as it is the same one, nothing is sent with it; a changed one is asked
 * about first.
 */
export class KeyWatch {
  #refusedKey: string | undefined
  #askedKey: string | undefined

  /** The service answered 401. */
  refused(key: string): void {
    this.#refusedKey = key
    this.#askedKey = key
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
   * @param validate asked only about a key that has changed after a refusal
   */
  async objection(key: string, validate: ValidateKey): Promise<Stop | undefined> {
    if (this.#refusedKey === undefined) return undefined
    if (this.#refusedKey === key) {
      return { kind: 'key-refused', reason: 'the service refused this key and it has not changed' }
    }
    this.#askedKey = key
    const answer = await validate(key)
    const wait = waitOf(answer)
    if (wait) return { ...wait, reason: `the changed key could not be checked: ${wait.reason}` }
    const status = answer.kind === 'answered' ? answer.status : 0
    if (status === 401) this.#refusedKey = key
    if (status < 200 || status >= 300) {
      return { kind: 'key-refused', reason: `the service answered ${status} about the changed key` }
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
