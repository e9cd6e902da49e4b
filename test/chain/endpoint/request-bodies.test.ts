import { describe, expect, it } from 'vitest'
import { RequestBodies } from '../../../src/chain/endpoint/request-bodies.ts'
import { writtenCall } from '../../../src/chain/endpoint/wire.ts'

const asked = (param: string) => [writtenCall({ method: 'eth_call', params: [param] })]
const json = (body: Buffer) => JSON.parse(body.toString())

describe('the body of a request', () => {
  it('keeps its bytes until it is given back', () => {
    const bodies = new RequestBodies()
    const first = bodies.written(asked('a'.repeat(1_000)))
    const second = bodies.written(asked('b'.repeat(1_000)))
    bodies.free(second)
    const third = bodies.written(asked('c'))
    expect(json(first).params).toEqual(['a'.repeat(1_000)])
    expect(json(third)).toEqual({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: ['c'] })
  })

  it('is written into memory that was given back, once', () => {
    const bodies = new RequestBodies()
    const { buffer } = bodies.written(asked('a'.repeat(1_000)))
    bodies.free(Buffer.from(buffer))
    const [again, other] = [bodies.written(asked('b')), bodies.written(asked('c'))]
    expect(again.buffer).toBe(buffer)
    expect(other.buffer).not.toBe(buffer)
    expect([json(again).params, json(other).params]).toEqual([['b'], ['c']])
  })

  it('is in memory of its own when it is long, and that is not kept', () => {
    const bodies = new RequestBodies()
    const long = bodies.written(asked('a'.repeat(2_000_000)))
    bodies.free(long)
    expect(bodies.written(asked('b')).buffer).not.toBe(long.buffer)
  })
})
