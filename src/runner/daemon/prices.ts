import type { CollectorConfig } from '../../config/config.ts'
import { meant, quoted } from '../../config/mistakes.ts'
import type { Time } from '../../edge/time.ts'
import { unlessAborted } from '../../edge/unless-aborted.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { Priced } from '../messages.ts'
import { priceKeptMs, pricePinnedKeptMs, pricesKeptMax } from './limits.ts'
import type { Meeting } from './meeting.ts'

/** Dependencies of `Prices`. */
export interface PricesDeps {
  /** The configured prices by name. */
  readonly prices: Readonly<Record<string, CollectorConfig>>
  /** Reads a price as a run of its own. Rejects with a Fault. */
  readonly read: (price: CollectorConfig, hour: Hour) => Promise<Priced>
  readonly meeting: Meeting
  readonly time: Time
}

interface KeptPrice {
  readonly price: Promise<Priced>
  /** Until when it is given without reading it again, in milliseconds since 1970; set once it is there. */
  untilMs: number
}

/**
 * The prices of the configuration as of hours. Each is read once an hour, however many runs need it; one that fails is
 * read again when it is next needed.
 */
export class Prices {
  readonly #deps: PricesDeps
  readonly #kept = new Map<string, KeptPrice>()

  constructor(deps: PricesDeps) {
    this.#deps = deps
  }

  /**
   * A price of an hour. Its run joins the meeting of the hour's first questions before this returns, so that its reads
   * travel with theirs.
   *
   * @throws Fault `price-unknown`, `price-missing`; the signal's reason
   */
  async price(name: string, hour: Hour, signal: AbortSignal): Promise<Priced> {
    const { prices, time } = this.#deps
    const collector = Object.hasOwn(prices, name) ? prices[name] : undefined
    if (!collector) throw unknownPrice(name, Object.keys(prices))
    const key = keyOf(name, hour)
    const before = this.#kept.get(key)
    const kept = before && time.nowMs() < before.untilMs ? before : this.#read(name, collector, hour)
    return unlessAborted(kept.price, signal)
  }

  /** Lets a price be read again: a block that it depends on was replaced. */
  forget(name: string, hour: Hour): void {
    this.#kept.delete(keyOf(name, hour))
  }

  #read(name: string, collector: CollectorConfig, hour: Hour): KeptPrice {
    const { read, meeting, time } = this.#deps
    const key = keyOf(name, hour)
    meeting.join(hour, collector.id)
    const price = read(collector, hour).finally(() => meeting.leave(hour, collector.id))
    const kept: KeptPrice = {
      price: price.catch(error => Promise.reject(missing(name, error))),
      untilMs: Number.POSITIVE_INFINITY,
    }
    this.#kept.set(key, kept)
    kept.price.then(
      ({ pins }) => {
        kept.untilMs = time.nowMs() + (pins.length > 0 ? pricePinnedKeptMs : priceKeptMs)
        this.#drop()
      },
      () => {
        if (this.#kept.get(key) === kept) this.#kept.delete(key)
      },
    )
    return kept
  }

  #drop(): void {
    for (const [key, { untilMs }] of this.#kept) {
      if (this.#kept.size <= pricesKeptMax) return
      if (untilMs < Number.POSITIVE_INFINITY) this.#kept.delete(key)
    }
  }
}

const keyOf = (name: string, hour: Hour) => `${hour} ${name}`

function missing(name: string, error: unknown): Fault {
  const { message, facts, fix } = error instanceof Fault ? error : new Fault('price-missing', 'it cannot be read')
  return new Fault('price-missing', `there is no price of ${name}: ${message}`, {
    facts,
    ...(fix !== undefined && { fix }),
  })
}

function unknownPrice(name: string, known: readonly string[]): Fault {
  const near = meant(name, known)
  const others = known.length > 0 ? `configured are: ${known.join(', ')}` : 'add it under prices:'
  return new Fault('price-unknown', `there is no price ${quoted(name)} in the configuration`, {
    fix: near === undefined ? others : `did you mean ${near}?`,
  })
}
