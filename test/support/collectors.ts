import type { CollectorConfig } from '../../src/config/config.ts'
import type { Time } from '../../src/edge/time.ts'
import { HourPipeline } from '../../src/intake/collect-hours.ts'
import { commandClock, type HourClock } from '../../src/intake/hour-clock.ts'
import { HourReader } from '../../src/intake/hour-reader.ts'
import type { EarliestMs } from '../../src/model/clock.ts'
import type { Fault } from '../../src/model/fault.ts'
import type { Hour } from '../../src/model/hour.ts'
import type { CollectorDescription, DescribeResult, Runner, RunOutcome } from '../../src/runner/runner.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { silentLog } from './log.ts'

const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

/** A configured collector, `{protocolId}/{name}`. */
export function collector(name: string, parts: Partial<CollectorConfig> = {}): CollectorConfig {
  const protocolId = parts.protocolId ?? 'vault'
  return { id: `${protocolId}/${name}`, protocolId, use: name, options: {}, place, placeOf: () => place, ...parts }
}

/** Result of a scripted collector for an hour: values, or a fault it fails with. */
export type Script = (hour: Hour, attempt: number) => RunOutcome | Fault | Promise<RunOutcome | Fault>

export const one: Script = () => ({ readings: { TVL: 1 }, failures: {}, pins: [] })

/** A collector that is a function. */
export interface Scripted {
  readonly script: Script
  readonly history: boolean
  /** Its declaration. Default: `TVL` alone. */
  readonly metrics?: CollectorDescription['metrics']
}

/** A runner whose collectors are functions; it writes down what it was asked for. */
export class ScriptedRunner implements Runner {
  readonly asked: { readonly id: string; readonly hour: Hour }[] = []
  readonly #scripts: Readonly<Record<string, Scripted>>

  constructor(scripts: Readonly<Record<string, Scripted>>) {
    this.#scripts = scripts
  }

  async describe({ id }: CollectorConfig): Promise<DescribeResult> {
    const { history = true, metrics = { TVL: { unit: 'USD', min: 0 } } } = this.#scripts[id] ?? {}
    return { kind: 'usable', metrics, history }
  }

  async collect({ id }: CollectorConfig, hour: Hour): Promise<RunOutcome> {
    this.asked.push({ id, hour })
    const attempt = this.asked.filter(entry => entry.id === id && entry.hour === hour).length
    const outcome = await this.#scripts[id]?.script(hour, attempt)
    if (!outcome || outcome instanceof Error) throw outcome
    return outcome
  }

  async stop(): Promise<void> {}
}

/** A clock that every witness confirms. */
export function confirmed(time: Pick<Time, 'nowMs'>): HourClock {
  return {
    get hour() {
      return commandClock(time).hour
    },
    get earliestMs() {
      return time.nowMs() as EarliestMs
    },
    onBelieved() {},
  }
}

/** Reads hours where no chain has endpoints of several hosts. */
function readerOn(runner: Runner, clock: HourClock): HourReader {
  return new HourReader({ runner, otherHosts: [], chains: [], clock, log: silentLog })
}

interface PipelineParts {
  readonly clock?: HourClock
  readonly chains?: readonly { readonly id: number; readonly settleMs: number }[]
  readonly log?: Log
}

/** The pipeline of hours on a runner. Its clock is confirmed, unless another one is given. */
export function pipelineOn(
  runner: Runner,
  time: Time,
  { clock = confirmed(time), chains = [], log = silentLog }: PipelineParts = {},
): HourPipeline {
  return new HourPipeline({ reader: readerOn(runner, clock), clock, chains, time, log })
}
