import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import type { Config } from '../../../src/config/config.ts'
import { JobEngine } from '../../../src/fleet/job-engine.ts'
import { type Hour, hourAt } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { Clock } from '../../simulation/clock.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { fleetConfig } from './config.ts'
import { type Bare, type HistoryEvent, type HourValue, placeOf, type TroubleKind } from './history.ts'
import { judge } from './judge.ts'
import { FleetLife } from './life.ts'
import { type FleetScript, fleetScript, type TroubleScript, valuesUpTo } from './script.ts'
import { FleetService } from './service.ts'
import { type Connection, owners, quiet } from './wire.ts'

const pauseMs = 60_000
const restartMs = 2_000
/** Time in which a fleet without trouble ends its backlog. */
const patienceMs = 900_000
/** Shortest run, and the rest of one after a daemon woke. */
const [atLeastMs, afterPauseMs] = [25_000, 5_000]

/** A fleet on one database in virtual time, with its troubles. */
export class FleetWorld {
  readonly script: FleetScript
  readonly clock: Clock
  readonly config: Config
  readonly service: FleetService
  readonly events: HistoryEvent[] = []
  readonly address: string
  /** The disks of the daemons. */
  readonly folder = mkdtempSync(join(tmpdir(), 'tidegauge-runs-'))
  readonly log: Log
  readonly #control: pg.Client
  readonly #lives: FleetLife[] = []
  readonly #trace: (line: string) => void
  #born = 0
  #wokenAtMs = 0

  constructor(seed: number, address: string, control: pg.Client, log: Log, trace: (line: string) => void = () => {}) {
    this.script = fleetScript(seed)
    this.config = fleetConfig(this.script)
    this.service = new FleetService(this)
    this.address = address
    this.log = log
    this.#control = control
    this.#trace = trace
    this.clock = new Clock(this.script.startMs, { quiet, jumped: nowMs => this.#setClock(nowMs) })
  }

  note(event: Bare<'atMs'>): void {
    const noted = { ...event, atMs: this.clock.nowMs() } as HistoryEvent
    this.events.push(noted)
    this.#trace(JSON.stringify(noted).slice(0, 300))
  }

  /** A daemon that cannot start is started again. */
  startFailed(life: FleetLife, error: unknown): void {
    this.#trace(`${life.name} cannot start: ${error}`)
    this.#end(life)
  }

  /** Runs it to its end. @returns what was broken */
  async run(): Promise<readonly string[]> {
    await this.#setClock(this.clock.nowMs())
    for (const [index, aheadMs] of this.script.aheadMs.entries()) this.#begin(`eu-${index}`, aheadMs)
    for (const trouble of this.script.troubles) {
      this.clock.at(this.script.startMs + trouble.afterMs, () => this.#happen(trouble))
    }
    const untilMs = this.script.startMs + patienceMs
    await this.clock.run(() => this.#isOver() || this.clock.nowMs() > untilMs)
    const last = hourAt(this.clock.nowMs())
    const stored = await this.#stored(last)
    for (const life of this.#lives) life.kill()
    rmSync(this.folder, { recursive: true, force: true })
    const { pacePerSecond } = this.script
    const expected = valuesUpTo(this.script, last)
    return judge({ events: this.events, expected, stored, served: [...this.service.values.values()], pacePerSecond })
  }

  /** Whether all is at the service, and each daemon that was paused has had a while to do what it must not. */
  #isOver(): boolean {
    const nowMs = this.clock.nowMs()
    if (nowMs < Math.max(this.script.startMs + atLeastMs, this.#wokenAtMs + afterPauseMs)) return false
    if (this.#lives.some(({ isPaused }) => isPaused)) return false
    return valuesUpTo(this.script, hourAt(nowMs)).every(value => this.service.values.has(placeOf(value)))
  }

  #begin(daemon: string, aheadMs: number): void {
    this.#born += 1
    const life = new FleetLife(this, daemon, this.#born, aheadMs)
    this.#lives.push(life)
    this.#trace(`${life.name} starts`)
    void life.start()
  }

  #happen({ what, whom, statements, arrives }: TroubleScript): void {
    if (what === 'dropped') {
      void this.#drop()
      return
    }
    const living = this.#lives.filter(({ isPaused }) => !isPaused)
    const life = living[Math.floor(whom * living.length)]
    if (!life) return
    const happen = (connection?: Connection) => this.#befall(life, what, connection)
    // A connection is cut while something is sent on it.
    if (what === 'killed' ? statements > 0 : what === 'cut') life.after({ statements, arrives, happen })
    else happen()
  }

  #befall(life: FleetLife, what: TroubleKind, connection?: Connection): void {
    this.note({ kind: 'trouble', what, daemon: life.name })
    connection?.destroy()
    if (what === 'killed') this.#end(life)
    if (what === 'stopped') void life.stop().then(() => this.#end(life))
    if (what !== 'paused') return
    life.pause()
    this.clock.after(pauseMs, () => {
      this.#wokenAtMs = this.clock.nowMs()
      life.wake()
    })
  }

  #end(life: FleetLife): void {
    life.kill()
    const index = this.#lives.indexOf(life)
    if (index < 0) return
    this.#lives.splice(index, 1)
    const aheadMs = this.script.aheadMs[Number(life.daemon.slice(3))] ?? 0
    this.clock.after(restartMs, () => this.#begin(life.daemon, aheadMs))
  }

  async #drop(): Promise<void> {
    this.note({ kind: 'dropped' })
    await this.#control.query('DROP SCHEMA IF EXISTS tidegauge_jobs CASCADE').catch(error => this.#trace(`${error}`))
  }

  async #setClock(nowMs: number): Promise<void> {
    await this.#control.query(`SELECT setval('sim.clock', ${Math.ceil(nowMs)})`)
  }

  async #stored(last: Hour): Promise<HourValue[]> {
    const outbox = await openPostgresOutbox(addressOf(this.address))
    try {
      const of = this.script.collectors.flatMap(({ protocolId, labels }) =>
        labels.map(label => metricId(protocolId, label)),
      )
      const all = await Promise.all(of.map(id => outbox.operators.history(id, this.script.since, last)))
      return all.flat().map(({ id, hour, value }) => ({ metric: id, hour, value }))
    } finally {
      await outbox.close()
    }
  }
}

/** Notes what each life takes. The engine alone knows which job was claimed before. */
export function watchClaims(): void {
  const { fetch } = JobEngine.prototype
  JobEngine.prototype.fetch = async function (queue, limit, priorityMin) {
    const jobs = await fetch.call(this, queue, limit, priorityMin)
    const life = owners.getStore()
    if (life instanceof FleetLife && queue.startsWith('collect/')) {
      for (const { attempt, data } of jobs) {
        const { hour } = data as { hour: Hour }
        life.note({ kind: 'took', lane: queue.slice('collect/'.length), hour, isAgain: attempt.retryCount > 0 })
      }
    }
    return jobs
  }
}
