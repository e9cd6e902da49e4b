import { hourAt } from '../../../../src/model/hour.ts'
import { syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { haltSeconds, type SyntheticKind, syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'
import { coldBackfill, type LookedUp, live } from '../../../chain/support/synthetic-looked-up.ts'
import { randomPlaces, SyntheticScene } from '../../../chain/support/synthetic-reader.ts'
import type { Figure } from '../../figures.ts'

const seed = 4
const delayMs = 20
const placesEach = 9
const hoursEach = 100

interface Aim {
  readonly what: string
  readonly roundTrips: number
  readonly calls: number
}

const aims: Readonly<Record<SyntheticKind, Aim>> = {
  slots: { what: '12 s, 1 % missed', roundTrips: 0.05, calls: 5 },
  bumpy: { what: 'bumpy', roundTrips: 0.1, calls: 8 },
  random: { what: 'random 13.3 s', roundTrips: 0.1, calls: 8 },
  fast: { what: '4 a second', roundTrips: 0.25, calls: 16 },
  uneven: { what: '4 a second, unevenly', roundTrips: 0.25, calls: 16 },
}

/** Cost of finding the as-of block of an hour, at several random places of each archive. */
export async function* lookingUp(): AsyncGenerator<Figure> {
  yield* liveHours()
  for (const kind of Object.keys(aims) as SyntheticKind[]) yield* backfilled(kind)
}

async function* liveHours(): AsyncGenerator<Figure> {
  const archive = syntheticArchive(syntheticKinds.slots(), { delayMs })
  await using scene = await SyntheticScene.start(archive)
  const places = randomPlaces(archive, 3, hoursEach, seed)
  for (const asking of ['past-the-hour', 'at-the-hour'] as const) {
    const found: LookedUp[] = []
    for (const from of places) found.push(await live(scene, from, hoursEach, asking))
    yield* figures(`live, asked ${asking.replaceAll('-', ' ')}, 12 s, 1 % missed`, found, { roundTrips: 2, calls: 4 })
  }
}

async function* backfilled(kind: SyntheticKind): AsyncGenerator<Figure> {
  const archive = syntheticArchive(syntheticKinds[kind](), { delayMs })
  await using scene = await SyntheticScene.start(archive)
  const places = randomPlaces(archive, placesEach, hoursEach, seed)
  // One place of the bumpy chain has the halt in it.
  if (kind === 'bumpy') places.push(hourAt(haltSeconds * 1_000 - (hoursEach / 2) * 3_600_000))
  const found: LookedUp[] = []
  for (const from of places) found.push(await coldBackfill(scene, from, hoursEach))
  yield* figures(`backfill, ${aims[kind].what}`, found, aims[kind])
}

function* figures(
  what: string,
  found: readonly LookedUp[],
  { roundTrips, calls }: Pick<Aim, 'roundTrips' | 'calls'>,
): Generator<Figure> {
  yield {
    what: `${what}: wrong blocks`,
    values: [found.reduce((sum, { wrong }) => sum + wrong, 0)],
    target: { atMost: 0 },
  }
  const trips = found.map(({ roundTripsAnHour }) => roundTripsAnHour)
  yield { what: `${what}: round trips an hour`, values: trips, target: { atMost: roundTrips } }
  yield { what: `${what}: calls an hour`, values: found.map(one => one.callsAnHour), target: { atMost: calls } }
}
