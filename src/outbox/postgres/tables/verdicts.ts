import { hourNumber } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { DeadLetter } from '../../contract/metrics.ts'
import type { MetricVerdicts } from '../../contract/outcome.ts'
import { isSameValue } from '../../rows/run-values.ts'
import { stateNumber } from '../../rows/states.ts'
import type { Transaction } from '../connection/transaction.ts'
import { listedCorrections, removeCorrections } from './corrections.ts'
import { DetainedChanges } from './detained-changes.ts'
import { EditedRuns, type NumbersAtHour } from './edited-runs.ts'
import { lockProtocols } from './locks.ts'
import { metricNumbers, type NumberedMetric } from './metric-numbers.ts'
import { TallyChanges } from './tally-changes.ts'
import { recordWarnings } from './warnings.ts'

/** A metric with its number and that of its hour, in hours since 1970. */
interface JudgedMetric extends NumberedMetric {
  readonly metric: Metric
  readonly hour: number
  /** Why the service refused it; absent when it has it. */
  readonly letter?: DeadLetter
}

/** Records verdicts on due metrics; metrics in other states do not change, nor do those corrected since they were sent. */
export async function recordVerdicts(
  transaction: Transaction,
  { delivered, dead, warnings }: MetricVerdicts,
  nowMs: number,
): Promise<void> {
  const asked = [...delivered.map(metric => ({ metric })), ...dead.map(letter => ({ metric: letter.metric, letter }))]
  const metrics = asked.map(({ metric }) => metric)
  const [, known] = await Promise.all([
    lockProtocols(
      transaction,
      metrics.map(({ protocolId }) => protocolId),
    ),
    metricNumbers(transaction, metrics),
  ])
  const judged = asked.flatMap((one): JudgedMetric[] => {
    const own = known.get(one.metric.id)
    return own ? [{ ...one, ...own, hour: hourNumber(one.metric.hour) }] : []
  })
  if (judged.length > 0) await judge(transaction, judged, nowMs)
  recordWarnings(transaction, warnings, nowMs)
}

async function judge(transaction: Transaction, judged: readonly JudgedMetric[], nowMs: number): Promise<void> {
  const ranges = together(judged)
  const [runs, listed] = await Promise.all([
    EditedRuns.loaded(transaction, ranges),
    listedCorrections(transaction, ranges),
  ])
  const tally = new TallyChanges()
  const isListed = ({ hour, number }: JudgedMetric) => listed.has(`${hour} ${number}`)
  const isCurrent = ({ hour, number, metric }: JudgedMetric) =>
    isSameValue(runs.at(hour, number)?.value ?? metric.value, metric.value)
  const current = listed.size === 0 ? judged : judged.filter(one => !isListed(one) || isCurrent(one))
  for (const { protocol, ...range } of together(current.filter(({ letter }) => !letter))) {
    const moved = runs.move(range, stateNumber('due'), { state: stateNumber('delivered'), deliveredMs: nowMs })
    tally.move(protocol, 'due', 'delivered', range.hour, moved)
  }
  const detained = new DetainedChanges()
  const killed = current.filter(({ letter, hour, number, protocol }) => {
    const range = { hour, from: number, to: number }
    if (!letter || runs.move(range, stateNumber('due'), { state: stateNumber('dead') }) === 0) return false
    const { reason, status, attempts } = letter
    tally.move(protocol, 'due', 'dead', hour, 1)
    detained.add({ hour, metric: number, kind: 'refused', reason, status, attempts, sinceMs: nowMs })
    return true
  })
  const isDelivered = ({ hour, number, letter }: JudgedMetric) =>
    !letter && runs.at(hour, number)?.state === stateNumber('delivered')
  removeCorrections(transaction, [...current.filter(isDelivered), ...killed].filter(isListed))
  runs.write(transaction)
  tally.write(transaction)
  detained.write(transaction)
}

/** Joins neighbours of one protocol; the numbers of a batch are mostly consecutive. */
function together(metrics: readonly JudgedMetric[]): (NumbersAtHour & { readonly protocol: number })[] {
  const all: { hour: number; from: number; to: number; protocol: number }[] = []
  for (const { hour, number, protocol } of metrics) {
    const last = all.at(-1)
    if (last?.hour === hour && last.to + 1 === number && last.protocol === protocol) last.to = number
    else all.push({ hour, from: number, to: number, protocol })
  }
  return all
}
