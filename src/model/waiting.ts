import { asSentence, capital } from './text.ts'

/**
 * The way in which a failure of pushes ends. `service`: it is at fault, and is tried again. `doctor`: the cause is not known, and it is
 * tried again. `address`: a person corrects it. `metrics`: a person compares them with what the service says. `new-key`,
 * `key`: a person puts a valid one, or one at all, in its place, which is used at once.
 */
export type Cure = 'service' | 'doctor' | 'address' | 'metrics' | 'new-key' | 'key'

/** Why pushes to a destination wait, and until when. */
interface Wait {
  /** Facts without what happens next; absent when they do not wait. */
  readonly waiting?: string
  /** Absent where nothing failed, and metrics are only left out. */
  readonly cure?: Cure
  /** As in `DestinationState`. */
  readonly notBeforeMs: number
  readonly probeAtMs: number
}

/** When pushes are tried again, in milliseconds since 1970; `undefined` where they wait for a key, whenever that comes. Pure. */
export function nextAttemptAt({ cure, notBeforeMs, probeAtMs }: Wait): number | undefined {
  return cure === 'new-key' || cure === 'key' ? undefined : Math.max(notBeforeMs, probeAtMs)
}

/** When a sentence is read, on which depends what happens next. */
export interface Reader {
  readonly nowMs: number
  /** Whether no daemon runs, so that nothing is tried again. Default: one does. */
  readonly isUnattended?: boolean | undefined
}

/** Why pushes to a destination wait, what happens next and when, and what to do; `undefined` when they do not wait. */
export function waitingSentence(state: Wait, reader: Reader): string | undefined {
  const { waiting: reason, cure, notBeforeMs } = state
  if (reason === undefined) return undefined
  const { nowMs, isUnattended } = reader
  if (cure === undefined) {
    const next = isUnattended ? `, ${unsentWords}` : ', and it is tried again'
    return `${asSentence(reason)} Nothing is lost${next}.`
  }
  const isAskedToWait = notBeforeMs > nowMs
  const until = isUnattended ? ` until ${clockOf(notBeforeMs)}` : ''
  const fact = `${capital(reason)}${isAskedToWait ? `, and its Retry-After asks to wait${until}` : ''}. Nothing is lost`
  const step = stepFor(cure)
  if (isUnattended) {
    if (cure !== 'service' && cure !== 'doctor') return `${fact}; ${step}, then: ${sendingCommands}.`
    return `${fact}, ${unsentWords}.${isAskedToWait ? '' : ` ${asSentence(step)}`}`
  }
  const nextMs = nextAttemptAt(state)
  if (nextMs === undefined) {
    const asked =
      cure === 'new-key' ? ' The service is asked about the refused key each hour, and at once by tidegauge flush.' : ''
    return `${fact}; ${step}, and delivery goes on at once.${asked}`
  }
  const next = nextMs > nowMs ? `next try ${clockOf(nextMs)}` : 'it is tried now'
  const flush = 'Nothing is to be done; tidegauge flush sends one small batch at once.'
  return `${fact}; ${next}. ${isAskedToWait ? flush : asSentence(step)}`
}

/** `13:00:04 UTC` */
export function clockOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`
}

const sendingCommands = 'tidegauge flush, or tidegauge run'

/** The instruction for pushes that wait, as the end of a sentence: for a person only where it is known who can mend that. */
export function stepFor(cure: Cure | undefined): string {
  switch (cure) {
    case 'service':
      return 'the service is at fault: if that goes on, ask who runs it'
    case 'address':
      return 'check service.url'
    case 'metrics':
      return 'compare them with what the service says (tidegauge due ls), or ask who runs it'
    case 'new-key':
      return 'put a valid key in its place'
    case 'key':
      return 'put the key there'
    default:
      return 'tidegauge doctor says what to do'
  }
}

/** The end of a sentence about metrics where no daemon runs. */
export const unsentWords = `but no daemon runs, so nothing is tried again: ${sendingCommands}`
