import type { Config } from '../config/config.ts'
import { readSecret } from '../config/secret.ts'
import { type Destination, destinationsOf } from '../delivery/destination.ts'

/** The service and its destinations as they are named in messages. */
export interface NamedService {
  /** `host:port`, or `embedded`, with the address once it runs: `embedded (host:port)`. */
  readonly host: string
  readonly destinations: readonly Destination[]
}

/** Names the configured service. Nothing is opened, and the embedded one is not started. */
export function namedService(config: Config): NamedService {
  const { service } = config
  if (service.kind === 'embedded')
    return { host: 'embedded', destinations: destinationsOf(config, undefined, readSecret) }
  const { key, url } = service
  return { host: new URL(url).host, destinations: destinationsOf(config, key && (() => readSecret(key)), readSecret) }
}
