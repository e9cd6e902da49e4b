import type { Time } from '../edge/time.ts'
import { hourMs } from '../model/limits.ts'
import {
  collectorIdentity,
  type FleetStore,
  type Identity,
  otherServiceSentence,
  recentIdentityMs,
  type SharedTransaction,
  type StoredIdentity,
  serviceIdentity,
} from '../outbox/contract/fleet-store.ts'
import type { Log } from '../telemetry/log.ts'

/** Time without a living daemon that has the definition which counts, after which another definition may count. */
export const unsupportedMs = 15 * 60_000

/** Definitions of collectors as identities. Pure. */
export function definitionIdentities(
  definitions: readonly { readonly collector: string; readonly digest: Buffer }[],
): readonly Identity[] {
  return definitions.map(({ collector, digest }) => ({ name: collectorIdentity(collector), digest }))
}

/** Sentence about a daemon whose definition of some collectors is not the fleet's. */
function otherDefinitionSentence(collectors: readonly string[]): string {
  const [first = '', ...more] = collectors
  const named = more.length === 0 ? first : `${first} and ${more.length} more`
  return `the definition of ${named} here (code and options) is not the one that counts, so its hours are left to the other daemons: give all the same configuration, or run tidegauge fleet take collector ${first} where the right one is`
}

/** A daemon, as far as it must be the same as others. */
interface AgreeingDaemon {
  readonly store: Pick<FleetStore, 'agree' | 'take' | 'identities' | 'noteDefinitions' | 'supported'>
  /** Name of this daemon. */
  readonly name: string
  readonly service: Identity
  /** Definitions of the configured collectors. */
  readonly definitions: readonly Identity[]
  readonly log: Log
  readonly time: Pick<Time, 'steadyMs'>
}

/**
 * Stands back where this daemon differs in what must be the same in its whole fleet, which is a row: with another service it
 * delivers nothing until a person decides. Hours of a collector that is defined otherwise here are left to the others, until
 * no daemon that lives has the definition which counts: at once where the daemon that wrote it has changed it, else after
 * `unsupportedMs`.
 */
export class FleetAgreement {
  readonly #deps: AgreeingDaemon
  readonly #definitions: ReadonlyMap<string, Identity>
  readonly #counting = new Map<string, StoredIdentity>()
  readonly #differing = new Set<string>()
  readonly #unsupportedSinceMs = new Map<string, number>()
  #noted: string | undefined
  #learntAtMs = Number.NEGATIVE_INFINITY
  #warnedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: AgreeingDaemon) {
    this.#deps = deps
    this.#definitions = new Map(deps.definitions.map(identity => [identity.name, identity]))
  }

  /** Whether this daemon delivers to the service of the fleet; `false` until that is known. */
  get isOfFleet(): boolean {
    return this.#counting.get(serviceIdentity)?.digest.equals(this.#deps.service.digest) ?? false
  }

  /** Ids of the collectors whose definition here does not count. */
  get differing(): readonly string[] {
    return [...this.#differing].map(collectorOf).sort()
  }

  /** Whether hours of a collector are left to the other daemons. */
  standsBack(collector: string): boolean {
    return this.#differing.has(collectorIdentity(collector))
  }

  /** Asks, in a transaction, whether the definition of a collector here counts: it may have changed a moment ago. */
  async counts(collector: string, transaction: SharedTransaction): Promise<boolean> {
    const name = collectorIdentity(collector)
    const own = this.#definitions.get(name)
    const [counting] = await this.#deps.store.identities([name], transaction)
    return !own || !counting || counting.digest.equals(own.digest)
  }

  /** Writes what no daemon has written yet, and learns what counts. Before anything is collected or delivered. */
  async begin(): Promise<void> {
    const { store, name, service, definitions } = this.#deps
    this.#learn(await store.agree([service, ...definitions], name))
  }

  /** Learns what has changed, as this daemon has read it when it renewed its lease. @param identities the service, and recent identities */
  async renewed(identities: readonly StoredIdentity[]): Promise<void> {
    const { store, time } = this.#deps
    const nowMs = time.steadyMs()
    this.#learn(identities)
    // Changes of a time in which the database could not be reached from here are not recent any more.
    const isLate = nowMs - this.#learntAtMs > recentIdentityMs / 2
    if (isLate) this.#learn(await store.identities([...this.#definitions.keys()]))
    this.#learntAtMs = nowMs
    await this.#note()
    await this.#changeHands()
  }

  /** Says for which definitions this daemon stands, again after each change of what counts. */
  async #note(): Promise<void> {
    const { store, name } = this.#deps
    const differingCollectors = this.differing
    const sinceMs = Math.max(0, ...[...this.#definitions.keys()].map(each => this.#counting.get(each)?.sinceMs ?? 0))
    const text = `${sinceMs} ${differingCollectors.join(' ')}`
    if (text === this.#noted) return
    const agreeing = [...this.#definitions.keys()].filter(each => !this.#differing.has(each)).map(collectorOf)
    await store.noteDefinitions(name, { agreeing, differing: differingCollectors })
    this.#noted = text
  }

  #learn(counting: readonly StoredIdentity[]): void {
    for (const identity of counting) {
      this.#counting.set(identity.name, identity)
      const definition = this.#definitions.get(identity.name)
      if (!definition) continue
      if (definition.digest.equals(identity.digest)) this.#differing.delete(identity.name)
      else this.#differing.add(identity.name)
    }
    this.#warn()
  }

  #warn(): void {
    const { log, time, service } = this.#deps
    const otherService = otherServiceSentence(service, this.#counting.get(serviceIdentity))
    const sentences = [
      ...(otherService === undefined ? [] : [otherService]),
      ...(this.#differing.size === 0 ? [] : [otherDefinitionSentence(this.differing)]),
    ]
    if (sentences.length === 0) this.#warnedAtMs = Number.NEGATIVE_INFINITY
    if (sentences.length === 0 || time.steadyMs() - this.#warnedAtMs < hourMs) return
    this.#warnedAtMs = time.steadyMs()
    for (const sentence of sentences) log.error(sentence)
  }

  /** Makes definitions of this daemon count where no other daemon stands for the former ones any more. */
  async #changeHands(): Promise<void> {
    const { store, name, log, time } = this.#deps
    if (this.#differing.size === 0) return
    const states = await store.supported(this.differing, name)
    const nowMs = time.steadyMs()
    const newIdentities = states.flatMap(({ collector, isSupported, isLeft }) => {
      const identity = this.#definitions.get(collectorIdentity(collector))
      if (isSupported || !identity) {
        this.#unsupportedSinceMs.delete(collector)
        return []
      }
      const sinceMs = this.#unsupportedSinceMs.get(collector) ?? nowMs
      this.#unsupportedSinceMs.set(collector, sinceMs)
      return isLeft || nowMs - sinceMs >= unsupportedMs ? [identity] : []
    })
    if (newIdentities.length === 0) return
    await store.take(newIdentities, name)
    this.#learn(await store.identities(newIdentities.map(identity => identity.name)))
    const collectors = newIdentities.map(identity => collectorOf(identity.name))
    log.info({ collectors }, 'no other daemon has the definition that counted: the one of this daemon counts now')
  }
}

function collectorOf(name: string): string {
  return name.slice(collectorIdentity('').length)
}
