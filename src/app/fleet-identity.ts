import { createHash, createHmac } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Destination } from '../delivery/destination.ts'
import { type Announced, configurationParts, partBytes } from '../outbox/contract/fleet-store.ts'
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
      service: digestOf(urlOf(deps.config)),
      collectors: digestOf({
        chains: chains.map(({ rpc: _, ...chain }) => chain),
        prices: prices.map(({ name, collector }) => [name, collector.options]),
        protocols: protocols.map(({ key: _, place: __, collectors, ...protocol }) => ({
          ...protocol,
          collectors: collectors.map(({ id, use, options, since, deadlineMs, machine }) => [
            ...[id, use, options, since, deadlineMs, machine],
          ]),
        })),
      }),
      settings: digestOf({ delivery, outbox, collect, heartbeat: Boolean(heartbeat), notify: notify.length }),
    }
  }

  /** Whether this daemon delivers to the service of the fleet: that of the daemon that has been there longest. */
  get isOfFleet(): boolean {
    return this.#isOfFleet ?? false
  }

  /** Digest of all of the configuration that is not of this machine: a few bytes of each of `configurationParts`. */
  get digest(): Buffer {
    const { destinations } = this.#deps
    // A protocol that one machine alone has changes the name of a destination, and not its key.
    const keys = () => digestOf(destinations.map(destination => this.keyName(destination)).sort())
    return Buffer.concat(configurationParts.map(part => (part === 'keys' ? keys() : this.#parts[part])))
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

function digestOf(content: unknown): Buffer {
  const text = JSON.stringify(content) ?? ''
  return createHash('sha256').update(text).digest().subarray(0, partBytes)
}

function urlOf({ service }: Config): string {
  return service.kind === 'remote' ? service.url : service.kind
}
