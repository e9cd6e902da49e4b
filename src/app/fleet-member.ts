import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { EndpointReport } from '../chain/endpoint/endpoint-pool.ts'
import type { OpenChainReader } from '../chain/read/reader.ts'
import { type CollectorConfig, protocolCollectors, serviceAddress } from '../config/config.ts'
import { DeliveryLoop } from '../delivery/delivery.ts'
import type { Destination } from '../delivery/destination.ts'
import { type Loop, repeated } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { version } from '../edge/version.ts'
import { definitionIdentities, FleetAgreement } from '../fleet/agreement.ts'
import { FleetIntakeStore, LocalHours } from '../fleet/fleet-intake-store.ts'
import { FleetPacer, PushBack } from '../fleet/fleet-pacer.ts'
import { backfillQueue, JobEngine, laneQueue } from '../fleet/job-engine.ts'
import { CollectorLanes, type Lane, machineLane, workedLanes } from '../fleet/lane.ts'
import { LaneClaims, reconcile } from '../fleet/lane-claims.ts'
import { type Lease, Leases } from '../fleet/leases.ts'
import { reconcileMs } from '../fleet/limits.ts'
import { SharedTime } from '../fleet/shared-time.ts'
import type { Batch } from '../model/batch.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { hourMs } from '../model/limits.ts'
import type { PostgresAddress } from '../model/postgres-address.ts'
import {
  type DaemonEntry,
  deliveredBy,
  deliverRole,
  type Identity,
  type SharedOutbox,
  type SharedTransaction,
  serviceAt,
} from '../outbox/contract/fleet-store.ts'
import type { IntakeOutbox, Outbox } from '../outbox/contract/outbox.ts'
import type { Roles } from '../outbox/contract/role.ts'
import { LocalOutcomes } from '../outbox/local-outcomes.ts'
import { databaseNowMs } from '../outbox/open.ts'
import { definitionsOf } from '../runner/daemon/process-runner.ts'
import { partDigest } from '../status/fleet.ts'
import type { Observed } from '../status/sources.ts'
import { backfillWorker } from './backfill-windows.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'
import type { MakeDelivery } from './delivering.ts'
import { clientWhileHeld, noteKeyAnswer } from './fleet-delivering.ts'
import { FleetIdentity } from './fleet-identity.ts'
import { fleetReporting, reportsRole } from './fleet-reporting.ts'
import type { EndpointMemory } from './open-chains.ts'
import { daemonNameOf, logUpkeep, rolesOf } from './open-outbox.ts'

/** Interval at which the database is asked for its clock. */
const askClockMs = 60_000

/** Interval at which a daemon that let another one deliver asks whether it would get through now. */
const askKeyMs = 10_000

/** A daemon whose outbox is shared, as far as it is one without the others. */
interface LoneDaemon {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly connection: Pick<Connection, 'client' | 'destinations'>
  readonly chains: Readonly<Record<string, OpenChainReader>>
  readonly endpointMemory: EndpointMemory
  readonly make: () => MakeDelivery
  /** The present state of this daemon alone. */
  readonly readPresent: () => Observed
}

/** A daemon as one of a fleet. */
export interface FleetMember {
  /** The outbox for its own intake. */
  readonly own: IntakeOutbox
  /** The present state, with what is wrong with the fleet. */
  readonly now: () => Observed
}

/** The clock of all daemons that share a database, and the way to be one of them. @throws Fault of the database */
export async function fleetAt(address: PostgresAddress, machine: Time) {
  const time = new SharedTime(machine)
  await time.ask(() => databaseNowMs(address))
  return { time, join: (daemon: LoneDaemon, stack: AsyncDisposableStack) => joinFleet(daemon, time, stack) }
}

/** Starts the parts of a daemon that shares its outbox with others; they are stopped with the stack. */
export async function joinFleet(
  daemon: LoneDaemon,
  sharedTime: SharedTime,
  stack: AsyncDisposableStack,
): Promise<FleetMember> {
  const { config } = daemon.context
  const { sharedOutbox } = daemon.outbox
  if (!sharedOutbox || config.data.kind === 'folder') throw new Error('the outbox of a fleet is in a database')
  const parts = stack.use(new AsyncDisposableStack())
  const member = new FleetParts(daemon, sharedOutbox, sharedTime, await sharedOutbox.store.salt(), parts)
  return member.start(await rolesOf(config), config.data.keptIn)
}

