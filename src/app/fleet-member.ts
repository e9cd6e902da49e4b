import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ChainReader } from '../chain/reads.ts'
import type { Config } from '../config/config.ts'
import { Loop } from '../edge/loop.ts'
import { version } from '../edge/version.ts'
import { Announcer } from '../fleet/announcer.ts'
import { CollectorLanes } from '../fleet/collector-lanes.ts'
import { FleetIntakeStore } from '../fleet/fleet-intake-store.ts'
import { JobEngine } from '../fleet/job-engine.ts'
import { workedLanes } from '../fleet/lane.ts'
import { LaneClaims } from '../fleet/lane-claims.ts'
import { LocalHours } from '../fleet/local-hours.ts'
import { PushBack } from '../fleet/push-back.ts'
import { Reconciler } from '../fleet/reconciler.ts'
import type { RoleClaim, WantedRoles } from '../fleet/role-claim.ts'
import { RoleClaims } from '../fleet/role-claims.ts'
import type { SharedTime } from '../fleet/shared-time.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Announced, type DaemonEntry, deliveredBy } from '../outbox/contract/fleet-store.ts'
import type { IntakeOutbox, Outbox } from '../outbox/contract/outbox.ts'
import type { Role } from '../outbox/contract/role.ts'
import type { SharedOutbox } from '../outbox/contract/shared-outbox.ts'
import { LocalOutcomes } from '../outbox/local-outcomes.ts'
import type { Observed } from '../status/observed.ts'
import type { EndpointState } from '../status/snapshot.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'
import type { MakeDelivery } from './deliveries.ts'
import { fleetBackfilling } from './fleet-backfilling.ts'
import { fleetDelivering } from './fleet-delivering.ts'
import { FleetIdentity } from './fleet-identity.ts'
import { fleetReporting, reportsRole } from './fleet-reporting.ts'
import { logUpkeep } from './outbox-news.ts'
import { rolesOf } from './outbox-place.ts'

/** Interval at which the database is asked for its clock. */
const askClockMs = 60_000

/** Dependencies of `joinFleet`. */
export interface FleetMemberDeps {
  readonly context: AppContext
  /** Folder of values that wait while the database is away. */
  readonly keptIn: string
  readonly outbox: Outbox
  readonly shared: SharedOutbox
  readonly sharedTime: SharedTime
  readonly connection: Pick<Connection, 'client' | 'destinations'>
  readonly chains: readonly ChainReader[]
  /** The state of the endpoints of all chains. */
  readonly endpoints: () => readonly EndpointState[]
  readonly make: () => MakeDelivery
  /** The present state of this daemon alone. */
  readonly seen: () => Observed
}

/** A daemon as one of a fleet. */
export interface FleetMember {
  /** The outbox for its own intake. */
  readonly own: IntakeOutbox
  /** The present state, with what is wrong with the fleet. */
  readonly now: () => Observed
}

/** Starts the parts of a daemon that shares its outbox with others; they are stopped with the stack. */
export async function joinFleet(deps: FleetMemberDeps, stack: AsyncDisposableStack): Promise<FleetMember> {
  const { context, keptIn, outbox, shared, sharedTime, connection, chains, endpoints } = deps
  const { config, time, log } = context
  const { store } = shared
  const { failed, announced } = troubleLog(context, outbox)
  const name = config.fleet.name ?? hostname()
  const parts = stack.use(new AsyncDisposableStack())
  const keep = <T extends { stop(): Promise<void> }>(part: T): T => {
    parts.defer(() => part.stop())
    return part
  }
  const engine = keep(new JobEngine({ statements: shared.jobs, time, failed }))
  const claims = keep(new RoleClaims({ engine, name, time, failed }))
  const now = () => ({ ...deps.seen(), fleetTroubles: claims.troubles })
  const reporting = config.heartbeat || config.notify.length > 0 ? [keep(reporterOf({ ...deps, now }, claims))] : []
  const collectors = config.protocols.flatMap(protocol => protocol.collectors)
  const lanes = new CollectorLanes(collectors, name, store)
  const worked = () =>
    workedLanes({ name, configured: config.fleet.lanes, chains: answering(config.chains, endpoints()) })
  const withDue = async () => (await lanes.work(worked(), time)).due
  const withWindows = async () => (await lanes.work(worked(), time)).windows
  const hours = keep(
    new LaneClaims({ engine, lanes: worked, withDue, hasOthers: () => claims.hasOthers, time, failed }),
  )
  keep(new Reconciler({ store, backfills: shared.backfills, engine, lanes, time, failed }))
  keep(fleetBackfilling({ context, outbox, shared, engine, lanes: withWindows, failed }))
  const claimed: RoleClaim[] = [...reporting]
  const { destinations } = connection
  const identity = new FleetIdentity({ config, destinations, salt: await store.salt(), log })
  const entry = entryOf({ name, config, identity, sharedTime, worked, claimed })
  const found = (news: Announced) => {
    announced()
    identity.announced(news)
  }
  keep(new Announcer({ store, entry, time, announced: found, failed }))
  keep(clockOf(sharedTime, deps, failed))
  const canCheck = (id: number) => config.chains.some(chain => chain.id === id && worked().includes(chain.name))
  const finality = new Map(chains.map(({ id }) => [id, keep(claims.claim(finalityOf(id, () => canCheck(id))))]))
  const roles = await rolesOf(config)
  await silenceForgotten(deps, name)
  const { operators } = outbox
  const pushBack = keep(new PushBack({ operators, pushMsMax: config.delivery.timeoutMs, time, log, failed }))
  const delivering = { ...deps, client: connection.client, pushBack, roles, make: deps.make(), store, claims, identity }
  for (const destination of destinations) claimed.push(keep(fleetDelivering(destination, delivering)))
  const mayPrune = () => context.clock?.mayPrune ?? true
  const upkeep = { role: always, keepMs: config.outbox.keepMs, time, mayPrune }
  keep(outbox.startUpkeep({ ...upkeep, report: news => logUpkeep(log, news) }))
  const checksFinality = (chainId: number) => finality.get(chainId)?.isHeld ?? false
  const local = new LocalHours({
    ...{ intake: shared.intake, store, health: outbox.health, log },
    outcomes: new LocalOutcomes(keptIn),
    works: collector => worked().includes(lanes.of(collector) ?? ''),
  })
  const offers = { intake: shared.intake, store, engine, claims: hours, lanes, local }
  const intake = new FleetIntakeStore({ ...offers, checksFinality, failed })
  log.info({ name, lanes: worked() }, 'this daemon is one of a fleet')
  return { own: { intake, health: outbox.health }, now }
}

