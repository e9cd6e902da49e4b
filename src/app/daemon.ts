import { CautiousTime, WatchedClock } from '../intake/hour-clock.ts'
import { Intake } from '../intake/intake.ts'
import type { Breakage } from '../outbox/contract/health.ts'
import { FolderRoles } from '../outbox/roles.ts'
import type { Reloads } from '../status/reloads.ts'
import { startStatus } from '../status/server/server.ts'
import { Widgets } from '../status/widgets.ts'
import { ClockWatch, witnessesOf, writtenAt } from './clock-watch.ts'
import { connect } from './connection.ts'
import type { AppContext } from './context.ts'
import { deliveriesTo, deliveryMaker } from './deliveries.ts'
import { startDelivering, takeRoles } from './delivering.ts'
import { joinWhereShared, sharedTimeOf } from './join-fleet.ts'
import { KeptCounts } from './kept-counts.ts'
import { observationOf } from './observation.ts'
import { endpointStates, openChains } from './open-chains.ts'
import { openHourReader } from './open-hour-reader.ts'
import { openOtlp } from './open-otlp.ts'
import { openDaemonOutbox } from './open-outbox.ts'
import { placeOf } from './outbox-place.ts'
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
  /** Tries what is due at once: a secret has changed or appeared, which may be why it failed. */
  retry(): void
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
  const at = placeOf(given.config)
  await using stack = new AsyncDisposableStack()
  // Taken before the first step that may fail: after it the port is free, for the server that says why.
  const openPort = given.earlyPort?.take()
  stack.defer(() => openPort?.stop())
  const sharedTime = at.kind === 'postgres' ? await sharedTimeOf(at.address, given.time) : undefined
  const clock = sharedTime ? new WatchedClock(sharedTime) : (given.clock ?? new WatchedClock(given.time))
  const kept = given.kept ?? new KeptCounts()
  const context: AppContext = { ...given, time: clock, clock, kept }
  const { config, time, log } = context
  if (at.kind === 'folder') given.place?.require(at.folder)
  const written = writtenAt(config)
  const startedAtMs = time.nowMs()
  const taken =
    at.kind === 'folder'
      ? await takeRoles(new FolderRoles(at.folder, config.file), reloads.startedAtMs, stack)
      : undefined
  const outbox = await openDaemonOutbox(context, stack, { hasRole: taken?.delivery !== undefined, damage })
  if (at.kind === 'folder') given.place?.opened(at.folder)
  if (outbox.health.isBeingChecked) log.info('the outbox is large: checking it for damage before it is written to')
  clock.meet(witnessesOf(config, await outbox.intake.newestCollected(), written))
  const connection = await connect(context, stack)
  const chains = openChains({ ...context, time: new CautiousTime(clock, clock) }, stack, { store: outbox.intake })
  const reader = openHourReader(context, chains, stack, { clock })

  const watch = new ClockWatch({ clock, chains, log, time })
  stack.defer(() => watch.stop())
  const { counters } = kept
  const withCounts = { ...context, counters }
  const deliveries = () => deliveriesTo(connection, outbox.delivery, withCounts)
  const delivering = taken && startDelivering({ context, outbox, taken, deliveries })
  stack.defer(() => delivering?.stop())
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const reading = { reader, chains: Object.values(chains), clock, counters }
  const make = () => deliveryMaker(connection, outbox.delivery, withCounts)
  const seen = () => observationOf(context, outbox, connection, startedAtMs, endpointStates(chains), reloads)
  const fleet = { context: withCounts, at, outbox, sharedTime, connection, chains: Object.values(chains), make, seen }
  const { own, now } = await joinWhereShared({ ...fleet, endpoints: () => endpointStates(chains) }, stack)
  const intake = new Intake({ outbox: own, collectors, catchUpMs: config.collect.catchUpMs, time, log, ...reading })
  stack.defer(() => intake.stop())
  const widgets = new Widgets(config, connection.client, connection.keyOf, time)
  if (!sharedTime) await startReports({ context, outbox, now, mayReport: () => true }, stack)
  const sources = statusSources({ outbox, now, widgets, kept, time })
  await openOtlp({ ...sources, startedAtMs: reloads.startedAtMs }, context, stack)
  const status = await startStatus({ ...config.status, ...sources, openPort, time })
  stack.defer(() => status.stop())

  // A stop waits for another process's lock, but only for a while.
  stack.defer(() => outbox.limitWaits())

  const started = stack.move()
  const broken = Promise.race([outbox.health.broken, ...(delivering ? [delivering.roleLost] : [])])
  const retry = () => {
    for (const chain of Object.values(chains)) chain.renew()
    intake.retry()
  }
  return { statusUrl: status.url, serviceHost: connection.host, broken, retry, stop: () => started.disposeAsync() }
}
