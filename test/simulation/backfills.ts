import type { ChainReader } from '../../src/chain/reads.ts'
import { type Config, protocolCollectors } from '../../src/config/config.ts'
import { Backfill } from '../../src/intake/backfill/backfill.ts'
import { type BackfillRequest, workOf } from '../../src/intake/backfill/work.ts'
import type { WatchedClock } from '../../src/intake/hour-clock.ts'
import { usable } from '../../src/intake/validate.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import type { Outbox } from '../../src/outbox/contract/outbox.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { pipelineOn } from '../support/collectors.ts'
import type { BackfillScript } from './backfill-script.ts'

interface FillParts {
  readonly script: BackfillScript
  readonly outbox: Pick<Outbox, 'intake' | 'health'>
  readonly runner: Runner
  readonly time: WatchedClock
  readonly config: Config
  readonly chain: ChainReader | undefined
  readonly signal: AbortSignal
}

/** Past hours of every collector that can read the past, up to the current one, while a daemon runs. */
export async function fillIn({ script, outbox, runner, time, config, chain, signal }: FillParts): Promise<void> {
  const { hours, what, order, concurrency } = script
  const current = hourAt(time.nowMs())
  const asked: BackfillRequest = { from: hourAfter(current, -hours), to: current, current, scope: what, daemon: 'runs' }
  const collectors = protocolCollectors(config)
  const described = await Promise.all(
    collectors.map(async collector => ({
      collector,
      description: usable(collector, await runner.describe(collector)),
    })),
  )
  if (signal.aborted) return
  const works = await Promise.all(
    described
      .filter(({ description }) => description.history)
      .map(async ({ collector, description }) => {
        const states = await outbox.intake.hourStates(collector.id, asked.from, asked.to)
        return workOf(collector, description, asked, states)
      }),
  )
  await new Backfill({
    outbox,
    pipeline: pipelineOn(runner, time, { clock: time, chains: chain ? [chain] : [] }),
    time,
    works,
    asked,
    order,
    concurrency,
    signal,
    report: () => {},
  }).run()
}
