import { copyFileSync } from 'node:fs'
import type { Figure } from '../../figures.ts'
import { bench, metricsAnHour, neighbour, type Source } from '../metrics.ts'
import { Place, startSink } from '../place.ts'
import type { Backlogged } from '../roles/backlog.ts'
import { openOutbox, storeHours } from '../store.ts'

const runs = 5
const backlogHours = 1_000
/** Hours a run may store of its own; see `roles/backlog.ts`. */
const hoursARun = 70

/** Cost of a batch and its memory with much due, against with little. */
export async function* backlog(): AsyncGenerator<Figure> {
  await using place = new Place()
  const sink = await startSink(place)
  const files = { little: place.file('little.db'), much: place.file('much.db'), nextTo: place.file('nextTo.db') }
  const full = openOutbox(files.much, backlogHours)
  await storeHours(full, 0, backlogHours)
  full.close()
  copyFileSync(files.much, files.nextTo)
  let from = backlogHours
  const run = (name: keyof typeof files, source: Source): Promise<Backlogged> =>
    place.run('backlog.ts', files[name], sink.url, source.protocolId, from)
  const rounds: Record<keyof typeof files, Backlogged>[] = []
  for (let round = 0; round < runs; round += 1) {
    const [little, much] = [await run('little', bench), await run('much', bench)]
    rounds.push({ little, much, nextTo: await run('nextTo', neighbour) })
    from += hoursARun
  }
  const rows = (backlogHours * metricsAnHour).toLocaleString('en')
  const of = (name: keyof typeof files) => rounds.map(round => round[name].batchMs / round.little.batchMs)
  const grown = (name: keyof typeof files) => rounds.map(round => round[name].peakMb - round.little.peakMb)
  yield { what: 'a batch with 1,000 due', values: rounds.map(({ little }) => little.batchMs), unit: ' ms' }
  yield { what: `a batch with ${rows} due, of one with 1,000`, values: of('much'), target: { atMost: 1.2 } }
  yield { what: `a batch next to another's ${rows} due`, values: of('nextTo'), target: { atMost: 1.2 } }
  yield { what: `memory with ${rows} due, above 1,000`, values: grown('much'), unit: ' MB', target: { atMost: 30 } }
  yield { what: `memory next to another's ${rows} due`, values: grown('nextTo'), unit: ' MB', target: { atMost: 30 } }
}
