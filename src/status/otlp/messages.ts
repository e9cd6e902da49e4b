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

/** A part of a family; its samples are plain, so that they can be copied. */
export type FamilyPart = Pick<Family, 'name' | 'type' | 'help'> & { readonly samples: readonly PlainSample[] }

/** A sample with all its labels. */
export interface PlainSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly suffix?: '_sum' | '_count' | '_bucket'
}

/** Message to the thread: some of the metrics that it has asked for, of which the last one ends them; or to send those of now. */
export type ToThread =
  | { readonly kind: 'metrics'; readonly parts: readonly FamilyPart[]; readonly isLast: boolean }
  | { readonly kind: 'flush' }
