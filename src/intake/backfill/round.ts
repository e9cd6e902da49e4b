import type { ChainConfig } from '../../config/config.ts'
import type { Time } from '../../edge/time.ts'
import type { Fault } from '../../model/fault.ts'
import { notFinal } from '../../model/finality.ts'
import type { Hour } from '../../model/hour.ts'
import type { BackfillOutbox } from '../../outbox/contract/outbox.ts'
import type { Recorded } from '../../outbox/contract/outcome.ts'
import type { Collected } from '../collect.ts'
import type { HourReader } from '../hour-reader.ts'
import { type BackfillRequest, type CollectorHours, fateOf, type HourFate, type Work } from './work.ts'

/** Result of one run, a collector and an hour, once it is stored. */
export interface RunEnd {
  readonly work: Work
  readonly hour: Hour
  /** Why it is not complete; absent when it is. */
  readonly fault?: Fault
  /** Ids of the chains it has read. */
  readonly chainIds: readonly number[]
}

/** Dependencies of `readRound`. */
export interface RoundDeps {
  readonly outbox: BackfillOutbox
  /** Stopped together with the backfill. */
  readonly reader: HourReader
  readonly time: Time
  readonly asked: BackfillRequest
  /** Aborted with a Fault as its reason: a person stopped it, or a limit was reached. */
  readonly signal: AbortSignal
  /** The configured chains: they match a fault's chain name to the chain id of a block. */
  readonly chains: readonly Pick<ChainConfig, 'name' | 'id' | 'settleMs'>[]
}

/** Callbacks for the runs of a round. */
export interface RoundListener {
  /** Called once for each run, except those cut off by a stop. */
  readonly ended: (end: RunEnd) => void
  readonly stored: (collector: string, recorded: Recorded) => void
}

/** Removes hours collected meanwhile, for example by a daemon. @param had called with each of them */
export async function stillToDo(
  { work, hours }: CollectorHours,
  { outbox, asked }: RoundDeps,
  had: (work: Work, hour: Hour, fate: Exclude<HourFate, 'to-do'>) => void,
): Promise<CollectorHours> {
  const [first, last] = [hours[0], hours.at(-1)]
  if (first === undefined || last === undefined) return { work, hours }
  const states = await outbox.intake.hourStates(work.collector.id, first, last)
  const left = hours.filter(hour => {
    const fate = fateOf(hour, work.description, asked, states.get(hour))
    if (fate !== 'to-do') had(work, hour, fate)
    return fate === 'to-do'
  })
  return { work, hours: left }
}

/** Starts all runs of a window in one turn, and stores their results. Rejects with the outbox's Fault. */
export async function readRound(
  window: readonly CollectorHours[],
  deps: RoundDeps,
  listener: RoundListener,
): Promise<void> {
  const { reader, outbox, time } = deps
  const startedMs = time.nowMs()
  const runs = window.flatMap(({ work, hours }) => hours.map(hour => ({ ...work, work, hour })))
  const results = await reader.collectTogether(runs, outbox.intake)
  // Async, so that an unreadable outbox leaves no store without a handler.
  const stored = await Promise.allSettled(
    runs.map(async ({ work, hour }, place) => {
      const read = results[place]
      if (read) await store(work, hour, read, startedMs, deps, listener)
    }),
  )
  for (const end of stored) if (end.status === 'rejected') throw end.reason
}

/**
 * Stores an hour. Values of an incomplete hour are kept, too; its rest is not retried, as the hour was not expected. An
 * hour that could not be read is listed until a later backfill has it, unless it lies before the first block.
 */
async function store(
  work: Work,
  hour: Hour,
  read: Collected,
  startedMs: number,
  { outbox, asked, time, signal, chains }: RoundDeps,
  listener: RoundListener,
): Promise<void> {
  const { accepted, fault } = read
  // A stop ends the processes; a failure caused by it is not the run's own.
  if (fault && signal.aborted) return
  const { id } = work.collector
  if (accepted.length > 0 || fault?.code !== 'chain-before-first-block') {
    const nowMs = time.nowMs()
    const mode = asked.what === 'overwrite' ? 'correct' : 'first-stands'
    const pins = notFinal(read.pins, hour, chains, startedMs)
    const failed = fault && { failed: { fault, nextAttemptMs: nowMs } }
    const origin = read.provenance && { provenance: read.provenance }
    const outcome = { collector: id, hour, accepted, pins, mode, unexpected: true, ...origin, ...failed } as const
    listener.stored(id, await outbox.intake.record(outcome, nowMs))
  }
  listener.ended({ work, hour, ...(fault && { fault }), chainIds: read.pins.map(({ chainId }) => chainId) })
}
