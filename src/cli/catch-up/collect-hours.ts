import type { ChainConfig } from '../../config/config.ts'
import type { Time } from '../../edge/time.ts'
import { recordHour, retryDelayMs } from '../../intake/due-hours.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { notFinal } from '../../model/block.ts'
import { type Fault, isPermanent } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { IntakeOutbox } from '../../outbox/contract/outbox.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DueRun } from './due-hours.ts'

/** Hours read at the same time: their reads share requests. */
const hoursTogether = 24

/** Attempts at one hour; more while the chain has no block past it, which takes seconds. */
const attemptsMax = 2
const chainBehindAttemptsMax = 7

/** Wait before the second attempt at an hour. */
const retryRestMs = 1_000

/** An hour that had its turn. */
export interface HourEnd {
  readonly hour: Hour
  /** Number of its values. */
  readonly metrics: number
  readonly faults: readonly { readonly collector: string; readonly fault: Fault }[]
}

/** Dependencies of `collectHours`. */
export interface CollectHoursDeps {
  readonly outbox: IntakeOutbox
  readonly reader: Pick<HourReader, 'collect'>
  readonly time: Time
  readonly log: Log
  readonly chains: readonly Pick<ChainConfig, 'name' | 'id' | 'settleMs'>[]
  /** Asked before each window of hours: whether to end early. */
  readonly isOver: () => boolean
  readonly ended: (end: HourEnd) => void
}

/** Collects and stores hours, in the order given: the first alone, then several at a time. Rejects with the outbox's error. */
export async function collectHours(
  deps: CollectHoursDeps,
  hours: readonly (readonly [Hour, readonly DueRun[]])[],
): Promise<void> {
  for (let at = 0; at < hours.length; ) {
    if (deps.isOver()) return
    const size = at === 0 ? 1 : hoursTogether
    deps.outbox.health.requireRoom()
    const ends = await Promise.all(hours.slice(at, at + size).map(([hour, runs]) => collectHour(deps, hour, runs)))
    if (deps.isOver()) return
    for (const end of ends) deps.ended(end)
    at += size
  }
}

async function collectHour(deps: CollectHoursDeps, hour: Hour, runs: readonly DueRun[]): Promise<HourEnd> {
  const results = await Promise.all(runs.map(run => collectRun(deps, run)))
  const faults = results.flatMap(({ fault }, index) => {
    const collector = runs[index]?.collector.id ?? ''
    return fault ? [{ collector, fault }] : []
  })
  return { hour, metrics: results.reduce((sum, { metrics }) => sum + metrics, 0), faults }
}

async function collectRun(
  deps: CollectHoursDeps,
  { collector, description, due }: DueRun,
): Promise<{ readonly metrics: number; readonly fault?: Fault }> {
  const { outbox, reader, time, chains } = deps
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = time.nowMs()
    const collected = await reader.collect({ collector, description, hour: due.hour }, outbox.intake)
    const { fault } = collected
    if (fault && deps.isOver()) return { metrics: 0, fault }
    const pins = notFinal(collected.pins, due.hour, chains, startedMs)
    await recordHour(deps, { ...due, attempts: due.attempts + attempt - 1 }, { ...collected, pins })
    const attempts = fault?.code === 'chain-behind' ? chainBehindAttemptsMax : attemptsMax
    if (!fault || isPermanent(fault) || attempt >= attempts) {
      return { metrics: collected.accepted.length, ...(fault && { fault }) }
    }
    const isBehind = fault.code === 'chain-behind'
    await time.sleep(isBehind ? retryDelayMs(fault, attempt, time.chance()) : retryRestMs)
  }
}
