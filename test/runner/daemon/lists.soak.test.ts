import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../src/model/block.ts'
import type { RememberedList } from '../../../src/model/list-memory.ts'
import { Fortune } from '../../simulation/chance.ts'
import { repetitions } from '../../support/soak.ts'
import { below, Contract, hoursCount, kinds, World } from './list-world.ts'

/** Damage to the memory while nothing runs. */
const damages: Readonly<Record<string, (world: World, kept: RememberedList) => RememberedList | undefined>> = {
  nothing: (_world, kept) => kept,
  'it is lost': () => undefined,
  'it is cut': (_world, kept) => ({ ...kept, items: kept.items.slice(0, -1) }),
  'it is of another configuration': (_world, kept) => ({ ...kept, digest: 'of another' }),
}

/** Walks through the hours at random, with everything that may happen on the way, and holds each list against the contract. */
async function walk(kind: keyof typeof kinds, seed: number): Promise<World> {
  const fortune = new Fortune(seed)
  const onlyGrows = kind.includes('only')
  // Of more than 1,000 that only grow, not all are read again.
  const size = seed % 3 === 0 ? fortune.whole(900, 5_000) : fortune.whole(1, 60)
  const world = new World(new Contract(1, fortune, size, onlyGrows), kinds[kind])
  for (let newest = 0, name = 2; newest < hoursCount; ) {
    newest = Math.min(hoursCount, newest + 1 + (below(fortune, 3) === 0 ? below(fortune, 100) : below(fortune, 4)))
    await world.pass(newest)
    const places = Array.from({ length: 1 + below(fortune, 4) }, () => below(fortune, newest + 1))
    const order =
      [
        [newest, ...places],
        [...places, newest],
        [...places.sort((a, b) => a - b), newest],
      ][below(fortune, 3)] ?? []
    if (below(fortune, 2) === 0) {
      const read = await Promise.all(order.map(place => world.read(place)))
      for (const [index, place] of order.entries()) hold(world, place, read[index])
    } else for (const place of order) hold(world, place, await world.read(place))

    if (below(fortune, 6) === 0) {
      // A reorg, also one that is deeper than what counts as final.
      const from = Math.max(1, newest - below(fortune, 5))
      world.contract = Contract.branch(world.contract, from, name, fortune, size, onlyGrows)
      world.branch = { from, name: name.toString(16).slice(-1) }
      name += 1
      // It is asked for each hour.
      newest = Math.min(hoursCount, newest + 1)
      await world.pass(newest)
    }
    if (below(fortune, 4) > 0) continue
    const [, damage] = Object.entries(damages)[below(fortune, 4)] ?? []
    const kept = (await world.keeper.all())[0]
    const left = kept && damage?.(world, kept)
    world.keeper.lists.clear()
    if (left) world.keeper.lists.set(left.name, left)
    world.start()
  }
  return world
}

function hold(world: World, place: number, items: readonly Hex[] | undefined): void {
  const [found, expected] = [new Set(items), world.expected(place)]
  const missing = expected.filter(item => !found.has(item)).length
  expect([place, missing, found.size - (expected.length - missing)]).toEqual([place, 0, 0])
}

describe('lists of a contract that changes at random', () => {
  it.each(Object.keys(kinds) as (keyof typeof kinds)[])('are at each hour what it says: items %s', async kind => {
    for (let seed = 1; seed <= repetitions({ test: 2, soak: 400 }); seed += 1) {
      await walk(kind, seed).catch(error => {
        throw new Error(`seed ${seed}: ${error.message}`, { cause: error })
      })
    }
  })
})
