import type { ChainReader } from '../chain/reads.ts'
import type { CollectorConfig } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { type AsOfBlock, newestFinal } from '../model/block.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../model/hour.ts'
import type { PinnedHour } from '../outbox/contract/hours.ts'
import type { IntakeOutbox } from '../outbox/contract/outbox.ts'
import type { CollectorDescription } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import type { HourPipeline } from './collect-hours.ts'
import { type HourClock, oldestCollected } from './hour-clock.ts'

/** A block that may be final is checked with the chain's next look-up, or alone after this many times its `settle`. */
const settlesPatientMax = 4

/** Hours checked for finality together. */
const recheckedHoursMax = 500

/** Wait after a check for finality failed. */
const recheckRestMs = 60_000

/** Words for the part that changed since an hour was read, now that its block is final. */
const changes = {
  block: {
    found: 'a reorg replaced the hour’s block',
    is: 'its block was replaced',
    reason: 'after a reorg',
  },
  logs: {
    found: 'the hour has other logs than a node answered',
    is: 'its logs have changed',
    reason: 'as its logs have changed',
  },
} as const

type Changed = keyof typeof changes

interface FinalityDeps {
  readonly outbox: IntakeOutbox
  readonly pipeline: HourPipeline
  /** Nothing is final before its earliest present. */
  readonly clock: Pick<HourClock, 'earliestMs'>
  readonly collectors: readonly CollectorConfig[]
  readonly chains: readonly ChainReader[]
  /** @throws Fault when it cannot be loaded */
  readonly describe: (collector: CollectorConfig) => Promise<CollectorDescription>
  /** Age up to which hours are read again, in milliseconds; older ones keep their values. */
  readonly catchUpMs: number
  readonly time: Time
  readonly log: Log
  readonly signal: AbortSignal
  /** Resolves when no further look-up is expected that a check could travel with. Default: never. */
  readonly lastLookUp?: Promise<void>
}

/**
 * Checks hours again once their block is final, since values may be pushed before. If a reorg replaced the block, the
 * hour is read again. Logs are requested again, too: of all reads, only they do not prove that they are complete.
 */
export class Finality {
  readonly #deps: FinalityDeps
  /** Hours reported as to be read again, which failed so far. */
  readonly #reported = new Set<string>()
  readonly #underWay = new Map<ChainReader, Promise<void>>()

  constructor(deps: FinalityDeps) {
    this.#deps = deps
  }

  /** Starts checks that are due and not under way. */
  pass(): void {
    for (const chain of this.#deps.chains) {
      if (this.#underWay.has(chain)) continue
      const work = this.#confirmDue(chain).finally(() => this.#underWay.delete(chain))
      this.#underWay.set(chain, work)
    }
  }

  /** Resolves when no check is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  /** Hours whose block is final by now, if it was not replaced. */
  async #due({ id, settleMs }: ChainReader, limit: number): Promise<readonly PinnedHour[]> {
    const { outbox, clock, time } = this.#deps
    const upTo = newestFinal(settleMs, clock.earliestMs, hourAt(time.nowMs()))
    return upTo === undefined ? [] : outbox.intake.pinnedHours(id, upTo, limit)
  }

  /** Checks the due hours of a chain. Never rejects. */
  async #confirmDue(chain: ChainReader): Promise<void> {
    const { time, signal } = this.#deps
    try {
      const [oldest] = await this.#due(chain, 1)
      if (!oldest) return
      await this.#untilLookUp(chain, oldest.hour)
      const byHour = Map.groupBy(await this.#due(chain, recheckedHoursMax), ({ hour }) => hour)
      await allDone([...byHour].map(([hour, pinned]) => this.#confirm(chain, hour, pinned)))
    } catch (error) {
      if (signal.aborted) return
      this.#report(chain, error)
      await time.sleep(recheckRestMs, signal).catch(() => {})
    }
  }

  /** Logs why a check failed. It is tried again; a chain or collector that cannot be read is reported elsewhere, too. */
  #report({ id: chainId }: ChainReader, error: unknown): void {
    const { outbox, log } = this.#deps
    if (error instanceof Fault)
      log.debug({ chainId, fault: faultLine(error) }, 'cannot check yet whether a block is final')
    else if (outbox.health.recover(error) === 'other')
      log.error({ chainId, fault: faultLine(outbox.health.explain(error)) }, 'cannot store that a block is final')
  }

  /** Waits for the chain's next look-up, so that the check costs no request of its own; at most for a while. */
  async #untilLookUp(chain: ChainReader, oldest: Hour): Promise<void> {
    const { time, signal, lastLookUp } = this.#deps
    const restMs = oldest + settlesPatientMax * chain.settleMs - time.nowMs()
    if (restMs <= 0) return
    const sleepController = new AbortController()
    const alone = time.sleep(restMs, AbortSignal.any([signal, sleepController.signal]))
    await Promise.race([chain.nextLookUp, alone.catch(() => {}), ...(lastLookUp ? [lastLookUp] : [])])
    sleepController.abort()
    signal.throwIfAborted()
  }

