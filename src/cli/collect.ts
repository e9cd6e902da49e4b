import type { Command } from 'commander'
import { openOutbox, openRunner, type Surroundings } from '../app.ts'
import type { CollectorConfig } from '../config/config.ts'
import { ConfigError } from '../config/mistakes.ts'
import { asFault, collect, usable } from '../intake/collect.ts'
import { recollectAfterMs } from '../intake/turn.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../model/hour.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { createLog } from '../telemetry/log.ts'
import { checkCollectors } from './check.ts'
import { exitCodes } from './exit.ts'
import { deliverNow } from './flush.ts'
import { type Part, printParts, printPartsJson } from './parts.ts'
import { type ConfigOption, configuredCommand, type JsonOption, selectCollectors, setUp } from './setting.ts'
import { counted, note, print } from './terminal.ts'

interface CollectOptions extends ConfigOption, JsonOption {
  readonly hour?: string
  readonly only?: readonly string[]
  readonly dryRun?: boolean
}

/** `collect`: one hour, once. Ends with 1 when something was not collected or not delivered. */
export function collectCommand(ended: (code: number) => void): Command {
  return configuredCommand('collect')
    .description('one hour, once: collect, queue and push; with --dry-run only show')
    .option('--hour <hour>', 'a full hour, like 2026-11-20T13:00:00Z (default: the current one)')
    .option('--only <id...>', 'protocols or collectors')
    .option('--dry-run', 'queue and push nothing, show what would be sent')
    .option('--json', 'print JSON')
    .action(async (options: CollectOptions) => {
      const surroundings = setUp(options.config)
      const hour = readHour(options.hour, surroundings.time.nowMs())
      const collectors = selectCollectors(surroundings.config, options.only)
      const { mistakes } = await checkCollectors(surroundings)
      if (mistakes.length > 0) throw new ConfigError(surroundings.config.file, mistakes)
      const parts = await collectParts(surroundings, hour, collectors)
      const isComplete = parts.every(({ fault }) => !fault)
      const isDelivered = options.dryRun
        ? printDry(parts, hour, options)
        : await queueAndDeliver(surroundings, parts, hour, options)
      if (!isComplete || !isDelivered) ended(exitCodes.incomplete)
    })
}

function readHour(text: string | undefined, nowMs: number): Hour {
  const hour = text === undefined ? hourAt(nowMs) : parseHour(text)
  if (hour > nowMs)
    throw new Fault('usage', `${hourText(hour)} lies in the future`, {
      fix: `the current hour is ${hourText(hourAt(nowMs))}`,
    })
  return hour
}

async function collectParts(
  surroundings: Surroundings,
  hour: Hour,
  collectors: readonly CollectorConfig[],
): Promise<readonly Part[]> {
  await using stack = new AsyncDisposableStack()
  // What collectors log is for the person who runs this; what delivery logs is said in other words below.
  const log = createLog(surroundings.config.log.level, surroundings.redactor)
  const runner = openRunner({ ...surroundings, log }, stack)
  const isPast = hour < hourAt(surroundings.time.nowMs())
  return await Promise.all(
    collectors.map(async (collector): Promise<Part> => {
      try {
        const description = usable(collector, await runner.describe(collector))
        if (isPast && !description.history)
          throw new Fault('hour-passed', 'reads only "now", it cannot be asked for a past hour')
        return { collector, ...(await collect(runner, collector, description, hour)) }
      } catch (error) {
        return { collector, accepted: [], failures: {}, fault: asFault(error) }
      }
    }),
  )
}

function printDry(parts: readonly Part[], hour: Hour, { json }: CollectOptions): boolean {
  if (json) printPartsJson(parts, hour)
  else printParts(parts, hour, new Map())
  const count = parts.flatMap(({ accepted }) => accepted).filter(({ hold }) => hold === undefined).length
  if (!json) print(`\n${counted(count, 'metric')} would be sent, with timestamp ${hourText(hour)}; nothing was queued`)
  return true
}

/** @returns whether everything of this hour that may be sent is delivered */
async function queueAndDeliver(
  surroundings: Surroundings,
  parts: readonly Part[],
  hour: Hour,
  { json }: CollectOptions,
): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  const outbox = openOutbox(surroundings, stack)
  const { time } = surroundings
  for (const part of parts) store(outbox, part, hour, time.nowMs(), time.chance())
  const ids = new Set(parts.flatMap(({ accepted }) => accepted.map(({ metric }) => metric.id)))
  const stored = () => outbox.metrics.between(hour, hour).filter(({ id }) => ids.has(id))
  if (json) printPartsJson(parts, hour)
  else printParts(parts, hour, new Map(stored().map(({ id, value }) => [id, value])))
  await deliverNow(surroundings, outbox)
  const delivered = stored().filter(({ state }) => state === 'delivered').length
  note(`${delivered} of ${ids.size} delivered`)
  return stored().every(({ state }) => state === 'delivered' || state === 'held')
}

function store(outbox: Outbox, { collector, accepted, fault }: Part, hour: Hour, nowMs: number, chance: number): void {
  const isRefused = fault?.code === 'hour-passed'
  if (isRefused) return
  outbox.collections.addCollector(collector.id, hourAt(nowMs))
  outbox.collections.expect(collector.id, [hour])
  const failed = fault && { fault, nextAttemptMs: nowMs + recollectAfterMs(fault, 1, chance) }
  outbox.recordCollection({ collector: collector.id, hour, accepted, ...(failed && { failed }) }, nowMs)
}
