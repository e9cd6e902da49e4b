import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { Fortune } from '../../simulation/chance.ts'
import { hour as firstHour } from '../setup.ts'
import { Contract, kinds, World } from './list-world.ts'

/** A contract that adds items in most hours. @param kind of the list of it */
function world(kind: keyof typeof kinds = 'of an event'): World {
  return new World(new Contract(1, new Fortune(7), 3, true), kinds[kind])
}

/** Reads an hour, and holds it against the contract. */
async function readRight(of: World, place: number): Promise<void> {
  expect(new Set(await of.read(place)), `hour ${place}`).toEqual(new Set(of.expected(place)))
}

describe('what is remembered of a list', () => {
  it('is of final hours, where a node may leave something out; those after them are read with each hour', async () => {
    const of = world()
    await of.pass(10)
    await readRight(of, 10)
    expect(of.ran).toEqual([
      [10, undefined],
      [8, undefined],
      [10, 8],
    ])
    expect(of.keeper.lists.get('things')).toMatchObject({ items: of.expected(8) })
    await of.pass(11)
    await readRight(of, 11)
    expect(of.ran).toEqual([
      [11, 8],
      [9, 8],
      [11, 9],
    ])
  })

  it('is read once for all hours that are wanted at once', async () => {
    const of = world()
    await of.pass(60)
    await Promise.all([40, 7, 50, 23].map(place => readRight(of, place)))
    expect(of.ran.filter(([, from]) => from === undefined)).toHaveLength(2)
    await Promise.all([3, 49].map(place => readRight(of, place)))
    // Earlier hours are in it, by the blocks of their events.
    expect(of.ran).toEqual([
      [3, 50],
      [49, 50],
    ])
  })

  it('has what an hour had before it was final, where a node leaves it out later', async () => {
    const of = world()
    await of.pass(20)
    await readRight(of, 20)
    for (const item of of.expected(20)) of.leftOut.add(item)
    await of.pass(22)
    await readRight(of, 22)
    expect(of.warnings).toEqual([expect.stringContaining('leaves out what it has answered before')])
  })

  it('is mended by the piece of the past that is read again each day', async () => {
    const of = world()
    await of.pass(30)
    for (const item of of.expected(20).slice(-2)) of.leftOut.add(item)
    await of.read(30)
    of.leftOut.clear()
    await of.pass(31)
    expect(of.expected(31)).not.toHaveLength((await of.read(31)).length)
    await of.pass(56)
    await readRight(of, 56)
    expect(of.warnings).toEqual([expect.stringMatching(/^2 of its items had been left out by a node/)])
    of.start()
    await readRight(of, 56)
  })

  it.each(['of an event', 'by their place, of a contract that only adds'] as const)(
    'is dropped where its block is in the chain no more: items %s',
    async kind => {
      const of = world(kind)
      await of.pass(30)
      await readRight(of, 30)
      // The chain began again, with the same contract at the same address.
      of.contract = new Contract(2, new Fortune(9), 3, true)
      of.branch = { from: 0, name: 'b' }
      of.start()
      await readRight(of, 30)
      expect(of.warnings).toEqual([expect.stringContaining('is not in the chain any more')])
    },
  )

  it('is forgotten by a running daemon, too, where a person or another daemon forgot it', async () => {
    const of = world()
    await of.pass(30)
    for (const item of of.expected(3)) of.leftOut.add(item)
    await of.read(30)
    of.leftOut.clear()
    await of.keeper.forget('things')
    await of.pass(31)
    await readRight(of, 31)
  })

  it('is doubted once a day', async () => {
    const of = world()
    await of.pass(30)
    await of.read(30)
    expect([await of.lists.doubt(of.list), await of.lists.doubt(of.list)]).toEqual([true, false])
    await readRight(of, 30)
    expect(await of.lists.doubt(of.list)).toBe(false)
    of.start()
    await readRight(of, 30)
    expect(await of.lists.doubt(of.list)).toBe(false)
    await of.pass(55)
    expect(await of.lists.doubt(of.list)).toBe(true)
  })

  it('is missed with a warning where it cannot be read or kept, and the list is read all the same', async () => {
    const of = world()
    const fails = () => Promise.reject(new Error('the database is away'))
    const { read, save } = of.keeper
    Object.assign(of.keeper, { read: fails, save: fails })
    await of.pass(30)
    await readRight(of, 30)
    expect(of.warnings.join()).toMatch(/cannot be read.*away.*cannot be kept.*away/)
    Object.assign(of.keeper, { read, save })
    await of.pass(55)
    await readRight(of, 55)
    expect(of.keeper.lists.get('things')?.items).toEqual(of.expected(53))
  })

  it('of a source that knows the present alone is read for no other hour', async () => {
    const of = world()
    await of.pass(30)
    const ofPresent = { ...of.list, isOfPresent: true }
    await expect(of.lists.read(ofPresent, hourAfter(firstHour, 29))).rejects.toThrow('knows the present alone')
  })
})
