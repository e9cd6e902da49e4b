import { hourNumber } from '../../../../src/model/hour.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { type Figure, inPairs } from '../../figures.ts'
import { bench, hourOf, metricsAnHour, metricsOf } from '../metrics.ts'
import { Place, startSink } from '../place.ts'
import type { OnDisk } from '../roles/disk.ts'
import type { Stalled } from '../roles/stall.ts'
import { openOutbox, storeHour } from '../store.ts'

const runs = 7
const hoursARun = 100
const hoursOnDisk = 200
const stallRuns = 5
const stallHours = 100

/** Cost of storing, in time, on disk, and for everything else that waits for the event loop. */
export async function* storing(): AsyncGenerator<Figure> {
  yield* againstBareLoop()
  yield* onDisk()
  yield* stalls()
}

async function* againstBareLoop(): AsyncGenerator<Figure> {
  await using place = new Place()
  const outbox = openOutbox(place.file('outbox.db'), (runs + 1) * hoursARun + 1)
  await storeHour(outbox, 0)
  const insert = bareInsert(place.file('bare.db'))
  const next = { ours: 1, bare: 1 }
  const perSecond = async (way: keyof typeof next, store: (hour: number) => Promise<void> | void) => {
    const startMs = performance.now()
    for (const until = next[way] + hoursARun; next[way] < until; next[way] += 1) await store(next[way])
    return (hoursARun * metricsAnHour * 1_000) / (performance.now() - startMs)
  }
  const pairs = await inPairs(
    runs,
    () => perSecond('ours', hour => storeHour(outbox, hour)),
    () => perSecond('bare', insert.hour),
  )
  outbox.close()
  insert.close()
  yield { what: 'stored a second, bare loop', values: pairs.map(([, bare]) => bare), unit: ' rows' }
  const target = { atLeast: 100_000 }
  yield { what: 'stored a second', values: pairs.map(([ours]) => ours), unit: ' rows', target }
  yield { what: 'stored a second, of the bare loop', values: pairs.map(([a, b]) => a / b) }
}

/** A table that holds a row for each metric. */
const bareTable = `CREATE TABLE bare (hour INTEGER, metric INTEGER, protocol INTEGER, state INTEGER, value REAL, PRIMARY KEY (hour, metric)) STRICT, WITHOUT ROWID`

/** A loop that inserts a row for each metric, in the same commits, and does nothing else. */
function bareInsert(file: string) {
  const database = openDatabase(file, { version: 1, sql: bareTable })
  const insert = database.prepare('INSERT INTO bare (hour, metric, protocol, state, value) VALUES (?, ?, 1, 0, ?)')
  const insertHour = database.transaction((hour: number) => {
    for (const [index, { value }] of metricsOf(bench, hour).entries())
      insert.run(hourNumber(hourOf(hour)), index + 1, value)
  }).immediate
  return {
    hour: (hour: number) => insertHour(hour),
    close: () => database.close(),
  }
}

async function* onDisk(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const { due, delivered } = await place.run<OnDisk>('disk.ts', place.file('outbox.db'), sink.url, hoursOnDisk)
  yield { what: 'bytes a metric on disk, due', values: [due], target: { atMost: 64 } }
  yield { what: 'bytes a metric on disk, delivered', values: [delivered], target: { atMost: 64 } }
}

async function* stalls(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const stalled: Stalled[] = []
  for (let run = 0; run < stallRuns; run += 1) {
    stalled.push(await place.run('stall.ts', place.file(`outbox-${run}.db`), sink.url, stallHours))
  }
  yield { what: 'event loop stands still, p99', values: stalled.map(({ p99Ms }) => p99Ms), unit: ' ms' }
  yield { what: 'event loop stands still, longest', values: stalled.map(({ maxMs }) => maxMs), unit: ' ms' }
}
