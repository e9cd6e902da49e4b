import { expect, it } from 'vitest'
import { Attention, attentionMs } from '../../src/intake/intake.ts'

const all = ['a', 'b', 'c'].map(id => ({ id }))
const ids = (taken: readonly { readonly id: string }[]) => taken.map(({ id }) => id).join('')

it('all collectors are looked at first, after a rest and now and then; else those that have changed, once', () => {
  const attention = new Attention()
  expect(ids(attention.take(all, 5_000))).toBe('abc')
  expect(ids(attention.take(all, 5_001))).toBe('')
  attention.changed('b')
  expect(ids(attention.take(all, 5_002))).toBe('b')
  expect(ids(attention.take(all, 5_003))).toBe('')
  attention.rested()
  expect(ids(attention.take(all, 5_004))).toBe('abc')
  expect(ids(attention.take(all, 5_003 + attentionMs))).toBe('')
  expect(ids(attention.take(all, 5_004 + attentionMs))).toBe('abc')
  // A clock that is set back.
  expect(ids(attention.take(all, 4_000))).toBe('abc')
})

it('of a thousand collectors a part is looked at in each turn, one after the other, each once', () => {
  const attention = new Attention()
  const many = Array.from({ length: 1_000 }, (_, index) => ({ id: `c${index}` }))
  const taken: string[] = []
  do {
    const part = attention.take(many, 5_000)
    expect(part.length).toBeLessThanOrEqual(250)
    taken.push(...part.map(({ id }) => id))
  } while (attention.isLeft)
  expect(taken).toEqual(many.map(({ id }) => id))
  expect(attention.take(many, 5_001)).toEqual([])
  expect(attention.isLeft).toBe(false)
})
