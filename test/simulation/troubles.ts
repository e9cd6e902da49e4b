import { hourMs } from '../../src/model/limits.ts'
import type { Fortune } from './chance.ts'

/** Dialect of this service where the interface leaves things open. */
export interface Dialect {
  /** Its way to name bad metrics. */
  readonly errors: 'whole-400' | 'whole-422' | 'by-id' | 'by-index' | 'by-path' | 'sentences' | 'unmatched'
  /** Whether it stores the good metrics of a push with bad ones. */
  readonly keepsGood: boolean
  /** Value of `success` when there are errors. */
  readonly success: boolean
  readonly warnsOfExisting: boolean
  readonly warnings: 'sentences' | 'by-id' | 'by-index'
  readonly retryAfter: 'seconds' | 'date'
}

/** A time in which the service, or what it does with one protocol, is not itself. */
export interface Trouble {
  readonly fromMs: number
  readonly toMs: number
  readonly ill: Ill
  /** Only pushes with metrics of this protocol; absent for everything. */
  readonly protocolId?: string
}

export type Ill =
  /** `stores`: the part of the pushes it has stored without an answer. */
  | { readonly kind: 'silent'; readonly afterMs: number; readonly stores: number }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterMs?: number; readonly stores: number }
  | { readonly kind: 'garbage'; readonly stores: number }
  | { readonly kind: 'miscounts' }
  /** It keeps only some of the metrics, says how many, and nothing more. */
  | { readonly kind: 'forgets' }
  | { readonly kind: 'too-large'; readonly metricsMax: number }
  | { readonly kind: 'refuses-all'; readonly status: 400 | 422 }
  | { readonly kind: 'slow'; readonly latencyMs: number }

export function dialect(chance: Fortune): Dialect {
  return {
    errors: chance.pick([
      'whole-400',
      'whole-400',
      'whole-422',
      'by-id',
      'by-index',
      'by-path',
      'sentences',
      'unmatched',
    ]),
    keepsGood: chance.is(0.6),
    success: chance.is(0.5),
    warnsOfExisting: chance.is(0.6),
    warnings: chance.pick(['sentences', 'by-id', 'by-index']),
    retryAfter: chance.pick(['seconds', 'date']),
  }
}

/** A service that answers differently from one instant to the next is not up in between: so long is it being changed. */
const changeMs = 30 * 60_000

interface Span {
  readonly startMs: number
  readonly healthyMs: number
}

export function troubles(chance: Fortune, protocolIds: readonly string[], span: Span, isLong: boolean): Trouble[] {
  const outage: Trouble = {
    fromMs: span.startMs + 2 * hourMs,
    toMs: span.healthyMs,
    ill: chance.pick([unanswered(chance), status(chance)]),
  }
  if (isLong) return [outage]
  // Changes come first: they are not hidden by what else is wrong.
  return chance
    .times(0, 6, () => trouble(chance, protocolIds, span))
    .sort((a, b) => b.length - a.length)
    .flat()
}

function trouble(chance: Fortune, protocolIds: readonly string[], { startMs, healthyMs }: Span): Trouble[] {
  const fromMs = Math.floor(chance.between(startMs, healthyMs))
  const toMs = Math.min(healthyMs, fromMs + Math.floor(chance.spread(1_000, 8 * hourMs)))
  const ill = chance.pick([
    unanswered,
    unanswered,
    status,
    status,
    limited,
    limited,
    garbage,
    miscounts,
    forgets,
    tooLarge,
    refusesAll,
    slow,
  ])(chance)
  if (ill.kind === 'refuses-all') return changed({ fromMs, toMs, ill }, healthyMs)
  return [{ fromMs, toMs, ill, ...(chance.is(0.2) ? { protocolId: chance.pick(['vault', ...protocolIds]) } : {}) }]
}

function changed(main: Trouble, healthyMs: number): Trouble[] {
  const ill: Ill = { kind: 'silent', afterMs: 100, stores: 0 }
  const toMs = Math.min(main.toMs, healthyMs - changeMs)
  if (toMs <= main.fromMs) return []
  return [
    { fromMs: main.fromMs - changeMs, toMs: main.fromMs, ill },
    { ...main, toMs },
    { fromMs: toMs, toMs: toMs + changeMs, ill },
  ]
}

function unanswered(chance: Fortune): Ill {
  return { kind: 'silent', afterMs: chance.pick([5, 500, 30_000]), stores: chance.pick([0, 0.5, 1]) }
}

function status(chance: Fortune): Ill {
  const code = chance.pick([500, 502, 503, 503, 504, 408, 425, 301, 302, 307, 308, 405, 501])
  const stores = code >= 500 ? chance.pick([0, 0, 0.5]) : 0
  return { kind: 'status', status: code, stores, ...wish(chance, code >= 500 ? 0.4 : 0) }
}

function limited(chance: Fortune): Ill {
  return { kind: 'status', status: 429, stores: 0, ...wish(chance, 0.7) }
}

function wish(chance: Fortune, probability: number): { retryAfterMs?: number } {
  return chance.is(probability) ? { retryAfterMs: Math.floor(chance.spread(1, 7_200)) * 1000 } : {}
}

function garbage(chance: Fortune): Ill {
  return { kind: 'garbage', stores: chance.pick([0, 0.5, 1]) }
}

function miscounts(): Ill {
  return { kind: 'miscounts' }
}

function forgets(): Ill {
  return { kind: 'forgets' }
}

function tooLarge(chance: Fortune): Ill {
  return { kind: 'too-large', metricsMax: chance.whole(1, 40) }
}

function refusesAll(chance: Fortune): Ill {
  return { kind: 'refuses-all', status: chance.pick([400, 422]) }
}

function slow(chance: Fortune): Ill {
  return { kind: 'slow', latencyMs: chance.spread(500, 29_000) }
}
