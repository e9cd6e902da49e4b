import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { openOfflineRunner } from '../../app/open-runner.ts'
import { Fault } from '../../model/fault.ts'
import { type Hour, hourAfter, hourAt, parseHour } from '../../model/hour.ts'
import { labelOf, type MetricId } from '../../model/metric.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import { historyHours } from '../../status/history.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { type EndWith, exitCodes } from '../exit.ts'
import { type Explained, explanationOf } from '../explain/explanation.ts'
import { explanationJson } from '../explain/json.ts'
import { printExplanation } from '../explain/text.ts'
import { demandBegun } from '../hour-range.ts'
import { startLoadMsMax } from '../limits.ts'
import { openContext } from '../open-context.ts'
import { printJson } from '../terminal.ts'

/** `explain METRIC [HOUR]`: the origin of a value, or why there is none. Ends with 1 where it is not as stored. */
export function explainCommand(ended: EndWith): Command {
  return configuredCommand('explain')
    .description('how a value came about, enough to repeat it with another tool; or why there is none')
    .argument('<metric>', 'metric id, like awesome-vault___TVL')
    .argument('[hour]', 'a full hour, like 2026-11-20T13:00:00Z (default: the newest with a value)')
    .option('--json', 'print JSON')
    .action(async (id: string, hourAsked: string | undefined, options: ConfigOption & JsonOption) => {
      const context = openContext(options.config)
      await using stack = new AsyncDisposableStack()
      const outbox = await openExistingOutbox(context, stack)
      if (!outbox) throw new Fault('usage', 'nothing was ever collected', { fix: asTyped('collect', options) })
      const hour = hourAsked === undefined ? undefined : parseHour(hourAsked)
      if (hour !== undefined) demandBegun(hour, context.time.nowMs())
      const asked = await explained(context, outbox.operators, id as MetricId, hour, options)
      const found = await explanationOf(context, outbox, asked)
      if (options.json) printJson(explanationJson(found))
      else printExplanation(found, options)
      const { entry, again } = found
      const isOther = entry && again.value !== undefined && !Object.is(again.value, entry.value)
      if (isOther || !entry) ended(exitCodes.incomplete)
    })
}

/** @throws Fault `usage` for a metric that no collector gives */
async function explained(
  context: AppContext,
  operators: OperatorStore,
  id: MetricId,
  asked: Hour | undefined,
  options: ConfigOption,
): Promise<Explained> {
  const current = hourAt(context.time.nowMs())
  const to = asked ?? current
  const known = await operators.history(id, hourAfter(to, -historyHours), to)
  const latest = known.at(-1) ?? (await operators.history(id, current, current))[0]
  const protocolId = context.config.protocols.find(one => id.startsWith(`${one.id}___`))?.id ?? latest?.protocolId
  const collector = latest?.collector ?? (protocolId && (await collectorOf(context, id, protocolId)))
  if (protocolId === undefined || !collector) {
    throw new Fault('usage', `no metric is called "${id}"`, {
      fix: `a metric id is PROTOCOL___LABEL; ${asTyped('status', options)} shows what there is`,
    })
  }
  return { id, protocolId, collector, hour: asked ?? latest?.hour ?? current }
}

/** The configured collector that declares a metric which has no value yet. */
async function collectorOf(context: AppContext, id: MetricId, protocolId: string): Promise<string | undefined> {
  await using stack = new AsyncDisposableStack()
  const runner = openOfflineRunner(context, startLoadMsMax, stack)
  const own = context.config.protocols.find(one => one.id === protocolId)?.collectors ?? []
  for (const collector of own) {
    const description = await runner.describe(collector).catch(() => undefined)
    if (description?.kind === 'usable' && labelOf({ id, protocolId }) in description.metrics) return collector.id
  }
  return undefined
}
