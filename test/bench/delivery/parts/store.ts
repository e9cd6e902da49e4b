import { outboxSchema } from '../../../../src/outbox/sqlite/tables/schema.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { type Figure, inPairs } from '../../figures.ts'
import { hourOf, metricsAnHour } from '../metrics.ts'
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
  await insert.start()
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
  yield { what: 'stored a second', values: pairs.map(([ours]) => ours), unit: ' rows' }
  yield { what: 'stored a second, of the bare loop', values: pairs.map(([a, b]) => a / b), target: { atLeast: 0.9 } }
}

/** A loop that inserts rows like those the outbox made of its first hour, into the same tables, in the same commits. */
function bareInsert(file: string) {
  const first = openOutbox(file, 1)
  const database = openDatabase(file, outboxSchema)
  let insertHour: (hour: number) => void = () => {}
  return {
    async start() {
      await storeHour(first, 0)
      first.close()
      const rows = database.prepare<[], Record<string, number>>('SELECT * FROM outbox').all()
      const columns = Object.keys(rows[0] ?? {})
      const firstHour = hourOf(0) / 3_600_000
      const insert = database.prepare(
        `INSERT INTO outbox (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      )
      const hourAt = columns.indexOf('hour')
      const values = rows.map(row => columns.map(column => row[column] ?? null))
      insertHour = database.transaction((hour: number) => {
        for (const row of values) insert.run(row.with(hourAt, firstHour + hour))
      }).immediate
    },
    hour: (hour: number) => insertHour(hour),
    close: () => database.close(),
  }
}

async function* onDisk(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const { due, delivered, rowsMax } = await place.run<OnDisk>('disk.ts', place.file('outbox.db'), sink.url, hoursOnDisk)
  yield { what: 'bytes a metric on disk, due', values: [due], target: { atMost: 64 } }
  yield { what: 'bytes a metric on disk, delivered', values: [delivered], target: { atMost: 64 } }
  yield { what: 'metrics of the largest commit', values: [rowsMax], target: { atMost: 1_000 } }
}

async function* stalls(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const stalled: Stalled[] = []
  for (let run = 0; run < stallRuns; run += 1) {
    stalled.push(await place.run('stall.ts', place.file(`outbox-${run}.db`), sink.url, stallHours))
  }
  const target = { atMost: 15 }
  yield { what: 'event loop stands still, p99', values: stalled.map(({ p99Ms }) => p99Ms), unit: ' ms', target }
  yield { what: 'event loop stands still, longest', values: stalled.map(({ maxMs }) => maxMs), unit: ' ms' }
}
