import type { ChainReader } from '../chain/reads.ts'
import type { AsOfBlock } from '../model/block.ts'
import { faultLine } from '../model/fault.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { recheckedHoursMax, recheckRestMs, settlesPatientMax } from '../model/limits.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { PinnedHour } from '../outbox/pins.ts'
import type { Log } from '../telemetry/log.ts'
import type { Time } from '../time.ts'

/** What the re-check works with. */
export interface FinalityParts {
  readonly outbox: Outbox
  readonly chains: readonly ChainReader[]
  readonly time: Time
  readonly log: Log
  /** Reads a collector's hour again, and stores what has changed. Rejects when that is to be tried again later. */
  readonly readAgain: (collector: string, hour: Hour, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Values may be pushed before their block is final. Once it is, it is looked up again: when a reorg has put another one in
 * its place, the hour is read again.
 */
export class Finality {
  readonly #parts: FinalityParts
  /** What was said to be read again, and could not be so far. */
  readonly #told = new Set<string>()
  readonly #underWay = new Map<ChainReader, Promise<void>>()

  constructor(parts: FinalityParts) {
    this.#parts = parts
  }

  /** Starts what is due and not under way. */
  turn(): void {
    for (const chain of this.#parts.chains) {
      if (this.#underWay.has(chain) || this.#due(chain, 1).length === 0) continue
      const work = this.#confirmDue(chain).finally(() => this.#underWay.delete(chain))
      this.#underWay.set(chain, work)
    }
  }

  /** Complete when nothing is under way any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values())
  }

  #due({ id, settleMs }: ChainReader, limit: number): PinnedHour[] {
    const { outbox, time } = this.#parts
    return outbox.pins.due(id, hourAt(time.nowMs() - settleMs), limit)
  }

  /** Never rejects. */
  async #confirmDue(chain: ChainReader): Promise<void> {
    const { outbox, time, log, signal } = this.#parts
    try {
      await this.#untilLookUp(chain)
      const byHour = Map.groupBy(this.#due(chain, recheckedHoursMax), ({ hour }) => hour)
      await allDone([...byHour].map(([hour, pinned]) => this.#confirm(chain, hour, pinned)))
    } catch (error) {
      if (signal.aborted) return
      outbox.disk.saw(error)
      log.debug({ chainId: chain.id, fault: faultLine(error) }, 'not known yet whether a block is final')
      await time.sleep(recheckRestMs, signal).catch(() => {})
    }
  }

  /** The chain's next look-up takes it along, so that it costs no request; it does not wait for that for ever. */
  async #untilLookUp(chain: ChainReader): Promise<void> {
    const { time, signal } = this.#parts
    const [oldest] = this.#due(chain, 1)
    const restMs = oldest ? oldest.hour + settlesPatientMax * chain.settleMs - time.nowMs() : 0
    if (restMs <= 0) return
    const waiting = new AbortController()
    const alone = time.sleep(restMs, AbortSignal.any([signal, waiting.signal]))
    await Promise.race([chain.nextLookUp, alone.catch(() => {})])
    waiting.abort()
    signal.throwIfAborted()
  }

  async #confirm(chain: ChainReader, hour: Hour, pinned: readonly PinnedHour[]): Promise<void> {
    const block = await chain.recheck(hour, this.#parts.signal, pinned[0]?.block)
    await allDone(pinned.map(one => this.#confirmOne(chain, one, block)))
  }

  async #confirmOne(chain: ChainReader, { hour, collector, block: read }: PinnedHour, block: AsOfBlock): Promise<void> {
    if (read.hash === block.hash) this.#parts.outbox.pins.confirm(chain.id, hour, collector, read)
    else await this.#readAgain(chain, { hour, collector, block: read }, block)
  }

  async #readAgain({ id }: ChainReader, { hour, collector, block: read }: PinnedHour, block: AsOfBlock): Promise<void> {
    const { log, readAgain, signal } = this.#parts
    const facts = { chainId: id, collector, hour: hourText(hour), was: `${read.number} ${read.hash}` }
    const known = `${collector} ${hour} ${block.hash}`
    // It may have to be tried for long.
    const level = this.#told.has(known) ? 'debug' : 'warn'
    this.#told.add(known)
    log[level]({ ...facts, is: `${block.number} ${block.hash}` }, 'a reorg replaced the hour’s block: it is read again')
    await readAgain(collector, hour, signal)
    this.#told.delete(known)
  }
}

/** Rejects with the first failure once all have come to their end: one that fails holds up no other. */
async function allDone(works: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(works)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
