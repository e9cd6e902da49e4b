import { createHmac, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type CallCounts, CallMeter } from '../chain/endpoint/call-meter.ts'
import type { ChainReader } from '../chain/reads.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import type { Destination } from '../delivery/destination.ts'
import { DeliveryLoop } from '../delivery/loop.ts'
import { Loop } from '../edge/loop.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import { version } from '../edge/version.ts'
import { BackfillWorker, type WindowClaim, type WindowResult } from '../fleet/backfill-worker.ts'
import { FleetIntakeStore, LocalHours } from '../fleet/fleet-intake-store.ts'
import { FleetPacer, PushBack } from '../fleet/fleet-pacer.ts'
import { JobEngine } from '../fleet/job-engine.ts'
import { CollectorLanes, type Lane, workedLanes } from '../fleet/lane.ts'
import { LaneClaims, Reconciler } from '../fleet/lane-claims.ts'
import { Announcer, type RoleClaim, RoleClaims, type RoleWork, type WantedRoles } from '../fleet/roles.ts'
import type { SharedTime } from '../fleet/shared-time.ts'
import { Backfill } from '../intake/backfill/backfill.ts'
import { partRecord } from '../intake/backfill/joined-end.ts'
import { type BackfillRequest, type Work, workOf } from '../intake/backfill/work.ts'
import type { HourReader } from '../intake/hour-reader.ts'
import type { Batch } from '../model/batch.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { hourAt, hoursFrom } from '../model/hour.ts'
import type { Answer } from '../model/verdict.ts'
import type { BackfillWindow } from '../outbox/contract/backfill-store.ts'
import {
  type Announced,
  configurationParts,
  type DaemonEntry,
  deliveredBy,
  deliverRole,
  type FleetStore,
  partBytes,
} from '../outbox/contract/fleet-store.ts'
import type { BackfillOutbox, IntakeOutbox, Outbox } from '../outbox/contract/outbox.ts'
import type { Reporter, ReportStore } from '../outbox/contract/report-store.ts'
import type { Role, Roles } from '../outbox/contract/role.ts'
import type { SharedOutbox } from '../outbox/contract/shared-outbox.ts'
import { LocalOutcomes } from '../outbox/local-outcomes.ts'
import { partDigest } from '../status/fleet.ts'
import type { Observed } from '../status/observed.ts'
import type { EndpointState } from '../status/snapshot.ts'
import type { Log } from '../telemetry/log.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'
import type { MakeDelivery } from './delivering.ts'
import { openChains } from './open-chains.ts'
import { logUpkeep, rolesOf } from './open-outbox.ts'
import { openHourReader } from './open-runner.ts'
import { type ReportingDeps, startReports } from './reporting.ts'

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

/** Dependencies of `fleetDelivering`. */
interface FleetDeliveringDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'delivery' | 'health' | 'operators'>
  readonly client: ServiceClient
  /** Takes what was sent without the role. */
  readonly pushBack: Pick<PushBack, 'add'>
  readonly store: FleetStore
  readonly claims: Pick<RoleClaims, 'claim'>
  readonly roles: Pick<Roles, 'deliverer'>
  readonly make: MakeDelivery
  readonly identity: Pick<FleetIdentity, 'isOfFleet' | 'keyName'>
}

/** Answers of what stands between: a login page, a proxy, a gateway. A 503 with `Retry-After` is the service's own. */
function isOfTheWay({ status, notBeforeMs }: Extract<Answer, { kind: 'answered' }>): boolean {
  const isRedirect = status >= 300 && status < 400
  return isRedirect || [407, 502, 504, 511].includes(status) || (status === 503 && notBeforeMs === undefined)
}

/**
 * The service's client, whose pushes are broken off when another daemon may have the role. A request that does not reach the
 * service is a failure of this daemon, which another one may not have.
 */
