import type { AppContext } from '../../app/context.ts'
import type { ChainReader } from '../../chain/reads.ts'
import { Finality, recollectHour } from '../../intake/finality.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { reportedPasts } from '../../intake/validate.ts'
import { Fault } from '../../model/fault.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import type { UsableCollector } from '../usable-collectors.ts'

/** Dependencies of `startFinality`. */
export interface FinalityCheckDeps {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly reader: HourReader
  readonly chains: readonly ChainReader[]
}

/**
 * Starts to check hours of earlier runs whose blocks are final now: the check travels with the look-up of this run's
 * hours. An hour whose block was replaced is read again.
 *
 * @returns `finish` resolves when the checks have ended, or have had the time of one collector; the rest is checked by
 * the next run
 */
export function startFinality(
  { context, outbox, reader, chains }: FinalityCheckDeps,
  usable: readonly UsableCollector[],
): { finish(): Promise<void> } {
  const { config, time, log } = context
  const over = new AbortController()
  const own = { outbox, chains, time, log }
  const collectors = usable.map(({ collector }) => collector)
  const again = {
    ...own,
    reader,
    collectors,
    pasts: reportedPasts(outbox),
    catchUpMs: config.collect.catchUpMs,
    describe: async ({ id }: { readonly id: string }) => {
      const known = usable.find(({ collector }) => collector.id === id)
      if (!known) throw new Fault('stopped', `${id} is not loaded`)
      return known.description
    },
  }
  const finality = new Finality({
    ...own,
    signal: over.signal,
    readAgain: (id, hour, because) => recollectHour(again, id, hour, because),
  })
  finality.turn()
  return {
    async finish() {
      const waiting = new AbortController()
      const late = time.sleep(config.collect.deadlineMs, waiting.signal).catch(() => {})
      await Promise.race([finality.ended(), late])
      waiting.abort()
      over.abort(new Fault('stopped', 'the command has ended'))
      await finality.ended()
    },
  }
}
