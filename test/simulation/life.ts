import { ClockWatch } from '../../src/app/clock-watch.ts'
import { logUpkeep } from '../../src/app/open-outbox.ts'
import { type Config, type ProtocolConfig, protocolCollectors } from '../../src/config/config.ts'
import { Delivery, DeliveryLoop } from '../../src/delivery/delivery.ts'
import { destinationsOf } from '../../src/delivery/destination.ts'
import { Pacer, ServiceClock } from '../../src/delivery/gate.ts'
import type { Time } from '../../src/edge/time.ts'
import { WatchedClock } from '../../src/intake/hour-clock.ts'
import { Intake } from '../../src/intake/intake.ts'
import { Fault } from '../../src/model/fault.ts'
import { hourAt } from '../../src/model/hour.ts'
import { pollMs, roomLookMs } from '../../src/model/limits.ts'
import type { Outbox, UpkeepNews } from '../../src/outbox/contract/outbox.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { newestCollected } from '../../src/outbox/store/hours.ts'
import { destinationStates } from '../../src/outbox/store/notes.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'
import { slowOutbox, someTurns } from '../outbox/support/slow-outbox.ts'
import { pipelineOn } from '../support/collectors.ts'
import { readAtOnce } from '../support/stored-hours.ts'
import type { BackfillScript } from './backfill-script.ts'
import { fillIn } from './backfills.ts'
import { chainId } from './chain.ts'
import { ScriptedReader } from './chain-reader.ts'
import { Fortune } from './chance.ts'
import { ScriptedClient } from './client.ts'
import { LazyTime, LifeTime } from './clock.ts'
import { ScriptedRunner } from './collectors.ts'
import type { Script } from './script.ts'
import { Watch } from './watch.ts'
import type { World } from './world.ts'

const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

/** The configuration a script's operator would have written. */
export function configOf(script: Script): Config {
  return {
    file: place.file,
    includes: [],
    digest: 'd1',
    service: { kind: 'remote', url: 'https://metrics.example' },
    data: { kind: 'folder', folder: '/nowhere' },
    fleet: {},
    collect: { deadlineMs: 60_000, catchUpMs: script.catchUpMs },
    delivery: { timeoutMs: 30_000, inFlight: script.inFlight, pacePerSecond: script.pacePerSecond },
    outbox: { keepMs: script.keepMs },
    status: { host: '127.0.0.1', port: 0, hosts: [], ready: 'late' },
    log: { level: 'error' },
    chains: [],
    prices: [],
    lists: [],
    notify: [],
    protocols: script.protocols.map(protocol => protocolConfig(script, protocol)),
  }
}

function protocolConfig(script: Script, { id, owner, register }: Script['protocols'][number]): ProtocolConfig {
  const path = script.owners.find(({ name }) => name === owner)?.keyPath
  const collectors = script.collectors
    .filter(({ protocolId }) => protocolId === id)
    .map(({ id: collector, since }) => ({
      id: collector,
      protocolId: id,
      use: collector,
      options: {},
      ...(since === undefined ? {} : { since }),
      place,
      placeOf: () => place,
    }))
  return {
    id,
    name: id,
    register,
    collectors,
    place,
    ...(path === undefined ? {} : { key: { kind: 'file', path, place } }),
  }
}

/**
 * One life of the process: everything that runs between a start and an end. Once it is over nothing of it goes on: its
 * waits never end, its requests are not answered, its outbox is closed.
 */
export class Life {
  isAlive = true
  readonly outbox: SqliteOutbox
  /** The same, as it answers the loops. */
  readonly #store: Outbox
  readonly #world: World
  readonly #client: ScriptedClient
  readonly #loops: readonly DeliveryLoop[]
  readonly #intake: Intake
  readonly #upkeep: { stop(): Promise<void> }
  readonly #clockWatch: ClockWatch
  readonly #watch: Watch
  /** Backfills under way. */
  readonly #fillings = new Set<{ readonly outbox: SqliteOutbox; readonly stop: () => Promise<void> }>()

