/** State of one destination (the pushes with one key) that survives a restart. */
export interface DestinationState {
  /** End of the service's latest `Retry-After`, in milliseconds since 1970. 0 when there is none. */
  readonly notBeforeMs: number
  /** When an open breaker lets a probe through, in milliseconds since 1970. 0 when closed. */
  readonly probeAtMs: number
  /** Whether a person has asked for a flush since the state was last saved. Default: no. */
  readonly isAsked?: boolean
  /** Failed flushes in a row. */
  readonly failures: number
  /** Why delivery waits, as a sentence; absent when it does not. */
  readonly waiting?: string
  /** The latest answered push; absent before the first. */
  readonly lastPush?: { readonly atMs: number; readonly verdict: string }
  /**
   * Offset of the service's clock from this machine's, in milliseconds, positive when ahead; absent until an answer
   * showed it.
   */
  readonly skewMs?: number
}
