import { createHmac } from 'node:crypto'
import { type Config, serviceAddress } from '../config/config.ts'
import type { Destination } from '../delivery/destination.ts'
import { configurationParts, partBytes, serviceAt } from '../outbox/contract/fleet-store.ts'
import { partDigest } from '../status/fleet.ts'

/** Digests of a daemon's configuration for the others of its fleet. */
export class FleetIdentity {
  readonly #config: Config
  readonly #destinations: readonly Destination[]
  readonly #salt: string
  /** Digests of all parts but the keys, which may change while the daemon runs. */
  readonly #parts: Readonly<Record<Exclude<(typeof configurationParts)[number], 'keys'>, Buffer>>

  /** @param salt random bytes of the database: what is said of a key there means nothing elsewhere */
  constructor(config: Config, destinations: readonly Destination[], salt: string) {
    this.#config = config
    this.#destinations = destinations
    this.#salt = salt
    const { delivery, outbox, collect, chains, prices, lists, protocols, heartbeat, notify } = config
    this.#parts = {
      service: serviceAt(serviceAddress(config)).digest.subarray(0, partBytes),
      collectors: partDigest({
        chains: chains.map(({ rpc: _, ...chain }) => chain),
        prices: prices.map(({ name, collector }) => [name, collector.options]),
        lists: lists.map(({ name, collector }) => [name, collector.options]),
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

  /**
   * Digest of all of the configuration that is not of this machine: a few bytes of each of `configurationParts`. Then of the
   * key of each protocol, as one machine may have protocols that another lacks.
   */
  get digest(): Buffer {
    const byProtocol = this.#destinations.flatMap(destination => {
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
    try {
      const hmac = createHmac('sha256', this.#salt)
        .update(`${serviceAddress(this.#config)}\n${readKey()}`)
        .digest('hex')
      return `key/${hmac.slice(0, 2 * partBytes)}`
    } catch {
      return name
    }
  }
}
