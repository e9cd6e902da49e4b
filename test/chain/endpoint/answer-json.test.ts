import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsedAnswer } from '../../../src/chain/endpoint/answer-json.ts'
import { parsedJson } from '../../../src/model/json.ts'

const long = (digit: string) => `0x${digit.repeat(2_000)}`
const message = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })

describe('the JSON of an answer', () => {
  it.each([
    ['one long result', message(1, long('a'))],
    ['a batch of long and short ones', [message(2, long('a')), message(1, '0x1'), message(3, long('b'))]],
    ['a batch with errors', [message(1, long('a')), { id: 2, error: { code: 3, message: 'no', data: long('c') } }]],
    ['a result within a result', message(1, { result: long('a') })],
    ['a long result after one within another', [message(1, { result: long('a') }), message(2, long('b'))]],
    ['a text with quotation marks', message(1, `"result":"${long('a')}"`)],
    ['an escape after a long result', [message(1, long('a')), message(2, '\u00010')]],
    ['a list within a batch', [[message(1, long('a'))], message(2, long('b'))]],
    ['nothing', null],
  ])('is that of the whole text: %s', (_, value) => {
    expect(parsedAnswer(JSON.stringify(value))).toEqual(value)
  })

  it.each([
    ['cut off', JSON.stringify(message(1, long('a'))).slice(0, -3)],
    ['within a result', JSON.stringify(message(1, long('a'))).slice(0, 1_500)],
    ['with a control character', JSON.stringify([message(1, long('a')), message(2, 'x')]).replace('x', '\u00010')],
    ['with the last of two results', `{"id":1,"result":"${long('a')}","result":"${long('b')}"}`],
    ['with a short result after a long one', `{"id":1,"result":"${long('a')}","result":"0x1"}`],
    ['of something else', '<html>'],
  ])('is also that of a text %s', (_, text) => {
    expect(parsedAnswer(text)).toEqual(parsedJson(text))
  })

  it('is that of the whole text for any messages', () => {
    const text = fc.oneof(fc.constantFrom(long('a'), long('b'), '0x', '0x0', `"result":"${long('a')}`), fc.string())
    const result = fc.oneof(text, fc.record({ result: text }), fc.array(text), fc.jsonValue())
    const batch = fc.array(fc.record({ id: fc.nat(), result }), { maxLength: 5 })
    fc.assert(
      fc.property(batch, messages => {
        expect(parsedAnswer(JSON.stringify(messages))).toEqual(parsedJson(JSON.stringify(messages)))
      }),
    )
  })
})
