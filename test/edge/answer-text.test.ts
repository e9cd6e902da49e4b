import { expect, it } from 'vitest'
import { answerText } from '../../src/edge/answer-text.ts'
import { SpareMemory } from '../../src/edge/spare-memory.ts'

/** A piece in memory of its own. */
const piece = (text: string) => Buffer.from(new TextEncoder().encode(text).buffer)

it('joins the pieces of an answer, also within a character', () => {
  const bytes = Buffer.from('{"name":"☃","next":"é"}')
  for (let at = 0; at <= bytes.length; at++) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
    expect(answerText(pieces, new SpareMemory())).toBe('{"name":"☃","next":"é"}')
  }
  expect(answerText([], new SpareMemory())).toBe('')
})

it('frees the memory of pieces that fill theirs, and of no others', () => {
  const shared = piece('head and body')
  const [own, last] = [piece(', own'), piece(', last')]
  expect(answerText([shared.subarray(9), own, last], new SpareMemory())).toBe('body, own, last')
  expect([own.buffer.byteLength, last.buffer.byteLength]).toEqual([0, 0])
  expect(String(shared)).toBe('head and body')
})

it('keeps the answers before it as they were', () => {
  const memory = new SpareMemory()
  const first = answerText([piece('first'), piece(' answer')], memory)
  const second = answerText([piece('2nd'), piece(' answer')], memory)
  expect([first, second]).toEqual(['first answer', '2nd answer'])
})
