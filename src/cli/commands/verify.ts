import type { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { openExistingOutbox } from '../../app/open-outbox.ts'
import { type Hour, hourAfter, hourAt, parseHour } from '../../model/hour.ts'
import type { MetricId } from '../../model/metric.ts'
import type { StoredMetric } from '../../outbox/contract/metrics.ts'
import type { OperatorStore } from '../../outbox/contract/operator-store.ts'
import type { Outbox } from '../../outbox/contract/outbox.ts'
import { askService } from '../ask-service.ts'
import { asTyped, type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { deliverNow } from '../deliver-now.ts'
import { type EndWith, exitCodes } from '../exit.ts'
import { demandOrder } from '../hour-range.ts'
import { openContext } from '../open-context.ts'
import { selectProtocols } from '../select-protocols.ts'
import { counted, note, printJson } from '../terminal.ts'
import { compare } from '../verify/compare.ts'
import { printVerified, type Verified, verifiedJson } from '../verify/text.ts'

interface VerifyOptions extends ConfigOption, JsonOption {
  readonly from?: string
  readonly to?: string
  readonly repair?: boolean
}

/** Range and protocols of a comparison. */
interface VerifyDeps {
  readonly context: AppContext
  /** Absent when nothing was ever collected. */
  readonly outbox: Outbox | undefined
  readonly protocolIds: readonly string[]
  readonly from: Hour
  readonly to: Hour
}

/** Hours read from the outbox at a time. */
const hoursAtOnce = 24

/** `verify`: compares what was delivered with what the service shows. Ends with 1 when something differs. */
export function verifyCommand(ended: EndWith): Command {
  return configuredCommand('verify')
    .description('compare what was delivered with what the service shows')
    .argument('[id...]', 'protocol ids (default: all)')
    .option('--from <hour>', 'the first hour, like 2026-11-20T13:00:00Z (default: the oldest that is kept)')
    .option('--to <hour>', 'the last hour, included (default: the current hour)')
    .option('--repair', 'push again what the service lacks or shows otherwise')
    .option('--json', 'print JSON')
    .action(async (ids: readonly string[], options: VerifyOptions) => {
      const context = openContext(options.config)
      const protocolIds = selectProtocols(context.config.protocols, ids).map(({ id }) => id)
      const range = rangeOf(context, options)
      await using stack = new AsyncDisposableStack()
      const outbox = await openExistingOutbox(context, stack)
      const deps = { context, outbox, protocolIds, ...range }
      const first = await verified(deps)
      const pushed = options.repair && outbox ? await repair(context, outbox, first) : 0
      const found = pushed > 0 ? await verified(deps) : first
      if (options.json) printJson(verifiedJson(found, pushed))
      else printVerified(found)
      if (options.repair && !options.json && pushed === 0) note(idleText(first))
      if (!options.repair && repairableIn(found).length > 0) {
        note(`  → ${asTyped('verify --repair', options)} pushes again what is missing or shown otherwise`)
      }
      if (found.some(isAmiss)) ended(exitCodes.incomplete)
    })
}

function rangeOf({ config, time }: AppContext, options: VerifyOptions): { readonly from: Hour; readonly to: Hour } {
  const nowMs = time.nowMs()
  const from = options.from === undefined ? hourAt(nowMs - config.outbox.keepMs) : parseHour(options.from)
  const to = options.to === undefined ? hourAt(nowMs) : parseHour(options.to)
  demandOrder({ from, to })
  return { from, to }
}

async function verified({ context, outbox, protocolIds, from, to }: VerifyDeps): Promise<readonly Verified[]> {
  const stored = outbox ? await storedBetween(outbox.operators, from, to) : []
  const listings = await askService(context, protocolIds)
  return protocolIds.map((protocolId): Verified => {
    const listing = listings.get(protocolId)
    if (listing?.kind !== 'read') {
      return { protocolId, kind: 'unreadable', reason: listing?.reason ?? 'it was not asked' }
    }
    const own = stored.filter(metric => metric.protocolId === protocolId)
    return { protocolId, kind: 'compared', ...compare(own, listing.listed, to) }
  })
}

async function storedBetween(operators: OperatorStore, from: Hour, to: Hour): Promise<StoredMetric[]> {
  const found: StoredMetric[] = []
  for (let at = from; at <= to; at = hourAfter(at, hoursAtOnce)) {
    const last = hourAfter(at, hoursAtOnce - 1)
    for (const metric of await operators.metrics(at, last < to ? last : to)) found.push(metric)
  }
  return found
}

/** Differences that a push can mend. */
function repairableIn(found: readonly Verified[]): { readonly id: MetricId; readonly hour: Hour }[] {
  return found.flatMap(one => {
    const differences = one.kind === 'compared' ? one.differences : []
    return differences.flatMap(({ kind, id, hour }) => (kind === 'unknown' ? [] : { id: id as MetricId, hour }))
  })
}

const isUnreadable = ({ kind }: Verified) => kind === 'unreadable'

/** Why a repair pushed nothing. */
function idleText(found: readonly Verified[]): string {
  const unread = found.filter(isUnreadable).map(({ protocolId }) => protocolId)
  if (unread.length === 0) return 'nothing to push again'
  const others = found.length > unread.length ? '; name other protocols to repair those alone' : ''
  return `nothing is pushed while the service's answer about ${unread.join(', ')} cannot be read${others}`
}

/** @returns how many metrics were made due again; none while an answer cannot be read */
async function repair(context: AppContext, outbox: Outbox, found: readonly Verified[]): Promise<number> {
  if (found.some(isUnreadable)) return 0
  const due = await outbox.operators.resend(repairableIn(found))
  if (due === 0) return 0
  note(`${counted(due, 'metric')} pushed again`)
  await deliverNow(context, outbox)
  return due
}

function isAmiss(one: Verified): boolean {
  return one.kind === 'unreadable' || one.differences.length > 0
}