  async #confirm(chain: ChainReader, hour: Hour, pinned: readonly PinnedHour[]): Promise<void> {
    const block = await chain.recheck(hour, this.#deps.signal, pinned[0]?.block)
    await allDone(pinned.map(pin => this.#confirmOne(chain, pin, block)))
  }

  async #confirmOne(chain: ChainReader, pin: PinnedHour, block: AsOfBlock): Promise<void> {
    const { outbox } = this.#deps
    const { block: read } = pin
    if (read.hash !== block.hash) await this.#readAgain(chain, pin, block, 'block')
    else if (await this.#hasOtherLogs(chain, pin)) await this.#readAgain(chain, pin, block, 'logs')
    else await outbox.intake.confirmPin(chain.id, pin)
  }

  /**
   * Whether the hour's logs differ now: a node may have answered for the last blocks before it had seen them, or from
   * another branch.
   */
  async #hasOtherLogs(chain: ChainReader, { hour, logs = [] }: PinnedHour): Promise<boolean> {
    for (const { filter, digest, hoursBefore = 0 } of logs) {
      const { value } = await chain.logs(hourAfter(hour, -hoursBefore), filter, this.#deps.signal)
      if (value.digest !== digest) return true
    }
    return false
  }

  async #readAgain(
    { id }: ChainReader,
    { hour, collector, block: blockRead }: PinnedHour,
    block: AsOfBlock,
    cause: Changed,
  ): Promise<void> {
    const { log } = this.#deps
    const facts = { chainId: id, collector, hour: hourText(hour), was: `${blockRead.number} ${blockRead.hash}` }
    const reportKey = `${collector} ${hour} ${block.hash}`
    // It may be retried for long.
    const level = this.#reported.has(reportKey) ? 'debug' : 'warn'
    this.#reported.add(reportKey)
    log[level]({ ...facts, is: `${block.number} ${block.hash}` }, `${changes[cause].found}: reading it again`)
    await this.#recollect(collector, hour, cause)
    this.#reported.delete(reportKey)
  }

  /** Reads an hour again and stores the changes: values that differ become due again. Rejects to be called again later. */
  async #recollect(id: string, hour: Hour, cause: Changed): Promise<void> {
    const { outbox, pipeline, collectors, describe, catchUpMs, time, log, signal } = this.#deps
    const collector = collectors.find(entry => entry.id === id)
    const description = collector && (await describe(collector))
    const { is, reason } = changes[cause]
    const staysAsItIs = `${is}, and it cannot be read again: its values stay as they are`
    const facts = { collector: id, hour: hourText(hour) }
    if (!collector || !description?.history) {
      await outbox.intake.forgetPins(id, hour)
      log.error(facts, staysAsItIs)
      return
    }
    const oldest = oldestCollected(hourAt(time.nowMs()), description, catchUpMs)
    const purpose = { kind: 'replaced', oldest } as const
    const hourToRead = { collector, description, hour, attempts: 0 }
    const [end] = await pipeline.collect([hourToRead], purpose, outbox.intake, signal)
    if (!end) return signal.throwIfAborted()
    const { outcome, recorded: recordResult, result } = end
    if (outcome.kind === 'left') throw outcome.fault
    if (outcome.kind === 'given-up') {
      log.error({ ...facts, fault: faultLine(outcome.fault) }, staysAsItIs)
      return
    }
    const { corrected: correctedCount } = recordResult
    const consequence =
      correctedCount > 0
        ? `${correctedCount} of ${result.acceptedValues.length} values differ and are pushed again`
        : 'the same values'
    log.warn({ ...facts, corrected: correctedCount }, `read again ${reason}: ${consequence}`)
  }
}

/** Waits for all, then rejects with the first failure: one failure delays no other. */
async function allDone(works: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(works)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
