import { join } from 'node:path'
import type { AppContext } from '../../../src/app/context.ts'
import { deliveryMaker } from '../../../src/app/delivering.ts'
import { type FleetMember, joinFleet } from '../../../src/app/fleet-member.ts'
import { EndpointMemory } from '../../../src/app/open-chains.ts'
import { protocolCollectors } from '../../../src/config/config.ts'
import { destinationsOf } from '../../../src/delivery/destination.ts'
import type { Time } from '../../../src/edge/time.ts'
import { SharedTime } from '../../../src/fleet/shared-time.ts'
import { WatchedClock } from '../../../src/intake/hour-clock.ts'
import { Intake } from '../../../src/intake/intake.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { Fortune } from '../../simulation/chance.ts'
import { pipelineOn } from '../../support/collectors.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { steadyAt } from '../../support/virtual-time.ts'
import { FleetClient, FleetRunner, laneIn } from './doubles.ts'
import type { Bare } from './history.ts'
import { breakAll, type Connection, type Owner, owners } from './wire.ts'
import type { FleetWorld } from './world.ts'

/** A trouble that comes after some statements. */
interface Fate {
  statements: number
  readonly arrives: boolean
  readonly happen: (connection: Connection) => void
}

/** One life of a daemon of a fleet, from a start to an end. Once it is over nothing of it goes on. */
export class FleetLife implements Owner {
  isAlive = true
  isPaused = false
  readonly world: FleetWorld
  readonly number: number
  /** Unique in the run. */
  readonly name: string
  readonly daemon: string
  readonly time: Time
  #waiting: (() => void)[] = []
  #fate: Fate | undefined
  #parts: AsyncDisposableStack | undefined

  /** @param daemon its name in the fleet, the same in each life */
  constructor(world: FleetWorld, daemon: string, number: number, aheadMs: number) {
    this.world = world
    this.daemon = daemon
    this.number = number
    this.name = `${daemon}#${number}`
    this.time = new FleetTime(this, aheadMs)
  }

  /** Writes a line of the history, while it lives. */
  note(event: Bare<'atMs' | 'daemon'>): void {
    if (this.isAlive) this.world.note({ ...event, daemon: this.name } as Bare<'atMs'>)
  }

  go(act: () => void): void {
    if (!this.isAlive) return
    if (this.isPaused) this.#waiting.push(act)
    else owners.run(this, act)
  }

  statement(side: 'before' | 'after', connection: Connection): void {
    const fate = this.#fate
    if (!fate) return
    if (side === 'before') fate.statements -= 1
    if (fate.statements > 0 || fate.arrives !== (side === 'after')) return
    this.#fate = undefined
    fate.happen(connection)
  }

  /** Starts it. Never rejects: one that cannot start dies. */
  async start(): Promise<void> {
    await owners.run(this, () => this.#start().catch(error => this.#failed(error)))
  }

  kill(): void {
    this.isAlive = false
    this.#waiting = []
    breakAll(this)
  }

  pause(): void {
    this.isPaused = true
  }

  wake(): void {
    this.isPaused = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const act of waiting) this.go(act)
  }

  /** Something happens to it once it has sent so many statements. */
  after(fate: Fate): void {
    this.#fate = fate
  }

  /** In good order. */
  async stop(): Promise<void> {
    await owners.run(this, async () => this.#parts?.disposeAsync())
    this.kill()
  }

  #failed(error: unknown): void {
    if (this.isAlive) this.world.startFailed(this, error)
  }

  async #start(): Promise<void> {
    await using stack = new AsyncDisposableStack()
    const { world } = this
    const { config, log } = world
    const sharedTime = new SharedTime(this.time)
    const clock = new WatchedClock(sharedTime)
    const outbox = await openPostgresOutbox(addressOf(world.address), clock)
    stack.defer(() => outbox.close())
    await sharedTime.ask(() => outbox.sharedOutbox.store.nowMs())
    const storedMs = await outbox.intake.newestCollected()
    clock.setWitnesses({ service: true, chains: false, ...(storedMs !== undefined && { storedMs }) })
    const data =
      config.data.kind === 'postgres' ? { ...config.data, keptIn: join(world.folder, this.daemon) } : config.data
    const named = { ...config, data, fleet: { ...config.fleet, name: this.daemon } }
    const context: AppContext = { config: named, time: clock, clock, log, redactor: new Redactor() }
    const client = new FleetClient(this)
    const destinations = destinationsOf(
      config,
      () => 'service key',
      ref => (ref.kind === 'env' ? ref.name : ref.path),
    )
    const daemon = {
      ...{
        context,
        outbox,
        connection: { client, destinations },
        chains: {},
        endpointMemory: new EndpointMemory(context),
      },
      make: () => deliveryMaker({ client }, outbox.delivery, context),
      readPresent: () => {
        throw new Error('nothing is reported')
      },
    }
    const { own: member } = await joinFleet(daemon, sharedTime, stack)
    this.#watch(member.intake)
    const collectors = protocolCollectors(config)
    const runner = new FleetRunner(this)
    const pipeline = pipelineOn(runner, clock, { clock })
    const both = { outbox: member, pipeline, collectors, chains: [], time: clock, clock, log }
    const intake = new Intake({ ...both, catchUpMs: 7 * 24 * hourMs })
    stack.defer(() => intake.stop())
    stack.defer(() => outbox.limitWaits())
    this.#parts = stack.move()
  }

  /** Writes down the commits. */
  #watch(intake: FleetMember['own']['intake']): void {
    const record = intake.record.bind(intake)
    intake.record = async (outcome, nowMs) => {
      const { collector, hour, failure } = outcome
      const about = { collector, lane: laneIn(this, collector), hour }
      const begunAtMs = this.world.clock.nowMs()
      try {
        const recorded = await record(outcome, nowMs)
        if (!failure) this.note({ kind: 'committed', begunAtMs, ...about })
        return recorded
      } catch (error) {
        this.note({ kind: 'refused', ...about })
        throw error
      }
    }
  }
}

/** The time that one life of a daemon sees. */
class FleetTime implements Time {
  readonly #life: FleetLife
  readonly #aheadMs: number
  readonly chance: () => number

  constructor(life: FleetLife, aheadMs: number) {
    this.#life = life
    this.#aheadMs = aheadMs
    this.chance = new Fortune(life.world.script.seed + 7_000 * life.number).roll
  }

  nowMs(): number {
    return this.#life.world.clock.nowMs() + this.#aheadMs
  }

  steadyMs(): number {
    return steadyAt(this.#life.world.clock.nowMs())
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stopped = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.#life.world.clock.after(ms, () =>
        this.#life.go(() => {
          signal?.removeEventListener('abort', stopped)
          resolve()
        }),
      )
      signal?.addEventListener('abort', stopped, { once: true })
    })
  }

  timeout(): AbortSignal {
    return new AbortController().signal
  }

  everyHour(): { stop(): void } {
    throw new Error('a fleet has the clock of its database')
  }
}
