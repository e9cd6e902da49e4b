import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { expect, it } from 'vitest'
import { AnswerReader } from '../../src/edge/answer-reader.ts'
import { answerText } from '../../src/edge/answer-text.ts'

/** A piece in memory of its own. */
const piece = (text: string) => Buffer.from(new TextEncoder().encode(text).buffer)

it('joins the pieces of an answer, also within a character', () => {
  const bytes = Buffer.from('{"name":"☃","next":"é"}')
  for (let at = 0; at <= bytes.length; at++) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
    expect(answerText(pieces)).toBe('{"name":"☃","next":"é"}')
  }
  expect(answerText([])).toBe('')
})

it('has nothing of a longer answer before it', () => {
  const first = answerText([piece('first'), piece(' answer')])
  const second = answerText([piece('2nd'), piece(' answer')])
  expect([first, second]).toEqual(['first answer', '2nd answer'])
})

it('frees the memory of pieces that fill theirs, and of no others', () => {
  const shared = piece('head and body')
  const [own, last] = [piece(', own'), piece(', last')]
  expect(answerText([shared.subarray(9), own, last])).toBe('body, own, last')
  expect([own.buffer.byteLength, last.buffer.byteLength]).toEqual([0, 0])
  expect(String(shared)).toBe('head and body')
})

it('frees most of the memory of a long answer as undici receives it', async () => {
  const sent = 'ab'.repeat(1_000_000)
  await using server = createServer((_, response) => response.end(sent)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent()
  const reader = new AnswerReader(() => sent.length)
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  agent.dispatch({ origin, path: '/', method: 'GET' }, reader)
  const { pieces = [] } = await reader.answer
  expect(answerText(pieces)).toBe(sent)
  const left = pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)
  expect(left).toBeLessThan(sent.length / 2)
  await agent.close()
})

it('an answer of one byte at a time takes little more memory than its bytes', () => {
  const reader = new AnswerReader(() => 1e6)
  const controller = { pause: () => {}, resume: () => {} } as Parameters<AnswerReader['onResponseData']>[0]
  reader.onResponseStart(controller, 200, {})
  const sent = 'abc'.repeat(50_000)
  const read = Buffer.from(sent)
  for (let at = 0; at < read.length; at += 1) reader.onResponseData(controller, read.subarray(at, at + 1))
  reader.onResponseData(controller, Buffer.alloc(0))
  reader.onResponseEnd()
  return reader.answer.then(({ pieces = [] }) => {
    expect(pieces.length).toBeLessThan(30)
    expect(answerText(pieces)).toBe(sent)
  })
})

it('large answers are read one at a time', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const sent = 'ab'.repeat(1_000_000)
  await using server = createServer((_, response) => response.end(sent)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent()
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const reader = new AnswerReader(() => sent.length, {
    bytes: 100_000,
    turn() {
      first.resolve()
      return second.promise
    },
  })
  agent.dispatch({ origin, path: '/', method: 'GET' }, reader)
  await first.promise
  second.resolve()
  expect(answerText((await reader.answer).pieces ?? [])).toBe(sent)
  await agent.close()
})
