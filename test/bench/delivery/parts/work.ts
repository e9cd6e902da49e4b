import { batchMetricsMax, dueListMax } from '../../../../src/model/limits.ts'
import type { Metric } from '../../../../src/model/metric.ts'
import type { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import type { Figure } from '../../figures.ts'
import { bench, hourOf, metricsAnHour } from '../metrics.ts'
import { Place } from '../place.ts'
import { openOutbox, storeHours } from '../store.ts'

const runs = 9
const hoursARun = 50

/** CPU time of the outbox's own work, since the clock of a busy machine says little. */
export async function* working(): AsyncGenerator<Figure> {
  await using place = new Place()
  const outbox = openOutbox(place.file('outbox.db'), (runs + 1) * hoursARun)
  await once(outbox, 0)
  const all: Awaited<ReturnType<typeof once>>[] = []
  for (let run = 1; run <= runs; run += 1) all.push(await once(outbox, run))
  outbox.close()
  for (const work of ['store', 'read', 'record'] as const) {
    const what = { store: 'store', read: 'read as due', record: `record as delivered, ${batchMetricsMax} a commit,` }[
      work
    ]
    yield { what: `CPU to ${what} 1,000 metrics`, values: all.map(one => one[work]), unit: ' µs' }
  }
}

async function once(outbox: SqliteOutbox, run: number) {
  const [store] = await cpuOf(() => storeHours(outbox, run * hoursARun, hoursARun))
  let [read, record] = [0, 0]
  for (;;) {
    const [readUs, page] = await cpuOf(() => nextPage(outbox, run))
    read += readUs
    if (page.length === 0) return { store, read, record }
    const [recordUs] = await cpuOf(() => deliver(outbox, page))
    record += recordUs
  }
}

function nextPage(outbox: SqliteOutbox, run: number): Promise<readonly Metric[]> {
  const latest = hourOf((run + 1) * hoursARun)
  return outbox.delivery.due({ protocolIds: [bench.protocolId], newestFirstFrom: latest, latest }, dueListMax)
}

async function deliver(outbox: SqliteOutbox, page: readonly Metric[]): Promise<void> {
  for (let at = 0; at < page.length; at += batchMetricsMax) {
    const delivered = page.slice(at, at + batchMetricsMax)
    await outbox.delivery.recordVerdicts({ delivered, dead: [], warnings: [] }, hourOf(0))
  }
}

/** @returns microseconds for 1,000 metrics of a run, and what the work gave */
async function cpuOf<T>(work: () => Promise<T>): Promise<[number, T]> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  return [((user + system) * 1_000) / (hoursARun * metricsAnHour), result]
}
