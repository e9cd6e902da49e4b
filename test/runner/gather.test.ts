import { describe, expect, it } from 'vitest'
import { gathering } from '../../src/runner/gather.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))
const turns = async (count: number) => {
  for (let left = count; left > 0; left -= 1) await turn()
}

describe('what is to leave together', () => {
  it('leaves at the end of its turn, in its order, and never as nothing', async () => {
    const left: (readonly number[])[] = []
    const take = gathering<number>(all => left.push(all))
    take(1)
    await Promise.resolve()
    take(2)
    expect(left).toEqual([])
    await turns(3)
    take(3)
    await turns(3)
    expect(left).toEqual([[1, 2], [3]])
  })

  it('waits for a whole turn that brings nothing new', async () => {
    const left: (readonly number[])[] = []
    const take = gathering<number>(all => left.push(all), { quietTurns: 1, turnsMax: 50 })
    for (let one = 0; one < 10; one += 1) {
      take(one)
      await turn()
    }
    expect(left).toEqual([])
    await turns(3)
    expect(left).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
  })

  it('does not wait for ever for one who never rests', async () => {
    const left: (readonly number[])[] = []
    const take = gathering<number>(all => left.push(all), { quietTurns: 1, turnsMax: 5 })
    for (let one = 0; one < 20; one += 1) {
      take(one)
      await turn()
    }
    await turns(10)
    expect(left.flat()).toHaveLength(20)
    expect(left.length).toBeGreaterThan(2)
    expect(Math.max(...left.map(all => all.length))).toBeLessThanOrEqual(6)
  })
})
