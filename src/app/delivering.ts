import { Delivery, type DeliveryDeps, DeliveryLoop } from '../delivery/delivery.ts'
import type { Destination } from '../delivery/destination.ts'
import { Pacer, type RequestSlots, ServiceClock } from '../delivery/gate.ts'
import type { Time } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Outbox, UpkeepNews } from '../outbox/contract/outbox.ts'
import type { DaemonRoles, Role } from '../outbox/contract/role.ts'
import { bothRoles } from '../outbox/roles.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'
import { logUpkeep } from './open-outbox.ts'

/** Interval at which a daemon checks whether the command that delivers in its place has ended. */
const roleLookMs = 500

interface RoleWorkDeps {
  /** Takes the delivery role; `undefined` while a command has it. */
  readonly take: () => Promise<Role | undefined>
  /** Starts the work that needs the role. Resolves to a function that stops it, and resolves when it has stopped. */
  readonly begin: (role: Role) => Promise<() => Promise<void>>
  /** Called when an attempt failed; it is repeated. */
  readonly reportFailure: (error: unknown) => void
  readonly time: Time
}

/**
 * The work of the process with the delivery role, from the moment it gets the role. A delivering command releases the
 * role when it sees the daemon. A command that is suspended, or writes for long, does not; the daemon only collects
 * meanwhile.
 */
export class Delivering {
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  /** @param role absent while a command has it */
  constructor(deps: RoleWorkDeps, role: Role | undefined) {
    this.#running = this.#run(deps, role)
  }

  /** Stops the work; resolves when the role is free. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
  }

  async #run(deps: RoleWorkDeps, first: Role | undefined): Promise<void> {
    const { signal } = this.#stopping
    const role = first ?? (await this.#until(deps, deps.take))
    if (!role) return
    try {
      // Another process may hold the file's write lock just now.
      const end = await this.#until(deps, () => deps.begin(role))
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      await end?.()
    } finally {
      role.release()
    }
  }

  /** Tries twice a second until something comes of it; `undefined` when it is stopped before. */
  async #until<T>(
    { reportFailure, time }: RoleWorkDeps,
    attempt: () => Promise<T | undefined> | T | undefined,
  ): Promise<T | undefined> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        const done = await attempt()
        if (done) return done
      } catch (error) {
        reportFailure(error)
      }
      await time.sleep(roleLookMs, signal).catch(() => {})
    }
    return undefined
  }
}

/** The roles of a daemon that has its outbox alone. */
interface TakenRoles {
  readonly roles: DaemonRoles
  readonly daemon: Role
  /** Absent while a command delivers. */
  readonly delivery: Role | undefined
}

/** Takes the roles of a daemon that has its outbox alone; released with the stack. @throws Fault `outbox-held` */
export async function takeRoles(roles: DaemonRoles, nowMs: number, stack: AsyncDisposableStack): Promise<TakenRoles> {
  const daemon = await roles.takeDaemon(nowMs)
  stack.defer(() => daemon.release())
  const delivery = await roles.takeDeliveryAsDaemon(nowMs)
  stack.defer(() => delivery?.release())
  return { roles, daemon, delivery }
}

/** The delivery loop and the outbox's upkeep, as far as they are running. */
interface StartedDelivering {
  /** Resolves when another process has taken one of the roles. */
  readonly roleLost: Promise<{ readonly kind: 'role-lost' }>
  /** Stops the service; resolves when it has stopped. */
  stop(): Promise<void>
}

/**
 * Starts the delivery loop and the outbox's upkeep, once the delivery role is taken.
 *
 * @param deliveries creates them; called when the role is taken
 */
export function startDelivering(
  context: AppContext,
  outbox: Pick<Outbox, 'delivery' | 'health' | 'startUpkeep'>,
  takenRoles: TakenRoles,
  deliveries: () => Promise<readonly Delivery[]>,
): StartedDelivering {
  const { roles, daemon, delivery: role } = takenRoles
  const { config, time, log, clock } = context
  const mayPrune = () => clock?.mayPrune ?? true
  const { promise: roleLost, resolve: loseRole } = Promise.withResolvers<{ readonly kind: 'role-lost' }>()
  const report = (news: UpkeepNews) => {
    logUpkeep(log, news)
    if (news.kind === 'role-lost') loseRole({ kind: 'role-lost' })
  }
  const begin = async (ownRole: Role) => {
    // The command may have sent metrics collected meanwhile.
    if (!role) outbox.delivery.maybeSent('all')
    // Steps that may fail, and are then repeated, come before those that keep running.
    const ready = await deliveries()
    const both = bothRoles(daemon, ownRole)
    const upkeep = outbox.startUpkeep({ role: both, keepMs: config.outbox.keepMs, time, mayPrune, report })
    const loop = new DeliveryLoop(ready, time, log, outbox.health)
    if (!role) log.info('the command has released the delivery role: delivering')
    return async () => {
      await upkeep.stop()
      await loop.stop()
    }
  }
  if (!role) void reportDeliverer(roles, log)
  let lastFault = ''
  const onFailure = (error: unknown) => {
    // A broken outbox makes the daemon start again.
    outbox.health.recover(error)
    const fault = faultLine(outbox.health.explain(error))
    if (fault !== lastFault) log.error({ fault }, 'delivery cannot begin yet: retrying')
    lastFault = fault
  }
  const daemonDelivery = new Delivering(
    { take: () => roles.takeDeliveryAsDaemon(time.nowMs()), begin, reportFailure: onFailure, time },
    role,
  )
  return { roleLost, stop: () => daemonDelivery.stop() }
}

/** Never rejects: what is not known of the command is left out. */
async function reportDeliverer(roles: DaemonRoles, log: AppContext['log']): Promise<void> {
  const holder = await roles.deliverer().catch(() => undefined)
  log.info({ ...holder }, 'a command delivers from this outbox: waiting for it to release the role')
}

/** Dependencies of `deliveryMaker`. */
type DeliveryContext = AppContext & { readonly counters?: Counters }

/** Makes the delivery to a destination, at a pace. @param own parts of that destination alone */
export type MakeDelivery = (
  destination: Destination,
  pacer: RequestSlots,
  own?: Pick<DeliveryDeps, 'client' | 'onPushed'>,
) => Delivery

/** Makes deliveries that share the service's clock. @param batchMetricsMin as in `deliveriesTo` */
export function deliveryMaker(
  { client }: Pick<Connection, 'client'>,
  outbox: DeliveryStore,
  { config, time, clock: machineClock, log, redactor, counters }: DeliveryContext,
  batchMetricsMin: () => number = () => 1,
): MakeDelivery {
  const clock = new ServiceClock(machineClock)
  machineClock?.onBelieved(byMs => clock.machineWasSet(byMs))
  const { inFlight } = config.delivery
  const shared = { outbox, client, clock, inFlight, batchMetricsMin, log, redactor, time, counters }
  return (destination, pacer, own) => new Delivery({ ...shared, destination, pacer, ...own })
}

/**
 * Creates one delivery for each destination; they share the pace. Other destinations wait for nothing any more.
 *
 * @param batchMetricsMin metrics worth a push while more are being collected; default 1
 */
export async function deliveriesTo(
  connection: Connection,
  outbox: DeliveryStore,
  context: DeliveryContext,
  batchMetricsMin?: () => number,
): Promise<Delivery[]> {
  await outbox.silenceOtherDestinations(connection.destinations.map(({ name }) => name))
  const pacer = new Pacer(context.time, context.config.delivery.pacePerSecond)
  const make = deliveryMaker(connection, outbox, context, batchMetricsMin)
  return connection.destinations.map(destination => make(destination, pacer))
}
