import { readSecret } from '../config/secret.ts'
import { Delivery } from '../delivery/delivery.ts'
import { type Destination, destinationsOf } from '../delivery/destination.ts'
import { Pacer } from '../delivery/gate/pacer.ts'
import { ServiceClock } from '../delivery/gate/service-clock.ts'
import { type ServiceClient, serviceClient } from '../edge/service-client.ts'
import { CautiousTime } from '../intake/cautious-time.ts'
import { Intake } from '../intake/intake.ts'
import { WatchedClock } from '../intake/watched-clock.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Breakage } from '../outbox/contract/health.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { hasOutbox, type OpenDeps, type Opened, openForCommand, openForDaemon } from '../outbox/open.ts'
import { takeDaemonRole, takeDeliveryRoleAsDaemon } from '../outbox/roles.ts'
import { startExposition } from '../status/exposition.ts'
import { observe } from '../status/observe.ts'
import type { Observed } from '../status/observed.ts'
import { readiness } from '../status/readiness.ts'
import { Reloads } from '../status/reloads.ts'
import { scrape } from '../status/scrape.ts'
import { startStatus } from '../status/server/server.ts'
import { Widgets } from '../status/widgets.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { ClockWatch, witnessesOf, writtenAt } from './clock-watch.ts'
import type { AppContext } from './context.ts'
import { startDelivering } from './delivering.ts'
import { startEmbedded } from './embedded.ts'
import { endpointStates, openChains, runnerOn } from './open-runner.ts'
import { tellSalvage } from './outbox-news.ts'
import { version } from './version.ts'

/** Connection to the service: the client, and the destinations with their keys. */
export interface Connection {
  readonly client: ServiceClient
  /** The service for messages: `host:port`, or `embedded (host:port)`. */
  readonly host: string
  readonly destinations: readonly Destination[]
  /** Reads the key of a protocol's destination. Throws Fault `secret-missing`. */
  keyOf(protocolId: string): string
}

