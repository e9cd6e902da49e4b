import type { Time } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { Fault } from '../model/fault.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { exposition, metricFamilies } from '../status/exposition/exposition.ts'
import { presentFingerprint } from '../status/fingerprint.ts'
import { metricHistory } from '../status/history.ts'
import { observe } from '../status/observe.ts'
import type { Observed } from '../status/observed.ts'
import { keptSentences, readiness } from '../status/readiness.ts'
import { scrape } from '../status/scrape.ts'
import type { StatusDeps } from '../status/server/server.ts'
import type { Readiness } from '../status/snapshot.ts'
import type { Widgets } from '../status/widgets.ts'
import type { KeptCounts } from './kept-counts.ts'
import type { OtlpSources } from './open-otlp.ts'

/** Time for readiness from a shared database; the status server waits for longer, and knows no reason. */
const readyMsMax = 2_500

/** Dependencies of `statusSources`. */
interface StatusSourcesDeps {
  readonly outbox: Outbox
  readonly now: () => Observed
  readonly widgets: Widgets
  readonly kept: KeptCounts
  readonly time: Pick<Time, 'timeout'>
}

/** Sources of the status server. Only the page and `/status.json` read the service's widgets: probes are frequent. */
export function statusSources({
  outbox,
  now,
  widgets,
  kept,
  time,
}: StatusSourcesDeps): Pick<StatusDeps, 'snapshot' | 'ready' | 'exposition' | 'state' | 'history'> &
  Pick<OtlpSources, 'families'> {
  const { counters, ofProcess } = kept
  const families = metricFamilies(() => seen(outbox, () => scrape({ ...now(), counters })), ofProcess)
  return {
    snapshot: async () => {
      const reads = await widgets.read()
      return seen(outbox, () => observe({ ...now(), widgets: reads }))
    },
    ready: () => readyOf(outbox, now, time),
    families,
    exposition: async () => await exposition(await families()),
    state: () => seen(outbox, () => presentFingerprint(now())),
    history: id => seen(outbox, () => metricHistory({ ...now(), outbox }, id)),
  }
}

/** Readiness; where a database does not answer, that, what is wrong with the fleet, and what waits for it. */
async function readyOf(outbox: Outbox, now: () => Observed, time: StatusSourcesDeps['time']): Promise<Readiness> {
  const ready = seen(outbox, () => readiness(now()))
  if (!outbox.shared) return ready
  const late = time.timeout(readyMsMax)
  try {
    return await unlessAborted(ready, late)
  } catch (error) {
    const cause = late.aborted ? Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }) : error
    const fault = outbox.health.explain(cause)
    if (!(fault instanceof Fault)) throw error
    const { fleetTroubles = [], kept } = now()
    return { ok: false, reasons: [fault.message, ...fleetTroubles, ...keptSentences(kept)] }
  }
}

/** Runs a read of the outbox, and reports damage that it meets. */
async function seen<T>({ health }: Pick<Outbox, 'health'>, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    health.recover(error)
    throw error
  }
}
