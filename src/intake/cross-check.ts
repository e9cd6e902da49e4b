import type { CollectorConfig } from '../config/config.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { labelOf } from '../model/metric.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { Runner, RunOutcome } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import { asFault, type Collected, nothing, type ResultCheck } from './collect.ts'

/** A chain whose endpoints can be compared. */
export interface ComparedChain {
  /** As `eth_chainId` answers it. */
  readonly id: number
  readonly name: string
  /** Number of hosts that must give the same values. */
  readonly agree: number
  /** Host of the endpoint that served an hour. */
  servedBy(hour: Hour): string | undefined
  /** Puts the endpoint that served an hour into quarantine. */
  quarantine(hour: Hour): void
}

/** Dependencies of `CrossCheck`. */
export interface CrossCheckDeps {
  /** Each reads an hour from endpoints of other hosts than those before it. */
  readonly elsewhere: readonly Pick<Runner, 'collect'>[]
  readonly chains: readonly ComparedChain[]
  readonly log: Log
}

/** Difference of two runs of a collector for an hour. */
export interface Disagreement {
  /** Labels with different values, or with a value in one run only. */
  readonly labels: readonly string[]
  /** Chains that were read at different blocks. */
  readonly chainIds: readonly number[]
}

/** Compares two runs of a collector for an hour. Pure. */
export function disagreementOf(one: RunOutcome, other: RunOutcome): Disagreement {
  const labels = new Set([...Object.keys(one.readings), ...Object.keys(other.readings)])
  const hashes = new Map(other.pins.map(({ chainId, block }) => [chainId, block.hash.toLowerCase()]))
  return {
    labels: [...labels].filter(label => !Object.is(one.readings[label], other.readings[label])),
    chainIds: one.pins.flatMap(({ chainId, block }) => {
      const hash = hashes.get(chainId)
      return hash !== undefined && hash !== block.hash.toLowerCase() ? [chainId] : []
    }),
  }
}

/**
 * Asks endpoints of other hosts where a value is held for its jump, and always for a chain with `agree`. The same values
 * release a jump; others put the endpoint that served the hour into quarantine, and the hour is read again.
 */
export class CrossCheck implements ResultCheck {
  readonly #deps: CrossCheckDeps

  constructor(deps: CrossCheckDeps) {
    this.#deps = deps
  }

  async confirmed(
    collector: CollectorConfig,
    hour: Hour,
    outcome: RunOutcome,
    collected: Collected,
  ): Promise<Collected> {
    const read = this.#deps.chains.filter(({ id }) => outcome.pins.some(({ chainId }) => chainId === id))
    const agree = Math.max(1, ...read.map(chain => chain.agree))
    const jumps = collected.accepted.filter(({ hold }) => hold?.kind === 'jump')
    if (read.length === 0 || (agree === 1 && jumps.length === 0)) return collected
    const opinions = agree > 1 ? agree - 1 : 1
    for (const runner of this.#deps.elsewhere.slice(0, opinions)) {
      const other = await runner.collect(collector, hour).catch((error: unknown) => asFault(error))
      if (other instanceof Fault) {
        return agree > 1 ? nothing(notAgreed(agree, other)) : unconfirmed(collected, faultLine(other))
      }
      const { labels, chainIds } = disagreementOf(outcome, other)
      const asked = agree > 1 ? labels : labels.filter(label => jumps.some(({ metric }) => labelOf(metric) === label))
      if (asked.length > 0 || chainIds.length > 0) {
        return this.#disagreed({ collector, hour, read, collected, outcome, other, labels: asked, chainIds, agree })
      }
    }
    return jumps.length === 0 ? collected : this.#released(hour, collected, read)
  }

  #released(hour: Hour, collected: Collected, read: readonly ComparedChain[]): Collected {
    const { log } = this.#deps
    const accepted = collected.accepted.map((one): Accepted => {
      if (one.hold?.kind !== 'jump') return one
      const { metric, hold } = one
      const facts = { metric: metric.id, hour: hourText(hour), reason: hold.reason, endpoint: hostsOf(read, hour) }
      log.warn(facts, 'a jump is confirmed by an endpoint of another host: it is sent')
      return { metric }
    })
    return { ...collected, accepted }
  }

  #disagreed(found: DisagreedRun): Collected {
    const { collector, hour, read, collected, outcome, other, labels, chainIds, agree } = found
    // Of several chains it is not known whose endpoint is wrong, unless the blocks differ.
    const suspects = chainIds.length > 0 ? read.filter(({ id }) => chainIds.includes(id)) : read
    const [label = ''] = labels
    const values = `${outcome.readings[label] ?? 'none'} and ${other.readings[label] ?? 'none'}`
    const what = chainIds.length > 0 ? 'different blocks' : `${label}: ${values}`
    const reason = `endpoints of different hosts disagree about ${hourText(hour)}: ${what}`
    if (suspects.length > 1) return agree > 1 ? nothing(disagreement(reason)) : unconfirmed(collected, reason)
    for (const chain of suspects) {
      const facts = { chain: chain.name, endpoint: chain.servedBy(hour), collector: collector.id, hour: hourText(hour) }
      this.#deps.log.error(
        { ...facts, reason },
        'endpoint in quarantine: another host answers otherwise, the hour is read again',
      )
      chain.quarantine(hour)
    }
    return nothing(disagreement(reason))
  }
}

interface DisagreedRun extends Disagreement {
  readonly collector: CollectorConfig
  readonly hour: Hour
  readonly read: readonly ComparedChain[]
  readonly collected: Collected
  readonly outcome: RunOutcome
  readonly other: RunOutcome
  readonly agree: number
}

function disagreement(reason: string): Fault {
  return new Fault('chain-disagreement', reason, {
    fix: 'compare a block’s hash with an explorer’s, and take the node that is wrong out of rpc:',
  })
}

function notAgreed(agree: number, why: Fault): Fault {
  return new Fault('chain-disagreement', `${agree} hosts must agree, and not as many answer: ${why.message}`, {
    ...(why.fix !== undefined && { fix: why.fix }),
  })
}

/** Held values as before, with why no other host has confirmed them. */
function unconfirmed(collected: Collected, why: string): Collected {
  const accepted = collected.accepted.map((one): Accepted => {
    if (one.hold?.kind !== 'jump') return one
    return { ...one, hold: { ...one.hold, reason: `${one.hold.reason}; not confirmed by another host: ${why}` } }
  })
  return { ...collected, accepted }
}

function hostsOf(read: readonly ComparedChain[], hour: Hour): string {
  return read.flatMap(chain => chain.servedBy(hour) ?? []).join(', ')
}
