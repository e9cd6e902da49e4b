import { clientCertificateOf } from '../config/certificates.ts'
import type { Config, PlacedHeaders } from '../config/config.ts'
import { readSecret, resolveHeaders } from '../config/secret.ts'
import { type Destination, destinationsOf } from '../delivery/destination.ts'
import { type ListingClient, serviceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import { secretPartsOf } from '../model/host.ts'
import type { AppContext } from './context.ts'
import type { EmbeddedService } from './embedded.ts'
import { requireFolder } from './open-outbox.ts'

/** Connection to the service: its client, and the destinations with their keys. */
export interface Connection extends NamedService {
  readonly client: ListingClient
  /** Reads the key of a protocol's destination. Throws Fault `secret-missing`. */
  keyOf(protocolId: string): string
}

/** Connects to the configured service, starting the embedded one if that is configured; closed with the stack. */
export async function connect(
  { config, time, redactor }: AppContext,
  stack: AsyncDisposableStack,
): Promise<Connection> {
  const { service, delivery } = config
  const embeddedServer =
    service.kind === 'embedded' ? await embeddedService(requireFolder(config, ownService), time) : undefined
  if (embeddedServer) {
    redactor.add([embeddedServer.key])
    stack.defer(() => embeddedServer.stop())
  }
  const url = service.kind === 'embedded' ? (embeddedServer?.url ?? '') : service.url
  const redact = (text: string) => redactor.redact(text)
  const ref = service.kind === 'remote' ? service.key : undefined
  const serviceKey = embeddedServer ? () => embeddedServer.key : ref && (() => readSecret(ref))
  const destinations = destinationsOf(config, serviceKey, readSecret)
  // Each destination has its own, so that a key on which the service hangs delays no other; one is for widgets.
  const connections = delivery.inFlight * destinations.length + 1
  const { headers, certificate } = service.kind === 'remote' ? service : {}
  const client = serviceClient({
    url,
    timeoutMs: delivery.timeoutMs,
    connections,
    time,
    redact,
    headers: headers && (() => ownHeaders(headers, redactor)),
    certificate: certificate && (() => clientCertificateOf(certificate)),
  })
  stack.defer(() => client.close())
  return {
    client,
    host: embeddedServer ? `embedded (${client.host})` : client.host,
    destinations,
    keyOf(protocolId) {
      const own = destinations.find(({ protocols }) => protocols.some(({ id }) => id === protocolId))
      const key = own?.readKey() ?? ''
      redactor.add([key])
      return key
    },
  }
}

function ownHeaders({ headers }: PlacedHeaders, redactor: AppContext['redactor']): Record<string, string> {
  const values = resolveHeaders({ headers })
  redactor.add(
    Object.entries(values).flatMap(([name, value]) =>
      headers[name]?.kind === 'text' ? [] : [value, ...secretPartsOf(value)],
    ),
  )
  return values
}

const ownService = 'name a service by its url: the embedded service belongs to one daemon'

/** Loads the embedded service when it is configured: its server is a third of what a command loads. */
async function embeddedService(dataFolder: string, time: Time): Promise<EmbeddedService> {
  const { startEmbedded } = await import('./embedded.ts')
  return startEmbedded(dataFolder, time)
}

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
