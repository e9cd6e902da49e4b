import { describe, expect, it } from 'vitest'
import { Loop } from '../../src/edge/loop.ts'

describe('a loop', () => {
  it('runs one turn after another, the first at once, until it is stopped', async () => {
    let [turns, underWay] = [0, 0]
    const third = Promise.withResolvers<void>()
    const loop = new Loop(async () => {
      turns += 1
      underWay += 1
      expect(underWay).toBe(1)
      if (turns === 3) third.resolve()
      await new Promise(setImmediate)
      underWay -= 1
    })
    expect(turns).toBe(0)
    loop.start()
    loop.start()
    expect(turns).toBe(1)
    await third.promise
    await loop.stop()
    expect({ turns, underWay }).toEqual({ turns: 3, underWay: 0 })
    loop.start()
    expect(turns).toBe(3)
  })

  it('ends the rest of a turn when it is stopped, and waits for the turn', async () => {
    const order: string[] = []
    const loop = new Loop(async signal => {
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      order.push('turn')
    })
    loop.start()
    const stopped = loop.stop().then(() => order.push('stopped'))
    expect(loop.signal.aborted).toBe(true)
    await stopped
    expect(order).toEqual(['turn', 'stopped'])
  })

  it('that is stopped before it starts runs no turn', async () => {
    let turns = 0
    const loop = new Loop(async () => void turns++)
    await loop.stop()
    loop.start()
    expect(turns).toBe(0)
  })
})