export function clientWhileHeld(
  client: ServiceClient,
  role: () => Pick<RoleClaim, 'noteResult' | 'whileHeld'>,
): ServiceClient {
  const noted = async (answer: Promise<Answer>, ...stops: readonly (AbortSignal | undefined)[]) => {
    const known = await answer
    const isReached = known.kind === 'answered' && !isOfTheWay(known)
    if (known.kind === 'answered' || !stops.some(stop => stop?.aborted)) role().noteResult(isReached)
    return known
  }
  return {
    host: client.host,
    push: (body, key, stop) =>
      role().whileHeld(lost => noted(client.push(body, key, AbortSignal.any([stop, lost])), stop, lost)),
    register: (registration, key, stop) => noted(client.register(registration, key, stop), stop),
    validateKey: (key, stop) => noted(client.validateKey(key, stop), stop),
    widget: (...asked) => client.widget(...asked),
    close: () => client.close(),
  }
}

/**
 * Delivers to a destination the protocols that this daemon has the role of, which one of the fleet has at a time.
 *
 * @returns the claim of the roles, which stops it
 */
function fleetDelivering(destination: Destination, deps: FleetDeliveringDeps): RoleClaim {
  const { context, outbox, client, pushBack, store, claims, roles, make, identity } = deps
  const { config, time, log } = context
  const { name } = destination
  const own = {
    client: clientWhileHeld(client, () => role),
    onPushed: (batch: Batch) => (role.isHeld ? undefined : pushBack.add([...batch])),
  }
  const readKey = () => {
    try {
      return destination.readKey()
    } catch (error) {
      role.noteResult(false)
      throw error
    }
  }
  const begin = async (held: readonly string[]) => {
    if (await roles.deliverer()) {
      throw new Fault('outbox-held', 'a command delivers from this outbox', { fix: 'it ends when it sees the daemon' })
    }
    // The daemon before may have sent what is due.
    outbox.delivery.maybeSent('all')
    const pacer = new FleetPacer({
      store,
      role,
      destination: () => identity.keyName(destination),
      perSecond: config.delivery.pacePerSecond,
      time,
    })
    const protocols = destination.protocols.filter(({ id }) => held.includes(deliverRole(id)))
    const loop = new DeliveryLoop([make({ name, readKey, protocols }, pacer, own)], time, log, outbox.health)
    const facts = { destination: name, protocols: protocols.map(({ id }) => id) }
    log.info(facts, 'this daemon delivers now')
    return async () => {
      await loop.stop()
      log.info(facts, 'this daemon does not deliver any more')
    }
  }
  const givingBack = async () => {
    log.warn({ destination: name }, 'this daemon does not reach the service: another one is let try')
    // It does not wait as long as this one would have.
    await outbox.operators.hurry()
  }
  const role: RoleClaim = claims.claim({
    roles: destination.protocols.map(({ id }) => deliverRole(id)),
    work: { begin, givingBack },
    isAble: () => identity.isOfFleet,
  })
  return role
}

/** Dependencies of `fleetBackfilling`. */
interface FleetBackfillingDeps {
  readonly context: AppContext
  readonly outbox: IntakeOutbox
  readonly shared: SharedOutbox
  readonly engine: JobEngine
  /** The lanes that this daemon works now and that have windows. */
  readonly lanes: () => Promise<readonly Lane[]>
  readonly failed: (error: unknown) => void
}

/** Reads the windows of backfills in the lanes of this daemon, in processes of their own. */
function fleetBackfilling(deps: FleetBackfillingDeps): BackfillWorker {
  const { context, shared, engine, lanes, failed } = deps
  const collectors = context.config.protocols.flatMap(protocol => protocol.collectors)
  const configured = new Map(collectors.map(collector => [collector.id, collector]))
  const reader = new WindowReader(deps, configured)
  return new BackfillWorker({
    store: shared.store,
    backfills: shared.backfills,
    engine,
    lanes,
    knows: window => window.collectors.every(id => configured.has(id)),
    read: (lane, window, claimed) => reader.read(lane, window, claimed),
    rest: lane => reader.close(lane),
    time: context.time,
    failed,
  })
}

/** Chains and processes of collectors, open while there are windows of a lane. */
interface OpenLane {
  readonly reader: HourReader
  readonly meter: CallMeter
  readonly stack: AsyncDisposableStack
}

