import { CautiousTime } from '../intake/cautious-time.ts'
import { Intake } from '../intake/intake.ts'
import { WatchedClock } from '../intake/watched-clock.ts'
import type { Breakage } from '../outbox/contract/health.ts'
import { takeDaemonRole, takeDeliveryRoleAsDaemon } from '../outbox/roles.ts'
import type { Reloads } from '../status/reloads.ts'
import { startStatus } from '../status/server/server.ts'
import { Widgets } from '../status/widgets.ts'
import { Counters } from '../telemetry/counters.ts'
import { ClockWatch, witnessesOf, writtenAt } from './clock-watch.ts'
import { connect } from './connection.ts'
import type { AppContext } from './context.ts'
import { deliveriesTo } from './deliveries.ts'
import { startDelivering } from './delivering.ts'
import { observationOf } from './observation.ts'
import { endpointStates, openChains } from './open-chains.ts'
import { openCrossCheck } from './open-cross-check.ts'
import { openDaemonOutbox } from './open-outbox.ts'
import { runnerOn } from './open-runner.ts'
import { startReports } from './reporting.ts'
import { statusSources } from './status-sources.ts'

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
  const openPort = given.earlyPort?.take()
  stack.defer(() => openPort?.stop())
  const startedAtMs = time.nowMs()
  const seeker = () => ({ dataFolder: config.data, config: config.file, nowMs: time.nowMs() })
  const daemonRole = takeDaemonRole(seeker())
  stack.defer(() => daemonRole.release())
  const role = takeDeliveryRoleAsDaemon(seeker())
  stack.defer(() => role?.release())
  const outbox = await openDaemonOutbox(context, stack, { hasRole: role !== undefined, damage })
  given.place?.opened(config.data)
  if (outbox.health.isBeingChecked) log.info('the outbox is large: checking it for damage before it is written to')
  clock.meet(witnessesOf(config, await outbox.intake.newestCollected(), written))
  const connection = await connect(context, stack)
  const chains = openChains({ ...context, time: new CautiousTime(clock, clock) }, stack, { store: outbox.intake })
  const runner = runnerOn(chains, context, stack)

  const watch = new ClockWatch({ clock, chains, log, time })
  stack.defer(() => watch.stop())
  const counters = new Counters()
  const deliveries = () => deliveriesTo(connection, outbox.delivery, { ...context, counters })
  const delivering = startDelivering({ context, outbox, daemonRole, deliveries, seeker }, role)
  stack.defer(() => delivering.stop())
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const crossCheck = openCrossCheck({ ...context, time: new CautiousTime(clock, clock) }, chains, stack)
  const reading = { runner, chains: Object.values(chains), clock, counters, ...(crossCheck && { crossCheck }) }
  const intake = new Intake({ outbox, collectors, catchUpMs: config.collect.catchUpMs, time, log, ...reading })
  stack.defer(() => intake.stop())
  const widgets = new Widgets(config, connection.client, connection.keyOf, time)
  const now = () => observationOf(context, outbox, connection, startedAtMs, endpointStates(chains), reloads)
  await startReports({ context, outbox, now }, stack)
  const sources = statusSources({ outbox, now, widgets, counters })
  const status = await startStatus({ ...config.status, ...sources, openPort, time })
  stack.defer(() => status.stop())

  // A stop waits for another process's lock, but only for a while.
  stack.defer(() => outbox.limitWaits())

  const started = stack.move()
  const broken = Promise.race([outbox.health.broken, delivering.roleLost])
  return { statusUrl: status.url, serviceHost: connection.host, broken, stop: () => started.disposeAsync() }
}
