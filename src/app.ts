import { join } from 'node:path'
import { createChainReader } from './chain/reader.ts'
import type { ChainReader, Chains } from './chain/reads.ts'
import type { Config } from './config/config.ts'
import { readSecret, resolveEndpoints, secretsOf } from './config/secret.ts'
import { Delivery } from './delivery/delivery.ts'
import { type Destination, destinationsOf } from './delivery/destination.ts'
import { DeliveryLoop } from './delivery/loop.ts'
import { Pacer } from './delivery/pacer.ts'
import { startEmbedded } from './embedded.ts'
import { Intake } from './intake/intake.ts'
import { takeDeliveryRole } from './outbox/lock.ts'
import { Outbox } from './outbox/outbox.ts'
import { createRunner } from './runner/create.ts'
import type { Runner } from './runner/runner.ts'
import { type ServiceClient, serviceClient } from './service/client.ts'
import { observe } from './status/observe.ts'
import { startStatus } from './status/server.ts'
import type { Snapshot } from './status/snapshot.ts'
import { Widgets } from './status/widgets.ts'
import { startExposition } from './telemetry/exposition.ts'
import type { Log } from './telemetry/log.ts'
import type { Redactor } from './telemetry/redactor.ts'
import type { Time } from './time.ts'
import { version } from './version.ts'

/** What everything needs and the process edge decides. */
export interface Surroundings {
  readonly config: Config
  readonly time: Time
  readonly log: Log
  readonly redactor: Redactor
}

/** The way to the service: the client, and the destinations with their keys. */
export interface Connection {
  readonly client: ServiceClient
  /** For people: `host:port`, or `embedded (host:port)`. */
  readonly host: string
  readonly destinations: readonly Destination[]
  /** Reads the key a protocol is written with. Throws Fault `secret-missing`. */
  keyOf(protocolId: string): string
}

/** Connects to the configured service, starting the embedded one where that is configured; ends with the stack. */
export async function connect(
  { config, time, redactor }: Surroundings,
  stack: AsyncDisposableStack,
): Promise<Connection> {
  const { service, delivery } = config
  const embedded = service.kind === 'embedded' ? await startEmbedded(config.data, time) : undefined
  if (embedded) {
    redactor.add([embedded.key])
    stack.defer(() => embedded.stop())
  }
  const url = service.kind === 'embedded' ? (embedded?.url ?? '') : service.url
  const client = serviceClient({ url, timeoutMs: delivery.timeoutMs, connections: delivery.inFlight + 1, time })
  stack.defer(() => client.close())
  const ref = service.kind === 'remote' ? service.key : undefined
  const serviceKey = embedded ? () => embedded.key : ref && (() => readSecret(ref))
  const destinations = destinationsOf(config, serviceKey, readSecret)
  return {
    client,
    host: embedded ? `embedded (${client.host})` : client.host,
    destinations,
    keyOf(protocolId) {
      const own = destinations.find(({ protocols }) => protocols.some(({ id }) => id === protocolId))
      const key = own?.readKey() ?? ''
      redactor.add([key])
      return key
    },
  }
}

/** Opens the outbox; it is closed with the stack. */
export function openOutbox({ config }: Surroundings, stack: AsyncDisposableStack): Outbox {
  const outbox = new Outbox(join(config.data, 'outbox.db'))
  stack.defer(() => outbox.close())
  return outbox
}

/** Opens the chains and the place collectors run in; they end with the stack. */
export function openRunner(surroundings: Surroundings, stack: AsyncDisposableStack): Runner {
  return runnerOn(openChains(surroundings, stack), surroundings.config.collect.deadlineMs, surroundings, stack)
}

/** Opens the place collectors run in without a chain: they can be loaded and described, offline and without a secret. */
export function openOfflineRunner(surroundings: Surroundings, deadlineMs: number, stack: AsyncDisposableStack): Runner {
  return runnerOn({}, deadlineMs, surroundings, stack)
}

