import { expect, it } from 'vitest'
import { bodyPieces } from '../../../src/chain/endpoint/request-body.ts'
import { type RpcCall, writtenCall } from '../../../src/chain/endpoint/wire.ts'

const plain: RpcCall = { method: 'eth_call', params: ['é'] }
const start = '{"method":"eth_call","params":["0x01",'
const prewritten: RpcCall = {
  method: 'eth_call',
  params: ['0x01', 'latest'],
  written: { start, startBytes: Buffer.from(start), end: '"latest"]}' },
}

const request = (id: number, { method, params }: RpcCall) => ({ jsonrpc: '2.0', id, method, params })

it.each([
  ['a call', [plain], request(1, plain)],
  ['a prewritten call', [prewritten], request(1, prewritten)],
  ['a batch', [plain, plain], [request(1, plain), request(2, plain)]],
  [
    'a batch of both',
    [prewritten, plain, prewritten],
    [request(1, prewritten), request(2, plain), request(3, prewritten)],
  ],
] as const)('the body of %s is its JSON', (_, calls, body) => {
  expect(JSON.parse(Buffer.concat(bodyPieces(calls.map(writtenCall))).toString())).toEqual(body)
})
