import type { ServiceClient } from '../../../src/edge/service-client.ts'
import { bodyBytes } from '../../../src/model/body-bytes.ts'
import { hourFromNumber, hourText } from '../../../src/model/hour.ts'
import { batchMetricsMax } from '../../../src/model/limits.ts'
import { SpareMemory } from '../../../src/model/spare-memory.ts'
import { valuesOf } from '../../../src/outbox/rows/run-values.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase, unsynced } from '../../../src/sqlite/database.ts'
import { bench, inFlight, metricsOf } from './metrics.ts'

type Run = readonly [hour: number, first: number, bytes: Buffer]

/**
 * Delivers a file of full runs with nothing but what must be done: each run is read, posted, and marked in a commit with
 * those answered in the same turn, which its lane waits for. No metric, no retry, no verdict, no quarantine.
 */
export async function deliverLean(file: string, client: ServiceClient, key: string): Promise<void> {
  const database = openDatabase(file, outboxSchema)
  const runs = database
    .prepare<[number, number], Run>(
      `SELECT hour, first, metric_values FROM outbox WHERE (hour, first) > (?, ?) AND state = 0 ORDER BY hour, first LIMIT 5`,
    )
    .raw()
  const mark = database.prepare<[number, number]>(
    'UPDATE outbox SET state = 1 WHERE hour = ? AND first = ? AND state = 0',
  )
  const fewer = database.prepare<[number, number, number]>(
    'UPDATE due_count SET metrics = metrics - ? WHERE hour = ? AND metrics > ?',
  )
  const none = database.prepare<[number]>('DELETE FROM due_count WHERE hour = ?')
  const commit = unsynced(database, (answered: readonly Run[]) => {
    for (const [hour, first] of answered) mark.run(hour, first)
    for (const [hour, some] of Map.groupBy(answered, ([hour]) => hour)) {
      const metrics = some.length * batchMetricsMax
      if (fewer.run(metrics, hour, metrics).changes === 0) none.run(hour)
    }
  })
  const recorded = together(commit)
  const rests = metricsOf(bench, 0).map(({ id, protocolId, unit }) =>
    Buffer.from(`,${JSON.stringify({ id, protocolId, unit }).slice(1)}`),
  )
  let [page, at]: [Run[], Pick<Run, 0 | 1>] = [[], [0, 0]]
  const next = () => {
    if (page.length === 0) page = runs.all(at[0], at[1])
    at = page[0] ?? at
    return page.shift()
  }
  const never = new AbortController().signal
  const memory = new SpareMemory(inFlight)
  const lane = async () => {
    for (let run = next(); run; run = next()) {
      const body = bodyOf(run, rests, memory)
      const answer = await client.push(body, key, never)
      if (answer.kind !== 'answered' || answer.status !== 200) throw new Error('a lean push failed')
      memory.give(body)
      await recorded(run)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  database.close()
}

function bodyOf([hour, first, bytes]: Run, rests: readonly Uint8Array[], memory: SpareMemory): Uint8Array<ArrayBuffer> {
  const start = Buffer.from(`,{"timestamp":"${hourText(hourFromNumber(hour))}","value":`)
  const values = valuesOf(bytes)
  const own = rests.slice(first - 1, first - 1 + values.length)
  const restBytes = own.reduce((sum, { length }) => sum + length, 0)
  return bodyBytes([{ start, rests: own, restBytes }], values, length => memory.take(length))
}

/** Commits what came in one turn of the event loop together. */
function together(commit: (runs: readonly Run[]) => void): (run: Run) => Promise<void> {
  let waiting: { readonly run: Run; readonly resolve: () => void }[] = []
  const commitAll = () => {
    const all = waiting
    waiting = []
    commit(all.map(({ run }) => run))
    for (const { resolve } of all) resolve()
  }
  return run =>
    new Promise(resolve => {
      if (waiting.length === 0) setImmediate(commitAll)
      waiting.push({ run, resolve })
    })
}