function openChains({ config, time, log, redactor }: Surroundings, stack: AsyncDisposableStack): Chains {
  redactor.add(secretsOf(config))
  const chains: Record<string, ChainReader> = {}
  for (const chain of config.chains) {
    const { name, id } = chain
    const passedOver = (endpoint: string, reason: string) =>
      log.warn({ chain: name, endpoint, reason }, 'endpoint failed, another one is asked')
    const reader = createChainReader({ name, id, endpoints: resolveEndpoints(chain), time, passedOver })
    stack.defer(() => reader.close())
    chains[name] = reader
  }
  return chains
}

function runnerOn(
  chains: Chains,
  deadlineMs: number,
  { time, log }: Surroundings,
  stack: AsyncDisposableStack,
): Runner {
  const runner = createRunner({
    chains,
    deadlineMs,
    time,
    log: (collector, level, message, facts) => log[level]({ ...facts, collector }, message),
  })
  stack.defer(() => runner.stop())
  return runner
}

/** One delivery for each destination, sharing the pace. */
export function deliveriesTo(
  connection: Connection,
  outbox: Outbox,
  { config, time, log, redactor }: Surroundings,
): Delivery[] {
  const pacer = new Pacer(time, config.delivery.pacePerSecond)
  const { inFlight } = config.delivery
  return connection.destinations.map(
    destination =>
      new Delivery({ outbox, client: connection.client, destination, pacer, inFlight, log, redactor, time }),
  )
}

/** Reads what is true now, without the service's widgets unless they are given. */
export function look(
  { config, time }: Surroundings,
  outbox: Outbox,
  connection: Pick<Connection, 'host' | 'destinations'>,
  widgets: Parameters<typeof observe>[0]['widgets'],
  startedAtMs: number,
): Snapshot {
  const destinations = connection.destinations.map(({ name }) => name)
  const { host } = connection
  return observe({ config, outbox, host, destinations, version, startedAtMs, nowMs: time.nowMs(), widgets })
}

/** A running daemon. */
export interface Daemon {
  /** Address of the status server. */
  readonly statusUrl: string
  /** Address of the service, for people. */
  readonly serviceHost: string
  /** Stops what started last first; complete when it returns. */
  stop(): Promise<void>
}

/**
 * Starts the daemon: the delivery role, the service's client, the outbox, then the two loops, then the status server.
 *
 * @throws Fault `outbox-held` when another process has the role; whatever started is stopped again on any error
 */
export async function startDaemon(surroundings: Surroundings): Promise<Daemon> {
  const { config, time, log } = surroundings
  await using stack = new AsyncDisposableStack()
  const startedAtMs = time.nowMs()
  const role = takeDeliveryRole(config.data, config.file, startedAtMs)
  stack.defer(() => role.release())
  const outbox = openOutbox(surroundings, stack)
  const connection = await connect(surroundings, stack)
  const runner = openRunner(surroundings, stack)

  const loop = new DeliveryLoop(deliveriesTo(connection, outbox, surroundings), time, log)
  stack.defer(() => loop.stop())
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const intake = new Intake({ outbox, runner, collectors, time, log })
  stack.defer(() => intake.stop())

  const widgets = new Widgets(config, connection.client, connection.keyOf, time)
  const now = (reads: Parameters<typeof look>[3]) => look(surroundings, outbox, connection, reads, startedAtMs)
  const snapshot = async () => now(await widgets.read())
  const status = await startStatus({
    ...config.status,
    snapshot,
    // A probe or a scrape each few seconds must not ask the service anything.
    ready: () => now(new Map()).ready,
    exposition: startExposition(() => now(new Map())),
    time,
  })
  stack.defer(() => status.stop())

  const started = stack.move()
  return { statusUrl: status.url, serviceHost: connection.host, stop: () => started.disposeAsync() }
}
