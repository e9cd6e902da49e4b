import { hourAfter, hoursFrom } from '../../../../src/model/hour.ts'
import { syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'
import { counted, type LookedUp, type LookUp } from '../../../chain/support/synthetic-looked-up.ts'
import { randomPlaces, SyntheticScene } from '../../../chain/support/synthetic-reader.ts'
import { Place } from '../../delivery/place.ts'
import type { Figure } from '../../figures.ts'
import { bisection } from '../bisection.ts'
import { sdkFolder, sdkLookUp } from '../sdk.ts'

const seed = 4
const places = 3

/** The same hours found by what others do. */
export async function* peers(): AsyncGenerator<Figure> {
  const archive = syntheticArchive(syntheticKinds.slots())
  // The SDK wants a head of now, and asks for nothing later.
  archive.head = archive.chain.asOf(Date.now() / 1_000)
  await using scene = await SyntheticScene.start(archive)
  yield* costs('plain bisection', scene, 20, bisection(scene.url))
  if (sdkFolder === undefined) return
  await using place = new Place()
  const sdk = sdkLookUp(sdkFolder, scene.url, place.folder)
  yield* costs('the best-known SDK', scene, 100, sdk.lookUp)
  sdk.close()
}

async function* costs(what: string, scene: SyntheticScene, hours: number, lookUp: LookUp): AsyncGenerator<Figure> {
  const found: LookedUp[] = []
  for (const from of randomPlaces(scene.archive, places, hours, seed)) {
    found.push(await counted(scene, hoursFrom(from, hourAfter(from, hours - 1)), lookUp))
  }
  yield { what: `${what}: wrong blocks of ${hours}`, values: found.map(({ wrong }) => wrong) }
  yield { what: `${what}: round trips an hour`, values: found.map(one => one.roundTripsAnHour) }
  yield { what: `${what}: calls an hour`, values: found.map(one => one.callsAnHour) }
}
