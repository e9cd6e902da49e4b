import type { Command } from 'commander'
import { openOutbox, openRunner, type Surroundings } from '../app.ts'
import type { CollectorConfig } from '../config/config.ts'
import { asFault, type Collected, collect, usable } from '../intake/collect.ts'
import { recollectAfterMs } from '../intake/turn.ts'
import { pushedMetric } from '../model/batch.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { type Hour, hourAt, hourText, parseHour } from '../model/hour.ts'
import { labelCharsAdvised } from '../model/limits.ts'
import { labelOf } from '../model/metric.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { exitCodes } from './exit.ts'
import { deliverNow } from './flush.ts'
import { type ConfigOption, configuredCommand, type JsonOption, selectCollectors, setUp } from './setting.ts'
import { note, print, printJson, printTable } from './terminal.ts'

interface CollectOptions extends ConfigOption, JsonOption {
  readonly hour?: string
  readonly only?: readonly string[]
  readonly dryRun?: boolean
}

/** One collector's part of a collected hour. */
interface Part extends Collected {
  readonly collector: CollectorConfig
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
      const parts = await collectParts(surroundings, hour, selectCollectors(surroundings.config, options.only))
      printParts(parts, hour, options)
      const isComplete = parts.every(({ fault }) => !fault)
      const isDelivered = options.dryRun ? true : await queueAndDeliver(surroundings, parts, hour)
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
  const runner = openRunner(surroundings, stack)
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

function printParts(parts: readonly Part[], hour: Hour, { json, dryRun }: CollectOptions): void {
  const faults = parts.flatMap(({ collector, fault }) =>
    fault ? [{ collector: collector.id, fault: faultLine(fault) }] : [],
  )
  const accepted = parts.flatMap(part => part.accepted)
  if (json) {
    const held = accepted.flatMap(({ metric, hold }) => (hold === undefined ? [] : [{ id: metric.id, reason: hold }]))
    printJson({ hour: hourText(hour), metrics: accepted.map(({ metric }) => pushedMetric(metric)), held, faults })
    return
  }
  print(hourText(hour))
  if (accepted.length > 0) {
    printTable(
      ['metric', 'value', 'unit', 'remark'],
      accepted.map(({ metric, hold }) => [
        metric.id,
        String(metric.value),
        metric.unit ?? '',
        hold === undefined ? '' : `held: ${hold}`,
      ]),
      ['value'],
    )
  }
  for (const { collector, fault } of faults) print(`not collected: ${collector}: ${fault}`)
  for (const { metric } of accepted) {
    const { length } = labelOf(metric)
    if (length > labelCharsAdvised)
      note(`warning: the label of ${metric.id} has ${length} characters: above ${labelCharsAdvised} the service warns`)
  }
  const sendable = accepted.filter(({ hold }) => hold === undefined).length
  if (dryRun) print(`\n${sendable} metrics would be sent, with timestamp ${hourText(hour)}; nothing was queued`)
}

/** @returns whether everything of this hour that may be sent is delivered */
async function queueAndDeliver(surroundings: Surroundings, parts: readonly Part[], hour: Hour): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  const outbox = openOutbox(surroundings, stack)
  const { time } = surroundings
  for (const part of parts) store(outbox, part, hour, time.nowMs(), time.chance())
  await deliverNow(surroundings, outbox)
  const mine = new Set(parts.flatMap(({ accepted }) => accepted.map(({ metric }) => metric.id)))
  const stored = outbox.metrics.between(hour, hour).filter(({ id }) => mine.has(id))
  const delivered = stored.filter(({ state }) => state === 'delivered').length
  note(`${delivered} of ${stored.length} delivered`)
  return stored.every(({ state }) => state === 'delivered' || state === 'held')
}

function store(outbox: Outbox, { collector, accepted, fault }: Part, hour: Hour, nowMs: number, chance: number): void {
  const isRefused = fault?.code === 'hour-passed'
  if (isRefused) return
  outbox.collections.addCollector(collector.id, hourAt(nowMs))
  outbox.collections.expect(collector.id, [hour])
  const failed = fault && { fault, nextAttemptMs: nowMs + recollectAfterMs(fault, 1, chance) }
  outbox.recordCollection({ collector: collector.id, hour, accepted, ...(failed && { failed }) }, nowMs)
}