class WindowReader {
  readonly #deps: FleetBackfillingDeps
  readonly #configured: ReadonlyMap<string, CollectorConfig>
  readonly #open = new Map<Lane, OpenLane>()

  constructor(deps: FleetBackfillingDeps, configured: ReadonlyMap<string, CollectorConfig>) {
    this.#deps = deps
    this.#configured = configured
  }

  /** @throws Fault `collector-unusable` */
  async read(lane: Lane, window: BackfillWindow, { signal, held }: WindowClaim): Promise<WindowResult> {
    const { context, shared } = this.#deps
    const { intake } = shared
    const outbox: BackfillOutbox = {
      health: this.#deps.outbox.health,
      intake: {
        hourStates: (...wanted) => intake.hourStates(...wanted),
        pasts: metrics => intake.pasts(metrics),
        backlog: () => intake.backlog(),
        record: (outcome, nowMs) => intake.record(outcome, nowMs, held),
      },
    }
    const { config, time } = context
    const { from, to, what, order } = window
    const { reader, meter } = this.#opened(lane)
    const before = meter.counts()
    const asked: BackfillRequest = { from, to, current: hourAt(time.nowMs()), what, daemon: 'runs' }
    const own = window.collectors.flatMap(id => this.#configured.get(id) ?? [])
    const works = await Promise.all(own.map(collector => workFor(collector, asked, reader, outbox)))
    const concurrency = hoursFrom(from, to).length
    const backfill = { outbox, reader, time, works, asked, order, concurrency, signal, chains: config.chains }
    const end = await new Backfill({ ...backfill, report: () => {} }).run()
    // A backfill that is stopped stops its runner.
    if (signal.aborted) await this.close(lane)
    return partRecord({ end, calls: callsSince(before, meter.counts()) })
  }

  async close(lane: Lane): Promise<void> {
    const open = this.#open.get(lane)
    this.#open.delete(lane)
    await open?.stack.disposeAsync()
  }

  #opened(lane: Lane): OpenLane {
    const known = this.#open.get(lane)
    if (known) return known
    const { context, outbox } = this.#deps
    const [meter, stack] = [new CallMeter(), new AsyncDisposableStack()]
    const chains = openChains(context, stack, { store: outbox.intake, meterOf: () => meter })
    const open = { reader: openHourReader(context, chains, stack), meter, stack }
    this.#open.set(lane, open)
    return open
  }
}

/** @throws Fault `collector-unusable` */
async function workFor(
  collector: CollectorConfig,
  asked: BackfillRequest,
  reader: HourReader,
  { intake }: BackfillOutbox,
): Promise<Work> {
  const described = await reader.describe(collector)
  if (described.kind === 'mistaken') {
    throw new Fault('collector-unusable', `the options of ${collector.id} are mistaken here`, {
      fix: 'tidegauge check',
    })
  }
  return workOf(collector, described, asked, await intake.hourStates(collector.id, asked.from, asked.to))
}

function callsSince(before: CallCounts, { requests, calls }: CallCounts): CallCounts {
  const more = Object.entries(calls).map(([method, count]) => [method, count - (before.calls[method] ?? 0)] as const)
  return { requests: requests - before.requests, calls: Object.fromEntries(more.filter(([, count]) => count > 0)) }
}

/** Name of the role of the daemon that reports for its fleet. */
const reportsRole = 'reports'

/** Dependencies of `fleetReporting`. */
interface FleetReportingDeps extends Omit<ReportingDeps, 'mayReport'> {
  /** Whether this daemon has the role. It may lose it at any time, as when it is paused. */
  readonly role: () => Pick<RoleClaim, 'isHeld'>
}

/**
 * The reports to people as the work of the daemon that has the role for them, so that each is sent by one daemon. The next
 * one goes on with the stored state.
 */
