import { describe, expect, it } from 'vitest'
import { BatchRefused, EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import { answersIn } from '../../../src/chain/endpoint/http.ts'
import { answerBoundsOf } from '../../../src/chain/endpoint/rpc.ts'

const key = 'k3y-0f-the-provider-4711'
const by = { host: 'n.example', url: `https://n.example/v2/${key}`, nowMs: 1_000 }
const result = (id: unknown, value: unknown) => ({ jsonrpc: '2.0', id, result: value })
const error = (id: unknown, message: string, code = -32000) => ({ jsonrpc: '2.0', id, error: { code, message } })

function answered(body: unknown, count: number, status = 200, retryAtMs?: number) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return answersIn({ status, text, retryAtMs }, count, by)
}

function failure(act: () => unknown): EndpointFailure {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof EndpointFailure) return thrown
  }
  throw new Error('no failure')
}

describe('an answer over HTTP', () => {
  it('is put into the order of the calls, by their ids, as numbers or text', () => {
    const answers = answered([result(3, 'c'), result('1', 'a'), error(2, 'no')], 3)
    expect(answers).toEqual([
      { kind: 'result', result: 'a' },
      { kind: 'error', error: { code: -32000, message: 'no', data: undefined } },
      { kind: 'result', result: 'c' },
    ])
  })

  it('to a single call may be an error without an id, and comes with any status', () => {
    expect(answered(error(null, 'no'), 1)[0]?.kind).toBe('error')
    expect(answered(error(1, 'reverted', 3), 1, 400)[0]?.kind).toBe('error')
    expect(answered([result(1, 'a'), result(2, 'b')], 2, 500)).toHaveLength(2)
  })

  it.each([
    ['of another call', result(2, 'b'), 1, /not asked/],
    ['without an id', { jsonrpc: '2.0', result: 'b' }, 1, /not asked/],
    ['twice to one call', [result(1, 'a'), result(1, 'b'), result(2, 'c')], 2, /one call twice/],
    ['of something else', { status: 'ok' }, 1, /not JSON-RPC/],
    ['of a single result to several calls', result(1, 'a'), 2, /not JSON-RPC/],
    ['of nothing', [], 1, /without an answer/],
    ['of no JSON', '<html>', 1, /not JSON: it looks like a web page$/],
    ['of nothing at all', '', 1, /not JSON: it is empty$/],
    ['of bytes', '\u001f\uFFFD', 1, /it looks compressed, and has no content-encoding$/],
    ['of a number', '5', 1, /not JSON-RPC/],
  ])('%s is a failure', (_, body, count, says) => {
    const { message, kind } = failure(() => answered(body, count))
    expect(message).toMatch(says)
    expect(kind).toBe('unreachable')
  })

  it.each([
    ['calls', [result(1, 'a')], 2, 200],
    ['calls', [error(1, 'batch too large', -32600)], 2, 200],
    ['calls', error(null, 'batch too large', -32600), 2, 200],
    ['calls', error(null, 'no batches', -32600), 2, 400],
    ['calls', 'Bad Request', 2, 400],
    ['chars', '', 2, 413],
    ['chars', '', 1, 413],
  ] as const)('refuses the batch because of its %s: %o', (because, body, count, status) => {
    const refusal = failure(() => answered(body, count, status))
    expect(refusal).toBeInstanceOf(BatchRefused)
    expect(refusal).toMatchObject({ because, kind: 'too-much' })
  })

  it.each([
    ['lists within lists', 'eth_call', `${'['.repeat(1_000)}${']'.repeat(1_000)}`, /nests deeper than any answer/],
    [
      'objects within objects',
      'eth_getLogs',
      `${'{"a":'.repeat(50)}1${'}'.repeat(50)}`,
      /nests deeper than any answer/,
    ],
    ['a list in place of a text', 'eth_call', JSON.stringify(Array(200).fill(1)), /answered too much/],
    ['a header of a million parts', 'eth_getBlockByNumber', `[${'{},'.repeat(100_000)}1]`, /answered too much/],
  ])('of %s is refused for %s', (_, method, value, says) => {
    const text = `{"jsonrpc":"2.0","id":1,"result":${value}}`
    const bounds = answerBoundsOf([{ method }])
    expect(failure(() => answersIn({ status: 200, text, retryAtMs: undefined }, 1, by, bounds)).message).toMatch(says)
  })

  it('may have what was asked for', () => {
    const blooms = Array.from({ length: 5_000 }, (_, n) => ({ n, topics: [1, 2, 3, 4] }))
    const text = JSON.stringify(result(1, blooms))
    const bounds = answerBoundsOf([{ method: 'eth_getLogs' }])
    expect(answersIn({ status: 200, text, retryAtMs: undefined }, 1, by, bounds)).toHaveLength(1)
    const many = Array.from({ length: 1_000 }, (_, n) => result(n + 1, '0x12'))
    const calls = many.map(() => ({ method: 'eth_call' }))
    const batch = { status: 200, text: JSON.stringify(many), retryAtMs: undefined }
    expect(answersIn(batch, 1_000, by, answerBoundsOf(calls))).toHaveLength(1_000)
    expect(answerBoundsOf([{ method: 'eth_call' }, { method: 'eth_getLogs', answerBytesMax: 5 }]).bytesMax).toBe(5)
  })

  it('that is too long refuses the batch, its status saying yes', () => {
    const read = { text: undefined, retryAtMs: undefined }
    expect(failure(() => answersIn({ status: 200, ...read }, 2, by))).toMatchObject({ because: 'answer' })
    expect(failure(() => answersIn({ status: 502, ...read }, 2, by)).message).toBe('n.example answered HTTP 502')
  })

  it.each([
    ['', 429, 5_000, 5_000],
    ['', 429, undefined, undefined],
    ['', 503, 5_000, 5_000],
    [error(null, 'limit exceeded', -32005), 200, undefined, undefined],
    [[error(1, 'too many requests')], 200, undefined, undefined],
  ] as const)('%o with HTTP %i is a limit on the rate', (body, status, retryAtMs, expected) => {
    expect(failure(() => answered(body, 2, status, retryAtMs))).toMatchObject({ kind: 'rate', retryAtMs: expected })
  })

  it.each([401, 403, 404, 400, 500, 502, 503])('with HTTP %i and a page is a failure that names it', status => {
    expect(failure(() => answered(`<html>${key}</html>`, 1, status)).message).toBe(`n.example answered HTTP ${status}`)
  })

  it('never tells of the key', () => {
    const refused = failure(() => answered(error(null, `no batches for ${key} at https://n.example/v2/${key}`), 2))
    expect(refused.message).toBe('n.example answered an error: no batches for (redacted) at (URL) (-32000)')
  })
})