  /** @throws whatever the outbox throws when it cannot be opened */
  constructor(world: World, number: number, log: Log) {
    this.#world = world
    const { script, clock, service } = world
    const isAlive = () => this.isAlive
    const watch = new Watch(world, (owner, skewMs) => world.newestDue(owner, skewMs))
    this.#watch = watch
    const chance = new Fortune(script.seed + 1_000 * number + 3).roll
    const time = new WatchedClock(this.#lifeTime(chance))
    this.#client = new ScriptedClient(clock, service, isAlive, watch, () => time.nowMs())
    this.outbox = this.#watched(new SqliteOutbox(world.disk.file), watch)
    this.#store = this.#asFarAs(this.outbox, time, new Fortune(script.seed + 1_000 * number + 9))
    const storedMs = readAtOnce(this.outbox, newestCollected)
    time.setWitnesses({ service: true, chains: world.chain !== undefined, ...(storedMs !== undefined && { storedMs }) })
    const isDoubted = () => time.verdict.kind === 'doubted'
    const lazy = (fromMs: number, activity: () => number) =>
      new LazyTime(time, clock, world.idleness(activity, isDoubted), fromMs)
    this.#loops = this.#deliveries(time, log, watch).map(([owner, delivery]) => {
      const rest = lazy(pollMs, () => world.facts.activity.get(owner) ?? 0)
      return new DeliveryLoop([delivery], rest, log, this.outbox.health)
    })
    const chains = this.#chains(time, number, this.#store)
    const runner = new ScriptedRunner(world, isAlive, number, chains[0])
    const asked = Object.fromEntries(chains.map(chain => ['scripted', chain]))
    this.#clockWatch = new ClockWatch(
      time,
      asked,
      log,
      lazy(pollMs, () => 0),
    )
    const collectors = protocolCollectors(world.config)
    const hourly = () => hourAt(clock.nowMs())
    this.#intake = new Intake({
      outbox: this.#store,
      pipeline: pipelineOn(runner, time, { clock: time, chains, log }),
      collectors,
      chains,
      catchUpMs: world.config.collect.catchUpMs,
      time: lazy(pollMs, hourly),
      clock: time,
      log,
    })
    const role = { release() {}, renew: () => 'held' as const, isInPlace: true }
    const report = (news: UpkeepNews) => logUpkeep(log, news)
    const daily = lazy(roomLookMs, () => 0)
    this.#upkeep = this.outbox.startUpkeep({
      role,
      keepMs: script.keepMs,
      time: daily,
      report,
      mayPrune: () => time.mayPrune,
    })
  }

  /** In some worlds the store is on another machine. */
  #asFarAs(outbox: SqliteOutbox, time: Time, chance: Fortune): Outbox {
    const { answerMsMax } = this.#world.script
    if (answerMsMax === 0) return outbox
    return slowOutbox(outbox, async () => {
      if (chance.is(0.1)) await time.sleep(Math.ceil(chance.roll() * answerMsMax))
      else await someTurns(chance.roll)
    })
  }

  /** This machine's clocks. */
  #lifeTime(chance: () => number): LifeTime {
    const world = this.#world
    return new LifeTime(
      world.clock,
      chance,
      () => this.isAlive,
      () => world.machineAheadMs,
    )
  }

  /** As in each process that reads the chain. */
  #chains(time: WatchedClock, number: number, { intake }: Pick<Outbox, 'intake'>): ScriptedReader[] {
    const { chain, script } = this.#world
    const chance = new Fortune(script.seed + 1_000 * number + 7)
    return chain ? [new ScriptedReader(chain, time, chance, intake.finalBlocks(chainId))] : []
  }

  /** Somebody fills past hours in, in a process of its own. */
  fillIn(script: BackfillScript, number: number): void {
    const { config } = this.#world
    const isAlive = () => this.isAlive
    const outbox = this.#watched(new SqliteOutbox(this.#world.disk.file), this.#watch)
    // A command does not begin while the clock is wrong.
    const { machineAheadMs } = this.#world
    if (machineAheadMs !== 0) return
    const time = new WatchedClock(this.#lifeTime(new Fortune(this.#world.script.seed + 1_000 * number + 8).roll))
    time.sawService(0)
    const store = this.#asFarAs(outbox, time, new Fortune(this.#world.script.seed + 1_000 * number + 10))
    const [chain] = this.#chains(time, number, store)
    const runner = new ScriptedRunner(this.#world, isAlive, number, chain)
    const stopping = new AbortController()
    const run = fillIn({ script, outbox: store, runner, time, config, chain, signal: stopping.signal })
    const filling = {
      outbox,
      stop: () => {
        stopping.abort(new Fault('stopped', 'it was asked to stop'))
        return run
      },
    }
    this.#fillings.add(filling)
    const ended = () => {
      if (!this.#fillings.delete(filling)) return
      outbox.close()
    }
    void run.then(ended, (error: unknown) => {
      if (this.isAlive) this.#world.facts.broken(`a backfill rejects: ${error}`)
    })
  }

  /** From now on nothing of it runs on. */
  end(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.outbox.close()
    for (const { outbox } of this.#fillings) outbox.close()
    this.#fillings.clear()
  }

  /** In good order, as far as collecting goes. */
  async stopCollecting(): Promise<void> {
    await Promise.all([this.#intake.stop(), ...[...this.#fillings].map(({ stop }) => stop())])
  }

  /** In good order. */
  async stop(): Promise<void> {
    await Promise.all([...this.#loops.map(loop => loop.stop()), this.#upkeep.stop(), this.#clockWatch.stop()])
    if (this.#client.underWay > 0) this.#world.facts.broken('stopped, and requests are under way')
    this.end()
  }

  #deliveries(time: WatchedClock, log: Log, watch: Watch): [owner: string, Delivery][] {
    const { script, config, keys } = this.#world
    const pacer = new Pacer(time, script.pacePerSecond)
    const clock = new ServiceClock(time)
    time.onBelieved(byMs => clock.machineWasSet(byMs))
    const { inFlight } = script
    const outbox = this.#store.delivery
    const destinations = destinationsOf(config, () => keys.read('service'), keys.readSecret)
    return destinations.map(destination => {
      const redactor = new Redactor()
      const options = { outbox, client: this.#client, destination, pacer, clock, inFlight, log, redactor, time }
      return [destination.name, this.#watchedDelivery(new Delivery(options), destination.name, watch)]
    })
  }

  #watchedDelivery(delivery: Delivery, name: string, watch: Watch): Delivery {
    const flush = delivery.flush.bind(delivery)
    const failures = () => readAtOnce(this.outbox, () => destinationStates([name]))[0]?.failures ?? 0
    delivery.flush = async (...given) => {
      watch.flushBegins(name, failures)
      await flush(...given)
      watch.flushEnds(name)
    }
    return delivery
  }

  #watched(outbox: SqliteOutbox, watch: Watch): SqliteOutbox {
    const { ledger, facts } = this.#world
    const keepBallast = outbox.disk.keepBallast.bind(outbox.disk)
    outbox.disk.keepBallast = async () => this.#world.keepBallast() && (await keepBallast())
    const { intake, delivery } = outbox
    const [record, recordVerdicts] = [intake.record.bind(intake), delivery.recordVerdicts.bind(delivery)]
    intake.record = async (outcome, nowMs) => {
      ledger.offered(outcome)
      this.#world.checkHour(outcome)
      const recorded = await record(outcome, nowMs)
      for (const { metric } of outcome.acceptedValues.slice(0, 1))
        facts.happened(this.#world.ownerOf(metric.protocolId))
      ledger.accepted(outcome)
      return recorded
    }
    const recordGap = intake.recordGap.bind(intake)
    intake.recordGap = async (collector, hour, fault) => {
      this.#world.checkGap(collector, hour, fault)
      await recordGap(collector, hour, fault)
    }
    const forgetPins = intake.forgetPins.bind(intake)
    intake.forgetPins = async (collector, hour) => {
      this.#world.givesUp(collector, hour)
      await forgetPins(collector, hour)
    }
    delivery.recordVerdicts = async (verdicts, nowMs, delayed) => {
      watch.judged(verdicts)
      await recordVerdicts(verdicts, nowMs, delayed)
      ledger.delivered(verdicts.delivered)
    }
    return outbox
  }
}
