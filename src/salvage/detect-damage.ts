import { existsSync, statSync } from 'node:fs'
import { isDamage } from '../sqlite/damage.ts'
import { openReadOnly } from '../sqlite/database.ts'
import { stampOf } from './files.ts'
import { openLog } from './pages/log-file.ts'
import { readWal, type Wal } from './pages/wal.ts'

/** Checks the file's length and its log. @returns the damage; `undefined` when there is none */
export function quickDamageOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  return emptied(file) ?? brokenLog(file)
}

/** Damage of the log: a few milliseconds, or a few seconds for several GiB. */
function brokenLog(file: string): string | undefined {
  const stamp = stampOf(file)
  if (!logOf(file).isDamaged) return undefined
  // While another process writes, parts that were read may be of different ages.
  if (!logOf(file).isDamaged || stampOf(file) !== stamp) return undefined
  return 'its log holds commits that SQLite would not see'
}

function logOf(file: string): Wal {
  const log = openLog(file)
  try {
    return readWal(log)
  } finally {
    log.close()
  }
}

function emptied(file: string): string | undefined {
  const { size, mtimeMs, birthtimeMs } = statSync(file)
  if (size > 0) return undefined
  const hasLog = logOf(file).frames.length > 0
  // A new, unwritten file has equal birth and change times; a truncated one has not.
  return hasLog || (birthtimeMs > 0 && mtimeMs - birthtimeMs > 1) ? 'the file was emptied' : undefined
}

/**
 * Reads every page: 50 ms for 1,000,000 metrics.
 *
 * @param known version of the tables
 * @returns the damage; `undefined` when there is none
 */
export function brokenPages(file: string, known: number): string | undefined {
  const database = openReadOnly(file)
  try {
    const found = database.pragma('quick_check(1)', { simple: true })
    if (found !== 'ok') return String(found)
    const version = database.pragma('user_version', { simple: true })
    // A file of another version has other tables; it is refused when it is opened.
    if (version !== known) return undefined
    // A due metric in an hour without a count is never delivered; a quick check does not compare the two.
    const isAsCounted = database.prepare<[], number>(countsAgree).pluck().get()
    if (isAsCounted !== 1) return 'the due metrics are not as many as were counted'
    const isTwice = database.prepare<[], number>(runsOverlap).pluck().get()
    return isTwice === undefined ? undefined : 'a metric and hour is stored twice'
  } catch (error) {
    if (isDamage(error)) return error instanceof Error ? error.message : String(error)
    throw error
  } finally {
    database.close()
  }
}

const countsAgree = `
  WITH found AS MATERIALIZED (SELECT hour, protocol, sum(metrics) AS metrics FROM outbox WHERE state = 0 GROUP BY hour, protocol)
  SELECT NOT EXISTS (SELECT hour, protocol, metrics FROM found EXCEPT SELECT hour, protocol, metrics FROM due_count)
    AND (SELECT count(*) FROM found) = (SELECT count(*) FROM due_count)`

const runsOverlap = `
  SELECT 1 FROM (SELECT first, lag(first + metrics) OVER (PARTITION BY hour ORDER BY first) AS free FROM outbox) WHERE first < free LIMIT 1`
