import { protocolCollectors } from '../config/config.ts'
import type { Time } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { WatchedClock } from '../intake/hour-clock.ts'
import { Intake } from '../intake/intake.ts'
import { Fault } from '../model/fault.ts'
import type { Breakage, Outbox, OutboxPlace } from '../outbox/contract/outbox.ts'
import { FolderRoles } from '../outbox/roles.ts'
import { exposition, metricFamilies } from '../status/exposition/exposition.ts'
import { metricHistory } from '../status/history.ts'
import { observe, presentFingerprint, scrape } from '../status/observe.ts'
import { readiness, unreadReadiness } from '../status/readiness.ts'
import { startStatus } from '../status/server/server.ts'
import type { Readiness } from '../status/snapshot.ts'
import { type Observed, type Reloads, Widgets } from '../status/sources.ts'
import { ClockWatch, witnessesOf, writtenAt } from './clock-watch.ts'
import { connect } from './connection.ts'
import { type AppContext, KeptCounts, useEgress } from './context.ts'
import { deliveriesTo, deliveryMaker, startDelivering, takeRoles } from './delivering.ts'
import { EndpointMemory, endpointStates, openChains } from './open-chains.ts'
import { openDaemonOutbox, placeOf } from './open-outbox.ts'
import { openPipeline } from './open-runner.ts'
import { presentState } from './present-state.ts'
import { startReports } from './reporting.ts'

/** Why a daemon cannot continue: its outbox must be reopened, or another process has its role. */
export type Breakdown = Breakage | { readonly kind: 'role-lost' }

type DaemonContext = AppContext & { readonly keptCounts: KeptCounts }

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
export async function startDaemon(baseContext: AppContext, reloads: Reloads, damage?: string): Promise<Daemon> {
  useEgress(baseContext)
  const outboxPlace = placeOf(baseContext.config)
  await using stack = new AsyncDisposableStack()
  // Taken before the first step that may fail: after it the port is free, for the server that says why.
  const openPort = baseContext.earlyPort?.take()
  stack.defer(() => openPort?.stop())
  const fleet = await fleetOf(outboxPlace, baseContext.time)
  const clock = fleet ? new WatchedClock(fleet.time) : (baseContext.clock ?? new WatchedClock(baseContext.time))
  const keptCounts = baseContext.keptCounts ?? new KeptCounts()
  const context: DaemonContext = { ...baseContext, time: clock, clock, keptCounts }
  const { config, time, log } = context
  if (outboxPlace.kind === 'folder') baseContext.place?.require(outboxPlace.folder)
  const writtenMs = writtenAt(config)
  const startedAtMs = time.nowMs()
  const roles =
    outboxPlace.kind === 'folder'
      ? await takeRoles(new FolderRoles(outboxPlace.folder, config.file), reloads.startedAtMs, stack)
      : undefined
  const outbox = await openDaemonOutbox(context, stack, { hasRole: roles?.delivery !== undefined, damage })
  if (outboxPlace.kind === 'folder') baseContext.place?.opened(outboxPlace.folder)
  if (outbox.health.isBeingChecked) log.info('the outbox is large: checking it for damage before it is written to')
  clock.setWitnesses(witnessesOf(config, await outbox.intake.newestCollected(), writtenMs))
  const connection = await connect(context, stack)
  const endpointMemory = new EndpointMemory(context)
  const chains = openChains(context, stack, { store: outbox.intake, endpointMemory })
  const pipeline = openPipeline(context, chains, stack, outbox.lists)

  const watch = new ClockWatch(clock, chains, log)
  stack.defer(() => watch.stop())
  const withCounts = { ...context, counters: keptCounts.counters }
  const deliveries = () => deliveriesTo(connection, outbox.delivery, withCounts)
  const daemonDelivery = roles && startDelivering(context, outbox, roles, deliveries)
  stack.defer(() => daemonDelivery?.stop())
  const collectors = protocolCollectors(config)
  const reading = { pipeline, chains: Object.values(chains), clock, counters: keptCounts.counters }
  const make = () => deliveryMaker(connection, outbox.delivery, withCounts)
  const readPresent = () => presentState(context, outbox, connection, startedAtMs, endpointStates(chains), reloads)
  const member = { context: withCounts, outbox, connection, chains, endpointMemory, make, readPresent }
  const { own, now } = fleet ? await fleet.join(member, stack) : { own: outbox, now: readPresent }
  const intake = new Intake({ outbox: own, collectors, catchUpMs: config.collect.catchUpMs, time, log, ...reading })
  stack.defer(() => intake.stop())
  const widgets = new Widgets(config, connection.client, connection.keyOf, time)
  if (!fleet) await startReports({ context, outbox, now, mayReport: () => true }, stack)
  const sources = statusSources(outbox, now, widgets, context)
  const status = await startStatus({ ...config.status, ...sources, openPort, time })
  stack.defer(() => status.stop())

  // A stop waits for another process's lock, but only for a while.
  stack.defer(() => outbox.limitWaits())

  const resources = stack.move()
  const breakage = Promise.race([outbox.health.broken, ...(daemonDelivery ? [daemonDelivery.roleLost] : [])])
  const retry = () => {
    for (const chain of Object.values(chains)) chain.renew()
    intake.retry()
  }
  const stop = () => resources.disposeAsync()
  return { statusUrl: status.url, serviceHost: connection.host, broken: breakage, retry, stop }
}

/** The fleet of a shared database; its code is loaded for that alone. `undefined` where the outbox is a file. */
async function fleetOf(place: OutboxPlace, time: Time) {
  return place.kind === 'postgres' ? (await import('./fleet-member.ts')).fleetAt(place.address, time) : undefined
}

/** Time for readiness from a shared database; the status server waits for longer, and knows no reason. */
const readyMsMax = 2_500

/** Sources of the status server. Only the page and `/status.json` read the service's widgets: probes are frequent. */
function statusSources(outbox: Outbox, now: () => Observed, widgets: Widgets, { keptCounts, time }: DaemonContext) {
  const { counters, ofProcess } = keptCounts
  const families = metricFamilies(() => seen(outbox, () => scrape({ ...now(), counters })), ofProcess)
  return {
    snapshot: async () => {
      const reads = await widgets.read()
      return seen(outbox, () => observe({ ...now(), widgets: reads }))
    },
    ready: () => readyOf(outbox, now, time),
    exposition: async () => exposition(await families()),
    state: () => seen(outbox, () => presentFingerprint(now())),
    history: (id: string) => seen(outbox, () => metricHistory({ ...now(), outbox }, id)),
  }
}

/** Readiness; where a database does not answer, that, what is wrong with the fleet, and what waits for it. */
async function readyOf(outbox: Outbox, now: () => Observed, time: Time): Promise<Readiness> {
  const ready = seen(outbox, () => readiness(now()))
  if (!outbox.sharedOutbox) return ready
  const timeout = time.timeout(readyMsMax)
  try {
    return await unlessAborted(ready, timeout)
  } catch (error) {
    const fault = timeout.aborted ? outbox.sharedOutbox.lateFault() : outbox.health.explain(error)
    if (!(fault instanceof Fault)) throw error
    return unreadReadiness(fault.message, now())
  }
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
