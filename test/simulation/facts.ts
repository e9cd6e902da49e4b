import { serviceRetryAfterMsMax } from '../../src/delivery/breaker.ts'
import type { Sent } from './replies.ts'

/** Events in a world, whichever life they happened in, and the first promise that was broken. */
export class Facts {
  /** By owner: goes up with whatever happens that concerns it. */
  readonly activity = new Map<string, number>()
  violation: string | undefined
  /** When the last life had stopped. */
  lastMs = 0
  /** Called whenever the service asks to be left alone. */
  wished: () => void = () => {}
  /** Hours of collectors, as `collector hour`, of which no run will look again whether their block was replaced. */
  readonly givenUp = new Set<string>()
  /** When collectors were read last, as `collector hour`, by the world's clock. */
  readonly readAtMs = new Map<string, number>()
  /** By metric and hour. */
  readonly timesSent = new Map<string, number>()
  readonly #lastSent = new Map<string, number>()
  readonly #units = new Map<string, string | undefined>()
  readonly #wishes = new Map<string, { readonly wishMs: number; readonly heardMs: number }>()
  readonly #trace: ((line: string) => void) | undefined
  readonly #mayUnitsChange: boolean

  /** @param trace called with everything that happens */
  constructor(mayUnitsChange: boolean, trace?: (line: string) => void) {
    this.#mayUnitsChange = mayUnitsChange
    this.#trace = trace
  }

  get isTraced(): boolean {
    return this.#trace !== undefined
  }

  tell(line: string): void {
    this.#trace?.(line)
  }

  broken(promise: string): void {
    this.#trace?.(`BROKEN: ${promise}`)
    this.violation ??= promise
  }

  happened(owner: string): void {
    this.activity.set(owner, (this.activity.get(owner) ?? 0) + 1)
  }

  sent(key: string, { id, value, unit }: Sent): void {
    this.timesSent.set(key, (this.timesSent.get(key) ?? 0) + 1)
    this.#lastSent.set(key, value)
    if (!this.#units.has(id)) this.#units.set(id, unit)
    if (this.#units.get(id) !== unit && !this.#mayUnitsChange) this.broken(`the unit of ${key} is ${unit}`)
  }

  /** Values by metric and hour, as they went out last. */
  get allSent(): ReadonlyMap<string, number> {
    return this.#lastSent
  }

  heardWish(owner: string, wishMs: number, nowMs: number): void {
    this.wished()
    // At most an hour of it is believed.
    const believedMs = Math.min(wishMs, nowMs + serviceRetryAfterMsMax)
    if (believedMs > this.wishMs(owner)) this.#wishes.set(owner, { wishMs: believedMs, heardMs: nowMs })
  }

  /** A life is over: what it heard at its last instant it could not write down any more. */
  lifeIsOver(nowMs: number): void {
    for (const [owner, { heardMs }] of this.#wishes) if (heardMs === nowMs) this.#wishes.delete(owner)
  }

  /** Before this instant an owner must not ask anything. */
  wishMs(owner: string): number {
    return this.#wishes.get(owner)?.wishMs ?? 0
  }
}
