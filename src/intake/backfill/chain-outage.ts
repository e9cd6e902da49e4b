import type { Time } from '../../edge/time.ts'
import { Fault, type FaultCode } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { RunEnd } from './round.ts'

/** First and longest wait for a chain, in milliseconds. */
const wait = { firstMs: 5_000, longestMs: 60_000 } as const

/** Time without any readable chain after which the backfill ends. */
const nothingMsMax = 10 * 60_000

/** Rounds of one window before the next window is tried: only these hours may be unreadable. */
export const roundsMax = 5

/** Fault codes of a chain that cannot be read now. */
const troubles: ReadonlySet<FaultCode> = new Set(['chain-unreachable', 'chain-behind', 'chain-reorganized'])

/** Whether a run failed because its chain cannot be read now. */
export function isTrouble({ fault }: Pick<RunEnd, 'fault'>): boolean {
  return fault !== undefined && troubles.has(fault.code)
}

/** A wait for a chain that cannot be read now. */
export interface ChainWait {
  readonly fault: Fault
  /** Time until it is tried again, in milliseconds. */
  readonly forMs: number
}

/** Dependencies of `ChainOutage`. */
export interface ChainOutageDeps {
  readonly time: Time
  readonly signal: AbortSignal
  /** Called once for each wait. */
  readonly report: (wait: ChainWait) => void
  /**
   * Configured chains, as faults name them. For a chain that is not listed, any hour read shows that it is readable.
   */
  readonly chains: readonly { readonly name: string; readonly id: number }[]
}

/** Decides which runs wait for their chain, and waits. */
export class ChainOutage {
  readonly #deps: ChainOutageDeps
  /** Chains no longer waited for, until a window passes without trouble of theirs. */
  readonly #givenUp = new Set<string>()
  #waits = 0
  #nothingSinceMs: number | undefined

  constructor(deps: ChainOutageDeps) {
    this.#deps = deps
  }

  /**
   * Of the runs of a round, those to be read again first: no other collector could read their chain at their hour
   * either.
   */
  held(ends: readonly RunEnd[]): ReadonlySet<RunEnd> {
    const read = ends.filter(({ fault }) => !fault)
    if (read.length > 0) this.#succeeded()
    const readByHour = Map.groupBy(read, ({ hour }) => hour)
    const troubled = ends.filter(end => isTrouble(end) && !this.#isAlone(end, readByHour))
    const chains = new Set(troubled.map(chainOf))
    const held = troubled.filter(end => read.length === 0 || !this.#givenUp.has(chainOf(end)))
    for (const name of this.#givenUp) if (!chains.has(name) && this.#isRead(read, name)) this.#givenUp.delete(name)
    return new Set(held)
  }

  /**
   * Waits before the next round. Rejects with the signal's reason when aborted, and with the chain's Fault when nothing
   * was readable for long.
   */
  async wait(held: ReadonlySet<RunEnd>): Promise<void> {
    const { time, signal, report } = this.#deps
    const fault = [...held][0]?.fault
    if (!fault) return
    const nowMs = time.nowMs()
    this.#nothingSinceMs ??= nowMs
    if (nowMs - this.#nothingSinceMs >= nothingMsMax) throw nothingRead(fault)
    const forMs = Math.min(wait.longestMs, wait.firstMs * 2 ** this.#waits)
    this.#waits += 1
    report({ fault, forMs })
    await time.sleep(forMs, signal)
  }

  /** Stops waiting for the chains of some runs. */
  giveUp(held: ReadonlySet<RunEnd>): void {
    for (const end of held) this.#givenUp.add(chainOf(end))
  }

  #succeeded(): void {
    this.#waits = 0
    this.#nothingSinceMs = undefined
  }

  #isAlone(end: RunEnd, readByHour: ReadonlyMap<Hour, readonly RunEnd[]>): boolean {
    return this.#isRead(readByHour.get(end.hour) ?? [], chainOf(end))
  }

  #isRead(read: readonly RunEnd[], name: string): boolean {
    const id = this.#deps.chains.find(chain => chain.name === name)?.id
    return read.some(({ chainIds }) => id === undefined || chainIds.includes(id))
  }
}

/** Name of the chain, from the Fault. */
function chainOf({ fault }: RunEnd): string {
  return String(fault?.facts['chain'] ?? '')
}

function nothingRead({ code, message, facts, fix }: Fault): Fault {
  const minutes = nothingMsMax / 60_000
  const text = `nothing could be read for ${minutes} min: ${message}`
  return new Fault(code, text, { facts, ...(fix === undefined ? {} : { fix }) })
}
