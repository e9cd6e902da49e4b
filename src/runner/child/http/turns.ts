import { Fault } from '../../../model/fault.ts'
import type { RequestEnd } from '../../messages.ts'
import type { Got } from './get.ts'

/** A turn to send one request, or the instant until which the host must be left alone. */
export type RequestTurn =
  | {
      readonly kind: 'granted'
      /** The run's deadline by now: time that it waited for turns does not count. */
      readonly deadlineAtMs: number
      readonly end: (how: RequestEnd) => void
    }
  | { readonly kind: 'refused'; readonly untilMs: number }

/** Turns to send requests, which the requests of all collectors to a host share. */
export interface RequestTurns {
  /** Waits for a turn. Rejects with the signal's reason. @param host name and port */
  take(host: string, signal: AbortSignal): Promise<RequestTurn>
}

/** Name and port of an address, by which hosts are distinguished. */
export function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** The end of a request, by its answer or its error. @param nowMs when it was there, in milliseconds since 1970 */
export function requestEndOf(got: Got | Fault, nowMs: number): RequestEnd {
  if (got instanceof Fault) return { kind: got.facts['status'] === undefined ? 'failed' : 'answered' }
  if (got.kind !== 'transient') return { kind: 'answered' }
  const { fault, notBeforeMs } = got
  if (notBeforeMs !== undefined) return { kind: 'refused', retryAfterMs: Math.max(0, notBeforeMs - nowMs) }
  return { kind: fault.facts['status'] === 429 ? 'refused' : 'failed' }
}
