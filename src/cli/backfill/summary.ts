import type { CallCounts } from '../../chain/endpoint/call-meter.ts'
import type { BackfillEnd } from '../../intake/backfill/backfill.ts'
import type { CollectorCounts, Reason } from '../../intake/backfill/work.ts'
import { faultLine } from '../../model/fault.ts'
import { hourText } from '../../model/hour.ts'
import { printTable } from '../table.ts'
import { counted, cut, grouped, print, printJson } from '../terminal.ts'
import { callsIn } from './cost.ts'
import type { HourSpan } from './options.ts'
import { durationText } from './progress.ts'

/** Input for the summary of a backfill. */
export interface Summary {
  readonly range: HourSpan
  readonly end: BackfillEnd
  readonly counts: CallCounts
  /** Pushes of this command, attempts included. */
  readonly pushes: number
  /** Duration of the backfill, in milliseconds. */
  readonly durationMs: number
  /** Metrics waiting for delivery. */
  readonly due: number
}

/** Width of a line when stdout is not a terminal, in characters. */
const plainLineChars = 120

/** Characters shown of any reason, at least. */
const reasonCharsMin = 40

const lineChars = () => process.stdout.columns || plainLineChars

/** Prints the summary as JSON. */
export function printSummaryJson({ range, end, counts, pushes, durationMs, due }: Summary): void {
  printJson({
    from: hourText(range.from),
    to: hourText(range.to),
    collectors: end.collectors.map(({ collector, done, alreadyCollected, leftToDaemon, ...rest }) => {
      return { collector, done, there: alreadyCollected, daemons: leftToDaemon, ...rest }
    }),
    failures: end.failures.map(({ fault, count, spans }) => ({
      code: fault.code,
      reason: fault.message,
      facts: fault.facts,
      ...(fault.fix === undefined ? {} : { fix: fault.fix }),
      count,
      ...(spans[0] && { example: { collector: spans[0].collector, hour: hourText(spans[0].from) } }),
      hours: spans.map(({ collector, from, to }) => ({ collector, from: hourText(from), to: hourText(to) })),
    })),
    early: end.early.map(({ fault, count }) => ({ reason: fault.message, facts: fault.facts, count })),
    left: end.left,
    ...(end.stopped ? { stopped: faultLine(end.stopped.fault) } : {}),
    calls: counts.calls,
    requests: counts.requests,
    pushes,
    due,
    durationMs,
  })
}

/** Prints the summary for a person. */
export function printSummary({ end, counts, pushes, durationMs }: Summary): void {
  const columns = columnsOf(end.collectors)
  printTable(
    ['collector', ...columns.map(({ head }) => head)],
    end.collectors.map(row => [row.collector, ...columns.map(({ of }) => grouped(row[of]))]),
    columns.map(({ head }) => head),
  )
  if (end.failures.length > 0) printFailures(end.failures)
  print(`\n${callsText(counts)}, ${counted(pushes, 'push', 'pushes')}, ${durationText(durationMs)}`)
}

/** `1,234 RPC calls (1,000 eth_call, 234 eth_getBlockByNumber) in 56 HTTP requests`. */
export function callsText(counts: CallCounts): string {
  const byMethod = Object.entries(counts.calls).sort(([, one], [, other]) => other - one)
  const methods = byMethod.map(([method, count]) => `${grouped(count)} ${method}`).join(', ')
  return `${counted(callsIn(counts), 'RPC call')}${methods === '' ? '' : ` (${methods})`} in ${counted(counts.requests, 'HTTP request')}`
}

interface Column {
  readonly head: string
  readonly of: Exclude<keyof CollectorCounts, 'collector'>
  /** Left out when it is 0 for all collectors. */
  readonly isRare?: true
}

const allColumns: readonly Column[] = [
  { head: 'hours done', of: 'done' },
  { head: 'already there', of: 'alreadyCollected' },
  { head: 'the daemon’s', of: 'leftToDaemon', isRare: true },
  { head: 'failed', of: 'failed' },
  { head: 'not possible', of: 'impossible' },
  { head: 'new metrics', of: 'added' },
  { head: 'corrected', of: 'corrected' },
]

function columnsOf(rows: readonly CollectorCounts[]): readonly Column[] {
  return allColumns.filter(({ of, isRare }) => !isRare || rows.some(row => row[of] > 0))
}

/**
 * Prints the reasons of failures, cut so that a row stays one line of the terminal; `--json` has all of their words.
 */
function printFailures(failures: readonly Reason[]): void {
  const rows = failures.map(({ fault, count, spans }) => ({
    count: grouped(count),
    reason: faultLine(fault),
    example: exampleOf(spans),
    hours: spansText(spans),
  }))
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length))
  const others = widest(['failed', ...rows.map(({ count }) => count)]) + widest(rows.map(({ example }) => example)) + 4
  const charsMax = Math.max(reasonCharsMin, lineChars() - others)
  print('')
  printTable(
    ['failed', 'reason', 'example'],
    rows.map(({ count, reason, example }) => [count, cut(reason, charsMax), example]),
    ['failed'],
  )
  if (rows.some(({ reason }) => reason.length > charsMax)) print('whole reasons: --json')
  for (const { count, hours } of rows) print(`hours of these ${count}: ${hours}`)
  if (failures.some(isPruned)) {
    print('to do: an archive node is needed, which keeps old state: put one under rpc:, and run this again')
  }
  const rest = failures.filter(failure => !isPruned(failure))
  for (const fix of new Set(rest.flatMap(({ fault }) => fault.fix ?? []))) print(`to do: ${fix}`)
}

const isPruned = ({ fault }: Reason) => fault.code === 'chain-state-missing'

function exampleOf([first]: Reason['spans']): string {
  return first ? `${first.collector} ${hourText(first.from)}` : ''
}

/** Ranges shown of a reason; further ones are counted. */
const rangesShown = 3

/** The first range of failed hours, and how many more there are. */
function spansText(spans: Reason['spans']): string {
  const shown = spans.slice(0, rangesShown).map(({ collector, from, to }) => {
    return `${collector} ${from === to ? hourText(from) : `${hourText(from)} to ${hourText(to)}`}`
  })
  const more = spans.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${counted(more, 'other range')} (--json)`] : [])].join(', ')
}
