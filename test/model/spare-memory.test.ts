import { describe, expect, it } from 'vitest'
import { SpareMemory } from '../../src/model/spare-memory.ts'

describe('memory that is used again', () => {
  it('is not taken twice before it is given back', () => {
    const memory = new SpareMemory()
    const [first, second] = [memory.concat([Buffer.from('first')]), memory.concat([Buffer.from('second')])]
    memory.give(second)
    const third = memory.concat([Buffer.from('3')])
    expect([String(first), String(third)]).toEqual(['first', '3'])
    expect(third.buffer).toBe(second.buffer)
    expect(memory.take(1).buffer).not.toBe(second.buffer)
  })

  it('is the longest that was given back', () => {
    const memory = new SpareMemory()
    const [short, long] = [memory.take(10), memory.take(100)]
    memory.give(long)
    memory.give(short)
    const taken = memory.take(20)
    expect([taken.buffer, taken.length]).toEqual([long.buffer, 20])
  })

  it('is new for more than it has, and not kept when it is long', () => {
    const memory = new SpareMemory()
    const [short, long] = [memory.take(10), memory.take(2_000_000)]
    memory.give(short)
    expect(memory.take(11).buffer).not.toBe(short.buffer)
    memory.give(long)
    expect(memory.take(20).buffer).not.toBe(long.buffer)
  })

  it('is of several buffers, the one given back last first, and of no more than wanted', () => {
    const memory = new SpareMemory(2)
    const [first, second, third] = [memory.take(10), memory.take(20), memory.take(30)]
    for (const buffer of [first, first, second, third]) memory.give(buffer)
    expect(memory.take(10).buffer).toBe(third.buffer)
    expect(memory.take(10).buffer).toBe(second.buffer)
    expect(memory.take(10).buffer).not.toBe(first.buffer)
  })
})