/** The parts of a daemon as one of a fleet, and what they share. */
class FleetParts {
  readonly #daemon: LoneDaemon
  readonly #shared: SharedOutbox
  readonly #sharedTime: SharedTime
  readonly #parts: AsyncDisposableStack
  readonly #name: string
  readonly #collectors: readonly CollectorConfig[]
  readonly #trouble: ReturnType<typeof troubleLog>
  readonly #engine: JobEngine
  readonly #leases: Leases
  readonly #lanes: CollectorLanes
  readonly #identity: FleetIdentity
  readonly #service: Identity
  readonly #agreement: FleetAgreement
  /** The leases of delivering that it wants. */
  readonly #delivering: Lease[] = []

  /** @param parts each part is added to it as it starts */
  constructor(
    daemon: LoneDaemon,
    sharedOutbox: SharedOutbox,
    sharedTime: SharedTime,
    salt: string,
    parts: AsyncDisposableStack,
  ) {
    const { context, outbox, connection } = daemon
    const { config, time, log } = context
    this.#daemon = daemon
    this.#shared = sharedOutbox
    this.#sharedTime = sharedTime
    this.#parts = parts
    this.#name = daemonNameOf(config)
    this.#collectors = protocolCollectors(config)
    this.#trouble = troubleLog(context, outbox)
    const { reportFailure } = this.#trouble
    const explain = (error: unknown) => outbox.health.explain(error)
    this.#engine = this.#keep(new JobEngine({ statements: sharedOutbox.jobs, time, reportFailure, explain }))
    const { store } = sharedOutbox
    const agreementDeps = {
      store,
      name: this.#name,
      definitions: definitionIdentities(definitionsOf(this.#collectors)),
      log,
      time,
    }
    this.#service = serviceAt(serviceAddress(config))
    this.#agreement = new FleetAgreement({ ...agreementDeps, service: this.#service })
    this.#lanes = new CollectorLanes(this.#collectors, this.#name, store, id => this.#agreement.standsBack(id))
    this.#identity = new FleetIdentity(config, connection.destinations, salt)
    this.#leases = this.#keep(this.#openLeases())
  }

  /**
   * @param roles those of commands that deliver
   * @param keptIn folder of values that wait while the database is away
   */
  async start(roles: Pick<Roles, 'deliverer'>, keptIn: string): Promise<FleetMember> {
    const { context, outbox, connection, chains, make, readPresent } = this.#daemon
    const { config, time, log } = context
    const [engine, lanes, leases, { reportFailure }] = [this.#engine, this.#lanes, this.#leases, this.#trouble]
    await this.#agreement.begin()
    const now = () => ({ ...readPresent(), fleetTroubles: this.#troubles })
    if (config.heartbeat || config.notify.length > 0) this.#report(now)
    const lanesNow = () => this.#worked
    const withDue = async () => (await lanes.work(lanesNow(), time)).due
    const hours = this.#keep(new LaneClaims({ engine, lanes: lanesNow, withDue, fleet: leases, time, reportFailure }))
    const { store, backfills, intake } = this.#shared
    this.#repeat(reconcileMs, async () => {
      if (!leases.isOutdated) await reconcile({ store, backfills }, engine, lanes, lanesNow(), time)
    })
    this.#backfill()
    this.#repeat(askClockMs, () => this.#sharedTime.ask(() => store.nowMs()))
    // Before hours are planned: what belonged to a machine that is gone may be collected here.
    await this.#forget().catch(reportFailure)
    this.#repeat(hourMs, () => this.#forget())
    const finality = new Map(Object.values(chains).map(({ id }) => [id, this.#checkFinality(id)]))
    await this.#silenceForgotten()
    const pushMsMax = config.delivery.timeoutMs
    const pushBack = this.#keep(new PushBack({ operators: outbox.operators, pushMsMax, time, log, reportFailure }))
    const to = { make: make(), pushBack, commands: roles }
    for (const destination of connection.destinations) this.#deliver(destination, to)
    const mayPrune = () => context.clock?.mayPrune ?? true
    const upkeep = { keepMs: config.outbox.keepMs, time, mayPrune }
    this.#keep(outbox.startUpkeep({ ...upkeep, report: news => logUpkeep(log, news) }))
    const checksFinality = (chainId: number) => finality.get(chainId)?.isHeld ?? false
    const localStore = new LocalHours({
      ...{ intake, store, health: outbox.health, log },
      outcomes: new LocalOutcomes(keptIn),
      works: collector => lanesNow().includes(lanes.of(collector) ?? ''),
    })
    const counts = (...asked: Parameters<FleetAgreement['counts']>) => this.#agreement.counts(...asked)
    const kept = { intake, store, engine, claims: hours, lanes, counts, localStore, time }
    const requireHeld = (transaction: SharedTransaction) => leases.requireHeld(transaction)
    const ownIntake = new FleetIntakeStore({ ...kept, checksFinality, requireHeld, reportFailure })
    leases.start()
    log.info({ name: this.#name, lanes: lanesNow() }, 'this daemon is one of a fleet')
    return { own: { intake: ownIntake, health: outbox.health }, now }
  }

  /** Why this daemon does not work as one of the fleet, as far as it alone knows. */
  get #troubles(): readonly string[] {
    return [...this.#leases.troubles, ...this.#engine.troubles]
  }

  #keep<T extends { stop(): Promise<void> }>(part: T): T {
    this.#parts.defer(() => part.stop())
    return part
  }

  /** Work that is done again and again, whether or not it succeeds. */
  #repeat(restMs: number, work: (stop: AbortSignal) => Promise<void>): Loop {
    return this.#keep(repeated(work, restMs, this.#daemon.context.time, this.#trouble.reportFailure))
  }

  /** The lanes that it works now: of chains, those that an endpoint can serve, as far as is known. */
  get #worked(): readonly Lane[] {
    const { context, chains: readers } = this.#daemon
    const { fleet, chains } = context.config
    if (this.#leases.isOutdated) return []
    const isServed = (name: string) => readers[name]?.health().some(isToBeAsked) ?? false
    const names = chains.map(({ name }) => name).filter(isServed)
    return workedLanes({ name: this.#name, configured: fleet.lanes, chains: names })
  }

  /** Wants the lease of the daemon that reports to people. */
  #report(now: () => Observed): void {
    const { context, outbox } = this.#daemon
    const work = fleetReporting({ context, outbox, now }, () => lease)
    const lease: Lease = this.#leases.want({ names: [reportsRole], work })
  }

  /** Reads the windows of backfills in its lanes, in processes of their own. */
  #backfill(): void {
    const { context, outbox } = this.#daemon
    this.#keep(
      backfillWorker({
        ...{ context, outbox, sharedOutbox: this.#shared, engine: this.#engine, collectors: this.#collectors },
        ...{ endpointMemory: this.#daemon.endpointMemory, name: this.#name },
        lanes: async () => (await this.#lanes.work(this.#worked, context.time)).windows,
        standsBack: id => this.#agreement.standsBack(id),
        reportFailure: this.#trouble.reportFailure,
      }),
    )
  }

  #openLeases(): Leases {
    const { context } = this.#daemon
    const { config, time, log } = context
    const [instance, host, { pid }] = [randomUUID(), hostname(), process]
    const entry = (): DaemonEntry => ({
      ...{ name: this.#name, version, instance, pid, host, configFile: config.file, digest: this.#identity.digest },
      ...{ clockOffMs: this.#sharedTime.machineOffMs, lanes: this.#worked },
      failing: this.#delivering.flatMap(({ failing }) => failing ?? [])[0],
    })
    return new Leases({
      ...{ store: this.#shared.leases, holder: { daemon: this.#name, instance }, entry, service: this.#service },
      learn: async identities => {
        this.#trouble.answered()
        await this.#agreement.renewed(identities)
      },
      // As long as it lives: a line that repeats is folded.
      namesake: () => log.warn('another daemon has this name: give each a fleet.name of its own'),
      time,
      reportFailure: this.#trouble.reportFailure,
    })
  }

  /** Wants the lease of checking the blocks of a chain again. */
  #checkFinality(chainId: number): Lease {
    const { chains } = this.#daemon.context.config
    const isWorked = () => chains.some(({ id, name }) => id === chainId && this.#worked.includes(name))
    // It would correct values by a definition that does not count.
    const mayHold = () => this.#agreement.differing.length === 0 && isWorked()
    // Of daemons that know the same collectors one has it: those of another set could not be read again there.
    const collectorsDigest = partDigest(this.#collectors.map(({ id }) => id).sort()).toString('hex')
    return this.#leases.want({ names: [`finality/${chainId}/${collectorsDigest}`], mayHold })
  }

  /** Forgets daemons that are gone, with the jobs of their machines. */
  async #forget(): Promise<void> {
    for (const name of await this.#shared.store.forgetDaemons(this.#name)) {
      const lane = machineLane(name)
      for (const queue of [laneQueue(lane), backfillQueue(lane)]) await this.#engine.removeQueue(queue)
    }
  }

  /** Deletes why destinations wait that no daemon delivers to. One has the name of a protocol, which another may know alone. */
  async #silenceForgotten(): Promise<void> {
    const { outbox, connection } = this.#daemon
    const others = (await this.#shared.store.daemons()).filter(daemon => daemon.name !== this.#name)
    const own = connection.destinations.map(({ name }) => name)
    await outbox.delivery.silenceOtherDestinations([...own, ...others.flatMap(deliveredBy)])
  }

  /** Delivers to a destination the protocols that it has the lease of, which one of the fleet has at a time. */
  #deliver(destination: Destination, { make, pushBack, commands }: DeliveryMeans): void {
    const { context, outbox, connection } = this.#daemon
    const { config, time, log } = context
    const { name } = destination
    const requireHeld = (transaction: SharedTransaction) => this.#leases.requireHeld(transaction)
    const ownDeps = {
      client: clientWhileHeld(connection.client, () => lease, time),
      outbox: this.#shared.delivery.withStep(requireHeld),
      onPushed: (batch: Batch) => (lease.isHeld ? undefined : pushBack.add([...batch])),
    }
    const { readKey } = destination
    const unable = () => {
      try {
        readKey()
        return undefined
      } catch (error) {
        return error instanceof Error ? error.message : faultLine(error)
      }
    }
    const begin = async (names: readonly string[]) => {
      if (await commands.deliverer()) {
        const fix = 'it ends when it sees the daemon'
        throw new Fault('outbox-held', 'a command delivers from this outbox', { fix })
      }
      // The daemon before may have sent what is due.
      outbox.delivery.maybeSent('all')
      const key = () => this.#identity.keyName(destination)
      const perSecond = config.delivery.pacePerSecond
      const paced = { store: this.#shared.store, service: this.#service, lease, requireHeld, destination: key }
      const pacer = new FleetPacer({ ...paced, perSecond, time })
      const protocols = destination.protocols.filter(({ id }) => names.includes(deliverRole(id)))
      const loop = new DeliveryLoop([make({ name, readKey, protocols }, pacer, ownDeps)], time, log, outbox.health)
      const facts = { destination: name, protocols: protocols.map(({ id }) => id) }
      log.info(facts, 'this daemon delivers now')
      return async () => {
        await loop.stop()
        log.info(facts, 'this daemon does not deliver any more')
      }
    }
    const givingBack = async () => {
      log.warn({ destination: name }, 'this daemon does not reach the service: another one is let try')
      void ask().catch(this.#trouble.reportFailure)
      // It does not wait as long as this one would have.
      await outbox.operators.requestFlush()
    }
    const names = destination.protocols.map(({ id }) => deliverRole(id))
    const mayHold = () => this.#agreement.isOfFleet
    const lease: Lease = this.#leases.want({ names, work: { begin, givingBack }, mayHold, unable })
    this.#delivering.push(lease)
    const ask = async (stop?: AbortSignal) => {
      const reason = unable()
      if (reason !== undefined) return lease.noteFailure(reason, 'key')
      const key = readKey()
      context.redactor.add([key])
      noteKeyAnswer(lease, await connection.client.validateKey(key, stop))
    }
    this.#repeat(askKeyMs, async stop => {
      if (lease.failing !== undefined && lease.names.length === 0) await ask(stop)
    })
  }
}

/** Whether hours are read by an endpoint: one that limits the rate of calls answers, too. */
function isToBeAsked({ state, trouble }: EndpointReport): boolean {
  return state === 'well' || (state === 'resting' && trouble === 'limited')
}

/** Means of delivery that all destinations of a daemon share. */
interface DeliveryMeans {
  readonly make: MakeDelivery
  /** Takes what was sent without the lease. */
  readonly pushBack: PushBack
  /** The roles of commands that deliver. */
  readonly commands: Pick<Roles, 'deliverer'>
}

/** Logs each error once until another one comes, and that the database answers again. */
function troubleLog({ log }: AppContext, { health }: Pick<Outbox, 'health'>) {
  let last = ''
  let isAway = false
  return {
    reportFailure(error: unknown): unknown {
      health.recover(error)
      const explanation = health.explain(error)
      if (explanation instanceof Fault && explanation.code === 'database-unreachable') isAway = true
      const fault = faultLine(explanation)
      if (fault !== last) log.warn({ fault }, 'fleet: retrying')
      last = fault
      return explanation
    },
    /** The daemon has renewed its lease. */
    answered(): void {
      if (!isAway) return
      isAway = false
      last = ''
      log.info('fleet: the database answers again')
    },
  }
}