/** Parts of an announcement. */
interface EntryParts extends Pick<FleetMemberDeps, 'sharedTime'> {
  readonly name: string
  readonly config: Pick<Config, 'file'>
  readonly identity: Pick<FleetIdentity, 'digest'>
  readonly worked: () => readonly string[]
  /** Roles that it has, or wants. */
  readonly claimed: readonly RoleClaim[]
}

/** This daemon as it announces itself, at each call. */
function entryOf({ name, config, identity, sharedTime, worked, claimed }: EntryParts): () => DaemonEntry {
  const { pid } = process
  const same = { name, version, instance: randomUUID(), pid, host: hostname(), configFile: config.file }
  const roles = () => claimed.flatMap(({ held }) => held)
  return () => ({
    ...same,
    digest: identity.digest,
    clockOffMs: sharedTime.machineOffMs,
    lanes: worked(),
    roles: roles(),
  })
}

/** The claim to be the daemon that reports to people. */
function reporterOf(
  { context, outbox, now }: FleetMemberDeps & Pick<FleetMember, 'now'>,
  claims: RoleClaims,
): RoleClaim {
  const work = fleetReporting({ context, outbox, now, role: () => role })
  const role: RoleClaim = claims.claim({ roles: [reportsRole], work })
  return role
}

/** The role of checking the blocks of a chain again. */
function finalityOf(chainId: number, isAble: () => boolean): WantedRoles {
  return { roles: [`finality/${chainId}`], isAble }
}

/** Deletes why destinations wait that no daemon delivers to. One has the name of a protocol, which another may know alone. */
async function silenceForgotten(
  { outbox, shared, connection }: Pick<FleetMemberDeps, 'outbox' | 'shared' | 'connection'>,
  name: string,
): Promise<void> {
  const others = (await shared.store.daemons()).filter(daemon => daemon.name !== name)
  const own = connection.destinations.map(destination => destination.name)
  await outbox.delivery.silenceOtherDestinations([...own, ...others.flatMap(deliveredBy)])
}

/** Upkeep is done by every daemon: no role is needed for it. */
const always: Role = { release() {}, isInPlace: true, renew: () => 'held' }

/** Logs each error once until another one comes, and that the database answers again. */
function troubleLog({ log }: AppContext, { health }: Pick<Outbox, 'health'>) {
  let last = ''
  let isAway = false
  return {
    failed(error: unknown): void {
      health.recover(error)
      const explained = health.explain(error)
      if (explained instanceof Fault && explained.code === 'database-unreachable') isAway = true
      const fault = faultLine(explained)
      if (fault !== last) log.warn({ fault }, 'fleet: retrying')
      last = fault
    },
    /** The daemon has written that it is there. */
    announced(): void {
      if (!isAway) return
      isAway = false
      last = ''
      log.info('fleet: the database answers again')
    },
  }
}

/** Names of the chains of which an endpoint can serve this daemon now, as far as is known. */
function answering(chains: readonly { readonly name: string }[], endpoints: readonly EndpointState[]): string[] {
  const canServe = new Set(endpoints.filter(({ state }) => state === 'well').map(({ chain }) => chain))
  return chains.map(({ name }) => name).filter(name => canServe.has(name))
}

function clockOf(
  sharedTime: SharedTime,
  { shared, context }: Pick<FleetMemberDeps, 'shared' | 'context'>,
  failed: (error: unknown) => void,
): Loop {
  const loop = new Loop(async signal => {
    await context.time.sleep(askClockMs, signal).catch(() => {})
    if (!signal.aborted) await sharedTime.ask(() => shared.store.nowMs()).catch(failed)
  })
  loop.start()
  return loop
}
