import type { Push } from '../../src/model/wire.ts'
import type { Dialect } from './troubles.ts'

/** A metric as it was sent. */
export type Sent = Push['metrics'][number] & { readonly timestamp: string }

/** A metric as the service sees it. */
export interface Judged {
  readonly metric: Sent
  readonly isPoison: boolean
  /** It has a value for that hour. */
  readonly isThere: boolean
  /** Why it refuses it; absent for a good one. */
  readonly fault?: string
}

interface Body {
  readonly status: number
  readonly body: unknown
}

/** Answer of a healthy service to a push, in its dialect, once it has stored what it keeps of it. */
export function pushReply(dialect: Dialect, judged: readonly Judged[], store: (kept: readonly Judged[]) => void): Body {
  const bad = judged.flatMap(({ metric, fault }, index) => (fault ? [{ metric, fault, index }] : []))
  const good = judged.filter(({ fault }) => !fault)
  const whole = dialect.errors === 'whole-400' ? 400 : dialect.errors === 'whole-422' ? 422 : undefined
  if (bad[0] && whole !== undefined) return { status: whole, body: { error: bad[0].fault } }
  const kept = bad.length === 0 || dialect.keepsGood ? good : []
  const warnings = kept.flatMap(entry => warningsOf(dialect, entry, judged.indexOf(entry)))
  store(kept)
  const errors = bad.map(entry => errorOf(dialect, entry))
  return {
    status: 200,
    body: { success: bad.length === 0 || dialect.success, processed: kept.length, errors, warnings },
  }
}

function errorOf(
  { errors }: Dialect,
  { metric, fault, index }: { metric: Sent; fault: string; index: number },
): unknown {
  switch (errors) {
    case 'by-id':
      return { id: metric.id, timestamp: metric.timestamp, error: fault }
    case 'by-index':
      return { index, message: fault }
    case 'by-path':
      return { path: ['metrics', index, 'value'], reason: fault }
    case 'sentences':
      return `${metric.id} of ${metric.timestamp}: ${fault}`
    default:
      return { message: fault }
  }
}

/** Its remark about a metric that it keeps. */
function warningsOf({ warnsOfExisting, warnings }: Dialect, { metric, isThere }: Judged, index: number): unknown[] {
  const label = metric.id.slice(metric.protocolId.length + 3)
  const texts = [
    ...(isThere && warnsOfExisting ? ['already exists and was updated'] : []),
    ...(label.length > 16 ? ['the label is longer than 16 characters'] : []),
  ]
  return texts.map(text => {
    if (warnings === 'sentences') return `${metric.id} of ${metric.timestamp}: ${text}`
    if (warnings === 'by-index') return { index, warning: text }
    return { id: metric.id, timestamp: metric.timestamp, message: text }
  })
}