/** Connects to the configured service, starting the embedded one if that is configured; closed with the stack. */
export async function connect(
  { config, time, redactor }: AppContext,
  stack: AsyncDisposableStack,
): Promise<Connection> {
  const { service, delivery } = config
  const embedded = service.kind === 'embedded' ? await startEmbedded(config.data, time) : undefined
  if (embedded) {
    redactor.add([embedded.key])
    stack.defer(() => embedded.stop())
  }
  const url = service.kind === 'embedded' ? (embedded?.url ?? '') : service.url
  const redact = (text: string) => redactor.redact(text)
  const ref = service.kind === 'remote' ? service.key : undefined
  const serviceKey = embedded ? () => embedded.key : ref && (() => readSecret(ref))
  const destinations = destinationsOf(config, serviceKey, readSecret)
  // Each destination has its own, so that a key on which the service hangs delays no other; one is for widgets.
  const connections = delivery.inFlight * destinations.length + 1
  const client = serviceClient({ url, timeoutMs: delivery.timeoutMs, connections, time, redact })
  stack.defer(() => client.close())
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

/**
 * Opens the outbox, whether or not a daemon runs; it is closed with the stack. A damaged one is salvaged first if no
 * daemon runs.
 */
export async function openOutbox(context: AppContext, stack: AsyncDisposableStack): Promise<Outbox> {
  // Commands report on stderr themselves, except for this, which is not expected.
  const log = createLog('error', context.redactor)
  return closedWith(stack, await openForCommand(outboxDeps(context)), log)
}

/** Opens the outbox if there is one; it is closed with the stack. */
export async function openExistingOutbox(
  context: AppContext,
  stack: AsyncDisposableStack,
): Promise<Outbox | undefined> {
  return hasOutbox(context.config.data) ? openOutbox(context, stack) : undefined
}

function outboxDeps({ config, time }: AppContext): OpenDeps {
  const collectors = config.protocols.flatMap(protocol => protocol.collectors).map(({ id }) => id)
  const { data: folder, file, outbox } = config
  return { folder, config: file, keepMs: outbox.keepMs, collectors, nowMs: time.nowMs() }
}

function closedWith(stack: AsyncDisposableStack, { outbox, salvaged }: Opened, log: Log): Outbox {
  stack.defer(() => outbox.close())
  if (salvaged) tellSalvage(log, salvaged)
  return outbox
}

/**
 * Creates one delivery for each destination; they share the pace. Other destinations wait for nothing any more.
 *
 * @param fewest metrics worth a push while more are being collected; default 1
 */
export async function deliveriesTo(
  connection: Connection,
  outbox: DeliveryStore,
  { config, time, clock: watched, log, redactor }: AppContext,
  fewest: () => number = () => 1,
): Promise<Delivery[]> {
  await outbox.keepOnlyDestinations(connection.destinations.map(({ name }) => name))
  const pacer = new Pacer(time, config.delivery.pacePerSecond)
  const clock = new ServiceClock(watched)
  watched?.onBelieved(byMs => clock.machineWasSet(byMs))
  const { inFlight } = config.delivery
  const { client } = connection
  const shared = { outbox, client, pacer, clock, inFlight, fewest, log, redactor, time }
  return connection.destinations.map(destination => new Delivery({ ...shared, destination }))
}

/** Input for observing the state, without the service's widgets. */
export function observed(
  { config, time, clock }: AppContext,
  outbox: Observed['outbox'],
  connection: Pick<Connection, 'host' | 'destinations'>,
  startedAtMs: number,
  endpoints: Observed['endpoints'] = [],
  reloads: Reloads = new Reloads(config.file, startedAtMs),
): Observed {
  const destinations = connection.destinations.map(({ name }) => name)
  const { host } = connection
  return {
    config,
    outbox,
    host,
    destinations,
    version,
    startedAtMs,
    processStartedAtMs: reloads.startedAtMs,
    configuration: reloads.state,
    nowMs: time.nowMs(),
    widgets: new Map(),
    endpoints,
    ...(clock && { clock: clock.verdict }),
  }
}

/** Why a daemon cannot continue: its outbox must be reopened, or another process has its role. */
export type Breakdown = Breakage | { readonly kind: 'role-lost' }

/** A running daemon. */
export interface Daemon {
  /** Address of the status server. */
  readonly statusUrl: string
  /** Address of the service, for messages. */
  readonly serviceHost: string
  /** Resolves when the daemon cannot continue; the caller starts another one. */
  readonly broken: Promise<Breakdown>
  /** Stops its parts in reverse order of their start; resolves when all have stopped. */
  stop(): Promise<void>
}

/**
 * Starts the daemon: its role, the outbox, the service's client, the two loops and the outbox's upkeep, then the status
 * server. While a command delivers from the outbox, the delivery loop and the upkeep wait for it to release the role.
 *
 * @param reloads state of the process's configuration, for the status
 * @param damage found in the outbox by the previous daemon; default: the file is checked
 * @throws Fault `outbox-held` when there is another daemon; after any error all started parts are stopped
 */
export async function startDaemon(given: AppContext, reloads: Reloads, damage?: string): Promise<Daemon> {
  const clock = given.clock ?? new WatchedClock(given.time)
  const context: AppContext = { ...given, time: clock, clock }
  const { config, time, log } = context
  given.place?.require(config.data)
  const written = writtenAt(config)
  await using stack = new AsyncDisposableStack()
  const startedAtMs = time.nowMs()
  const seeker = () => ({ dataFolder: config.data, config: config.file, nowMs: time.nowMs() })
  const daemonRole = takeDaemonRole(seeker())
  stack.defer(() => daemonRole.release())
  const role = takeDeliveryRoleAsDaemon(seeker())
  stack.defer(() => role?.release())
  const opened = await openForDaemon(outboxDeps(context), { hasRole: role !== undefined, damage })
  const outbox = closedWith(stack, opened, log)
  given.place?.opened(config.data)
  if (outbox.health.isChecked) log.info('the outbox is large: checking it for damage before it is written to')
  clock.meet(witnessesOf(config, await outbox.intake.newestCollected(), written))
  const connection = await connect(context, stack)
  const chains = openChains({ ...context, time: new CautiousTime(clock, clock) }, stack, { store: outbox.intake })
  const runner = runnerOn(chains, context, stack)

  const watch = new ClockWatch({ clock, chains, log, time })
  stack.defer(() => watch.stop())
  const deliveries = () => deliveriesTo(connection, outbox.delivery, context)
  const delivering = startDelivering({ context, outbox, daemonRole, deliveries, seeker }, role)
  stack.defer(() => delivering.stop())
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const { catchUpMs } = config.collect
  const reading = { runner, chains: Object.values(chains), clock }
  const intake = new Intake({ outbox, collectors, catchUpMs, time, log, ...reading })
  stack.defer(() => intake.stop())
  const widgets = new Widgets(config, connection.client, connection.keyOf, time)
  const now = () => observed(context, outbox, connection, startedAtMs, endpointStates(chains), reloads)
  const snapshot = async () => {
    const reads = await widgets.read()
    return seen(outbox, () => observe({ ...now(), widgets: reads }))
  }
  const status = await startStatus({
    ...config.status,
    snapshot,
    // Frequent probes and scrapes must not send requests to the service.
    ready: () => seen(outbox, () => readiness(now())),
    exposition: startExposition(() => seen(outbox, () => scrape(now()))),
    time,
  })
  stack.defer(() => status.stop())

  // A stop waits for another process's lock, but only for a while.
  stack.defer(() => outbox.limitWaits())

  const started = stack.move()
  const broken = Promise.race([outbox.health.broken, delivering.roleLost])
  return { statusUrl: status.url, serviceHost: connection.host, broken, stop: () => started.disposeAsync() }
}

/** Runs a read of the outbox, and reports damage that it meets. */
async function seen<T>({ health }: Pick<Outbox, 'health'>, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    health.recover(error)
    throw error
  }
}
