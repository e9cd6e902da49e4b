import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ClockWatch } from '../../../src/app/clock-watch.ts'
import type { CollectorConfig } from '../../../src/config/config.ts'
import { Delivery, DeliveryLoop } from '../../../src/delivery/delivery.ts'
import { Pacer, ServiceClock } from '../../../src/delivery/gate.ts'
import { WatchedClock } from '../../../src/intake/hour-clock.ts'
import { Intake } from '../../../src/intake/intake.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { newestCollected } from '../../../src/outbox/store/hours.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { MemoryService } from '../../delivery/support/memory-service.ts'
import { protocol } from '../../delivery/support/protocol.ts'
import { WrongTime } from '../../delivery/support/scripted-time.ts'
import { pipelineOn, ScriptedRunner } from '../../support/collectors.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { metrics } from '../../support/metrics.ts'
import { atOnce, expectHours } from '../../support/stored-hours.ts'
import type { VirtualTime } from '../../support/virtual-time.ts'
import { linesOf } from './lines.ts'

const dayMs = 24 * hourMs

/** Options of a machine. */
export interface MachineParts {
  readonly history: boolean
  /** Who answers and says how late it is. */
  readonly witness: 'service' | 'chain' | 'none'
  /** The outbox of a machine that has collected before; absent where there is none. */
  readonly aged?: string
}

/** Hours in an old outbox, and how long they are kept. */
export const oldHours = 40
const keepMs = 48 * hourMs

/** Time that a run of the collector takes. */
const runMs = 700

/** Makes an outbox with hours that were delivered, up to one. */
export async function makeAged(file: string, last: Hour): Promise<void> {
  const outbox = new SqliteOutbox(file)
  const first = hourAfter(last, -oldHours + 1)
  await expectHours(outbox, 'vault/a', first)
  for (let hour = first; hour <= last; hour = hourAfter(hour, 1)) {
    const accepted = metrics(1, hour).map(metric => ({ metric }))
    await outbox.intake.record({ collector: 'vault/a', hour, acceptedValues: accepted }, hour)
    await outbox.delivery.recordVerdicts(
      { delivered: accepted.map(({ metric }) => metric), dead: [], warnings: [] },
      hour,
    )
  }
  outbox.close()
}

/** A loop that looks seldom, so that a test is quick. */
class SlowTime extends WrongTime {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Math.max(ms, 5_000), signal)
  }
}

/** A daemon's loops on a real outbox, in virtual time, on a machine whose clock may be wrong; the service's is right. */
export class Machine {
  readonly time: VirtualTime
  readonly clock: WrongTime
  readonly file: string
  readonly outbox: SqliteOutbox
  readonly lines: string[] = []
  /** When the collector was asked for an hour and answered, by the true time; the value is that instant. */
  readonly reads: { readonly hour: Hour; readonly atMs: number }[] = []
  readonly service = new MemoryService()
  watched: WatchedClock | undefined
  /** Whether the clock was believed soon after it was right again. */
  isSoonBelieved = false
  readonly #parts: MachineParts
  #stop: () => Promise<void> = async () => {}

  constructor(time: VirtualTime, parts: MachineParts) {
    this.#parts = parts
    this.time = time
    this.clock = new WrongTime(this.time)
    this.file = join(temporaryFolder(), 'outbox.db')
    if (parts.aged !== undefined) copyFileSync(parts.aged, this.file)
    this.outbox = new SqliteOutbox(this.file)
    onTestFinished(async () => {
      await this.#stop()
      this.outbox.close()
    })
  }

  /** The process starts. */
  start(): void {
    const { outbox, lines } = this
    const clock = new WatchedClock(this.clock)
    this.watched = clock
    const stored = atOnce(outbox, newestCollected)
    const isChain = this.#parts.witness === 'chain'
    clock.setWitnesses({ service: true, chains: isChain, ...(stored !== undefined && { storedMs: stored }) })
    const log = linesOf(lines)
    const collectors: CollectorConfig[] = [{ ...collectorConfig }]
    const runner = new ScriptedRunner({
      'vault/a': {
        history: this.#parts.history,
        script: async hour => {
          await this.time.sleep(runMs)
          this.reads.push({ hour, atMs: this.time.nowMs() })
          return { readings: { TVL: this.time.nowMs() }, failures: {}, pins: [] }
        },
      },
    })
    const loop = new DeliveryLoop([this.#delivery(clock)], new SlowTime(clock), log, outbox.health)
    const watch = new ClockWatch(clock, isChain ? { chain: this.#chain } : {}, log)
    const intake = new Intake({
      outbox,
      pipeline: pipelineOn(runner, clock, { clock }),
      collectors,
      chains: [],
      catchUpMs: 7 * dayMs,
      time: clock,
      log,
      clock,
    })
    const role = { release() {}, renew: () => 'held' as const, isInPlace: true }
    const mayPrune = () => clock.mayPrune
    const upkeep = outbox.startUpkeep({ role, keepMs, time: clock, report: () => {}, mayPrune })
    this.#stop = async () => {
      await Promise.all([loop.stop(), watch.stop(), intake.stop(), upkeep.stop()])
    }
  }

  async stop(): Promise<void> {
    await this.#stop()
    this.#stop = async () => {}
  }

  /** Its last block is as old as blocks are. */
  readonly #chain = {
    id: 1,
    askHead: async () => ({ number: 1n, timestampSeconds: Math.floor(this.time.nowMs() / 1_000) - 7 }),
  }

  #delivery(clock: WatchedClock): Delivery {
    const { outbox, service } = this
    const seen = (answer: Answer): Answer => {
      if (this.#parts.witness !== 'service') return { kind: 'unanswered', reason: 'no answer (ECONNREFUSED)' }
      return answer.kind === 'answered' ? { ...answer, skewMs: this.time.nowMs() - clock.nowMs() } : answer
    }
    const client = {
      host: service.host,
      push: async (body: string, key: string, stop: AbortSignal) => seen(await service.push(body, key, stop)),
      validateKey: async (key: string) => seen(await service.validateKey(key)),
      register: async () => seen({ kind: 'unanswered', reason: 'not asked' }),
      validateProtocol: () => service.validateProtocol(),
      widget: () => service.widget(),
      close: () => service.close(),
    }
    const serviceClock = new ServiceClock(clock)
    clock.onBelieved(byMs => serviceClock.machineWasSet(byMs))
    return new Delivery({
      outbox: outbox.delivery,
      client,
      destination: { name: 'service', readKey: () => 'a-key', protocols: [protocol('vault')] },
      pacer: new Pacer(clock, 100),
      clock: serviceClock,
      inFlight: 1,
      log: linesOf(this.lines),
      redactor: new Redactor(),
      time: clock,
    })
  }

  /** Bytes of the outbox, its log included. */
  get bytes(): number {
    return statSync(this.file).size + (statSync(`${this.file}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  }
}

const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

const collectorConfig: CollectorConfig = {
  id: 'vault/a',
  protocolId: 'vault',
  use: 'a',
  options: {},
  place,
  placeOf: () => place,
}
