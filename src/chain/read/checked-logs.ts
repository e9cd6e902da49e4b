import type { Hex, LogFilter } from '../../model/block.ts'
import type { RawLog } from '../log-list.ts'
import { type NodeLog, parseLogs } from '../shapes.ts'
import type { LogRange } from './log-ranges.ts'

/** Conditions that an answer to `eth_getLogs` must meet. */
export interface LogQuestion {
  readonly range: LogRange
  readonly filter: LogFilter
  /** Hashes of blocks, as far as known. */
  readonly hashes: ReadonlyMap<bigint, Hex>
}

/** Logs of a node that are those asked for. */
export interface CheckedLogs {
  /** Oldest first. */
  readonly logs: readonly NodeLog[]
  /** Mistakes that do no harm, in words that follow the node's name. */
  readonly remarks: readonly string[]
}

/**
 * Validates a node's logs. Logs that a reorg has removed, and repetitions, are left out: what is asked for is what the
 * chain has. Pure.
 *
 * @returns the mistake, in words that follow the node's name, when they are not the logs asked for
 */
export function checkedLogs(result: unknown, question: LogQuestion): CheckedLogs | string {
  const answered = parseLogs(result)
  if (!answered) return 'answered something other than logs'
  const kept = answered.filter(({ removed }) => !removed)
  const sorted = kept.sort(
    (a, b) =>
      Number(a.blockNumber - b.blockNumber) ||
      a.logIndex - b.logIndex ||
      (a.transactionHash < b.transactionHash ? -1 : Number(a.transactionHash > b.transactionHash)),
  )
  const fits = fitting(question.filter)
  const logs: NodeLog[] = []
  for (const log of sorted) {
    const before = logs.at(-1)
    if (before && isRepeated(before, log)) continue
    const mistake = mistakeIn(log, question, fits) ?? mistakeBetween(before, log)
    if (mistake) return mistake
    logs.push(log)
  }
  const isSome = { removed: kept.length < answered.length, repeated: logs.length < kept.length }
  const remarks = [
    ...(isSome.removed ? ['answers logs that a reorg has removed: they are left out'] : []),
    ...(isSome.repeated ? ['answers logs twice: they count once'] : []),
  ]
  return { logs, remarks }
}

/** Whether two neighbours are one log, byte for byte. */
function isRepeated(before: NodeLog, log: NodeLog): boolean {
  if (before.logIndex !== log.logIndex || before.blockNumber !== log.blockNumber) return false
  const text = ({ blockNumber, ...fields }: NodeLog) =>
    JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))).toLowerCase()
  return text(before) === text(log)
}

function mistakeIn(log: NodeLog, { range, hashes }: LogQuestion, fits: (log: RawLog) => boolean): string | undefined {
  const { blockNumber, blockHash } = log
  const { from, to } = range
  if (blockNumber < from || blockNumber > to)
    return `answered a log of block ${blockNumber} when asked for ${from} to ${to}`
  const hash = hashes.get(blockNumber)
  if (hash && blockHash && blockHash.toLowerCase() !== hash.toLowerCase()) {
    return `answered a log of another block ${blockNumber} than the chain’s`
  }
  return fits(log) ? undefined : `answered a log of block ${blockNumber} that was not asked for`
}

/**
 * Mistake in the order of two neighbours. Indices alone do not identify logs: on a few chains each transaction counts
 * from 0.
 */
function mistakeBetween(before: NodeLog | undefined, log: NodeLog): string | undefined {
  if (before?.blockNumber !== log.blockNumber) return undefined
  if (before.blockHash !== log.blockHash) return `answered logs of two blocks ${log.blockNumber}`
  const isSame = before.logIndex === log.logIndex && before.transactionHash === log.transactionHash
  return isSame ? `answered a log of block ${log.blockNumber} twice` : undefined
}

/** A function that tells whether a log matches a filter. */
export function fitting({ address, topics }: LogFilter): (log: RawLog) => boolean {
  const addresses = setOf(address)
  const sets = topics.map(topic => (topic === null ? undefined : setOf(topic)))
  return log => {
    if (addresses && !addresses.has(log.address.toLowerCase())) return false
    return sets.every((set, index) => !set || set.has(log.topics[index]?.toLowerCase() ?? ''))
  }
}

/** The accepted values; undefined when all are. */
function setOf(one: Hex | readonly Hex[]): ReadonlySet<string> | undefined {
  const list = typeof one === 'string' ? [one] : one
  return list.length === 0 ? undefined : new Set(list.map(text => text.toLowerCase()))
}
