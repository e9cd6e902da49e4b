/** `failed`: it stops delivery or the next hour. `warning`: it will cost something later, or hides something. */
export type Outcome = 'ok' | 'warning' | 'failed'

/** Result of one question of `doctor`. */
export interface Finding {
  /** The thing asked about: `service`, `key`, a protocol, a chain with an endpoint's host, `disk`. */
  readonly subject: string
  readonly outcome: Outcome
  /** The result, as a sentence without a capital. */
  readonly found: string
  /** Instruction for a person; absent when there is nothing to do. */
  readonly fix?: string
}

/** Something that is as it should be. */
export function ok(subject: string, found: string): Finding {
  return { subject, outcome: 'ok', found }
}

/** Something that a person should know, and what to do about it. */
export function warning(subject: string, found: string, fix?: string): Finding {
  return { subject, outcome: 'warning', found, ...(fix !== undefined && { fix }) }
}

/** Something that stops delivery or the next hour, and what to do about it. */
export function failed(subject: string, found: string, fix?: string): Finding {
  return { subject, outcome: 'failed', found, ...(fix !== undefined && { fix }) }
}
