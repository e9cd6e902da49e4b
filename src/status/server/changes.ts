import type { ServerResponse } from 'node:http'
import type { Time } from '../../edge/time.ts'
import { securityHeaders } from './guard.ts'

/** Interval of looks while a page listens, in milliseconds. */
const lookMs = 2_000

/** Looks without a change after which a comment keeps the connection open. */
const quietLooksMax = 7

/** Pages that may listen at a time; further ones load themselves again now and then. */
export const listenersMax = 16

/** Bytes a listener may be behind before it is dropped: it does not read. */
const unsentBytesMax = 16_384

/** Wait after which a browser connects again, in milliseconds. */
const retryMs = 2_000

/** Dependencies of `Changes`. */
export interface ChangesDeps {
  /** A text that differs when the page does; called while a page listens. */
  readonly state: () => Promise<string>
  readonly time: Pick<Time, 'sleep'>
}

/** Sends open pages an event when the state has changed, by server-sent events. While no page listens, nothing is read. */
export class Changes {
  readonly #deps: ChangesDeps
  readonly #listeners = new Set<ServerResponse>()
  readonly #stopping = new AbortController()
  #last: string | undefined
  #isLooking = false

  constructor(deps: ChangesDeps) {
    this.#deps = deps
  }

  /** Answers a page that listens, until it leaves. */
  add(response: ServerResponse): void {
    if (this.#listeners.size >= listenersMax || this.#stopping.signal.aborted) {
      response.writeHead(503, securityHeaders).end()
      return
    }
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' })
    this.#listeners.add(response)
    const leave = () => this.#listeners.delete(response)
    response.once('close', leave).once('error', leave)
    send(response, `retry: ${retryMs}\n\n`)
    if (this.#isLooking && this.#last !== undefined) send(response, eventText(this.#last))
    if (!this.#isLooking) void this.#look()
  }

  /** Ends all answers. */
  stop(): void {
    this.#stopping.abort(new Error('stopped'))
    for (const listener of this.#listeners) listener.end()
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopping
    this.#isLooking = true
    this.#last = undefined
    let quiet = 0
    while (this.#listeners.size > 0 && !signal.aborted) {
      // A state that cannot be read is another one: the page finds out why.
      const state = await this.#deps.state().catch(() => 'unreadable')
      const isNews = state !== this.#last
      this.#last = state
      quiet = isNews || quiet >= quietLooksMax ? 0 : quiet + 1
      const text = isNews ? eventText(state) : ': still here\n\n'
      if (quiet === 0) for (const listener of this.#listeners) send(listener, text)
      await this.#deps.time.sleep(lookMs, signal).catch(() => {})
    }
    this.#isLooking = false
  }
}

function eventText(state: string): string {
  return `data: ${state}\n\n`
}

function send(listener: ServerResponse, text: string): void {
  if (listener.writableLength > unsentBytesMax) listener.destroy()
  else listener.write(text)
}
