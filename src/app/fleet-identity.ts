import { createHmac } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Destination } from '../delivery/destination.ts'
import { type Announced, configurationParts, partBytes } from '../outbox/contract/fleet-store.ts'
import { partDigest } from '../status/fleet.ts'
import type { Log } from '../telemetry/log.ts'

/** Dependencies of `FleetIdentity`. */
export interface FleetIdentityDeps {
  readonly config: Config
  readonly destinations: readonly Destination[]
  /** Random bytes of the database: what is said of a key there means nothing elsewhere. */
  readonly salt: string
  readonly log: Log
}

/** Digests of a daemon's configuration for the others of its fleet, and whether all deliver to the same service. */
export class FleetIdentity {
  readonly #deps: FleetIdentityDeps
  /** Digests of all parts but the keys, which may change while the daemon runs. */
  readonly #parts: Readonly<Record<Exclude<(typeof configurationParts)[number], 'keys'>, Buffer>>
  #isOfFleet: boolean | undefined
  #namesake: string | undefined

  constructor(deps: FleetIdentityDeps) {
    this.#deps = deps
    const { delivery, outbox, collect, chains, prices, protocols, heartbeat, notify } = deps.config
    this.#parts = {
      service: partDigest(urlOf(deps.config)),
      collectors: partDigest({
        chains: chains.map(({ rpc: _, ...chain }) => chain),
        prices: prices.map(({ name, collector }) => [name, collector.options]),
        protocols: protocols.map(({ key: _, place: __, collectors, ...protocol }) => ({
          ...protocol,
          collectors: collectors.map(({ id, use, options, since, deadlineMs, machine }) => [
            ...[id, use, options, since, deadlineMs, machine],
          ]),
        })),
      }),
      settings: partDigest({ delivery, outbox, collect, heartbeat: Boolean(heartbeat), notify: notify.length }),
    }
  }

  /** Whether this daemon delivers to the service of the fleet: that of the daemon that has been there longest. */
  get isOfFleet(): boolean {
    return this.#isOfFleet ?? false
  }

  /**
   * Digest of all of the configuration that is not of this machine: a few bytes of each of `configurationParts`. Then of the
   * key of each protocol, as one machine may have protocols that another lacks.
   */
  get digest(): Buffer {
    const byProtocol = this.#deps.destinations.flatMap(destination => {
      const key = partDigest(this.keyName(destination))
      return destination.protocols.map(({ id }) => Buffer.concat([partDigest(id), key]))
    })
    const keys = partDigest(byProtocol.map(pair => pair.toString('hex')).sort())
    const parts = configurationParts.map(part => (part === 'keys' ? keys : this.#parts[part]))
    return Buffer.concat([...parts, ...byProtocol])
  }

  /**
   * Name of a destination's key, the same on all machines that have it, wherever they keep it. A key that cannot be read has
   * the destination's.
   */
  keyName({ name, readKey }: Pick<Destination, 'name' | 'readKey'>): string {
    const { config, salt } = this.#deps
    try {
      const hmac = createHmac('sha256', salt)
        .update(`${urlOf(config)}\n${readKey()}`)
        .digest('hex')
      return `key/${hmac.slice(0, 2 * partBytes)}`
    } catch {
      return name
    }
  }

  /** Takes what the outbox answered to an announcement. */
  announced({ leading, namesake }: Announced): void {
    const { log } = this.#deps
    const isOfFleet = !leading || leading.subarray(0, partBytes).equals(this.#parts.service)
    if (!isOfFleet && this.#isOfFleet !== false) log.warn(otherService)
    this.#isOfFleet = isOfFleet
    if (namesake !== undefined && namesake !== this.#namesake) {
      log.warn({ other: namesake }, 'another daemon has this name: give each a fleet.name of its own')
    }
    this.#namesake = namesake
  }
}

const otherService =
  'service.url is not that of the daemon that has been there longest: this daemon delivers nothing until they are the same'

function urlOf({ service }: Config): string {
  return service.kind === 'remote' ? service.url : service.kind
}
