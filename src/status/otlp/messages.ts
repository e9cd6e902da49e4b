import type { Family } from '../exposition/text.ts'
import type { OtlpOn } from './settings.ts'

/** Input of the thread that sends metrics. */
export interface OtlpThreadInput extends Pick<OtlpOn, 'protocol' | 'intervalMs' | 'timeoutMs'> {
  readonly version: string
  /** Start of all counters, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/** Message of the thread: it wants the metrics of now, an export has ended, or the last one has, which was asked for. */
export type FromThread =
  | { readonly kind: 'read' }
  | { readonly kind: 'exported'; readonly failure?: string }
  | { readonly kind: 'flushed' }

/** Message to the thread: the metrics that it has asked for, or to send those of now. */
export type ToThread = { readonly kind: 'metrics'; readonly families: readonly Family[] } | { readonly kind: 'flush' }