export function fleetReporting({ context, outbox, now, role }: FleetReportingDeps): RoleWork {
  const mayReport = () => role().isHeld
  const { status, health } = outbox
  const reports = new HeldReports(outbox.reports, mayReport)
  const held = {
    context,
    outbox: { status, health, reports },
    mayReport,
    now: () => {
      requireRole(mayReport)
      return now()
    },
  }
  return {
    async begin() {
      await using stack = new AsyncDisposableStack()
      await startReports(held, stack)
      context.log.info('this daemon reports now')
      const own = stack.move()
      return async () => {
        await own.disposeAsync()
        context.log.info('this daemon does not report any more')
      }
    },
  }
}

/** The memory of reports while the role is held: a daemon without it would overwrite what another one has reported. */
class HeldReports implements ReportStore {
  readonly #reports: ReportStore
  readonly #mayReport: () => boolean

  constructor(reports: ReportStore, mayReport: () => boolean) {
    this.#reports = reports
    this.#mayReport = mayReport
  }

  async read(reporter: Reporter): Promise<string | undefined> {
    requireRole(this.#mayReport)
    return this.#reports.read(reporter)
  }

  async save(reporter: Reporter, state: string): Promise<void> {
    requireRole(this.#mayReport)
    await this.#reports.save(reporter, state)
  }
}

/** @throws Error without the role; it is tried again at the next look */
function requireRole(mayReport: () => boolean): void {
  if (!mayReport()) throw new Error('another daemon of the fleet reports')
}

/** Dependencies of `FleetIdentity`. */
interface FleetIdentityDeps {
  readonly config: Config
  readonly destinations: readonly Destination[]
  /** Random bytes of the database: what is said of a key there means nothing elsewhere. */
  readonly salt: string
  readonly log: Log
}

/** Digests of a daemon's configuration for the others of its fleet, and whether all deliver to the same service. */
export class FleetIdentity {
  readonly #deps: FleetIdentityDeps
  /** Digests of all parts but the keys, which may change while the daemon runs. */
  readonly #parts: Readonly<Record<Exclude<(typeof configurationParts)[number], 'keys'>, Buffer>>
  #isOfFleet: boolean | undefined
  #namesake: string | undefined

  constructor(deps: FleetIdentityDeps) {
    this.#deps = deps
    const { delivery, outbox, collect, chains, prices, protocols, heartbeat, notify } = deps.config
    this.#parts = {
      service: partDigest(urlOf(deps.config)),
      collectors: partDigest({
        chains: chains.map(({ rpc: _, ...chain }) => chain),
        prices: prices.map(({ name, collector }) => [name, collector.options]),
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

  /** Whether this daemon delivers to the service of the fleet: that of the daemon that has been there longest. */
  get isOfFleet(): boolean {
    return this.#isOfFleet ?? false
  }

  /**
   * Digest of all of the configuration that is not of this machine: a few bytes of each of `configurationParts`. Then of the
   * key of each protocol, as one machine may have protocols that another lacks.
   */
  get digest(): Buffer {
    const byProtocol = this.#deps.destinations.flatMap(destination => {
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
    const { config, salt } = this.#deps
    try {
      const hmac = createHmac('sha256', salt)
        .update(`${urlOf(config)}\n${readKey()}`)
        .digest('hex')
      return `key/${hmac.slice(0, 2 * partBytes)}`
    } catch {
      return name
    }
  }

  /** Takes what the outbox answered to an announcement. */
  announced({ leading, namesake }: Announced): void {
    const { log } = this.#deps
    const isOfFleet = !leading || leading.subarray(0, partBytes).equals(this.#parts.service)
    if (!isOfFleet && this.#isOfFleet !== false) log.warn(otherService)
    this.#isOfFleet = isOfFleet
    if (namesake !== undefined && namesake !== this.#namesake) {
      log.warn({ other: namesake }, 'another daemon has this name: give each a fleet.name of its own')
    }
    this.#namesake = namesake
  }
}

const otherService =
  'service.url is not that of the daemon that has been there longest: this daemon delivers nothing until they are the same'

function urlOf({ service }: Config): string {
  return service.kind === 'remote' ? service.url : service.kind
}
