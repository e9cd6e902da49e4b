import { expect, test } from 'vitest'
import { meaningOf } from '../../src/chain/rpc-errors.ts'

/** What nodes answer, as seen in the wild: geth, erigon, reth, Nethermind, anvil, and public gateways before them. */
test.each([
  ['reverted', '0x08c379a0', { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }],
  ['reverted', '0xabcd', { code: 3, message: 'out of gas: not enough gasleft()', data: '0xabcd' }],
  ['reverted', '0x', { code: -32000, message: 'execution reverted' }],
  ['reverted', '0x08c379a0', { code: -32015, message: 'VM execution error.', data: 'Reverted 0x08c379a0' }],
  ['reverted', '0xabcd', { code: -32603, message: 'VM Exception while executing: revert', data: { data: '0xabcd' } }],
  ['reverted', '0x', { code: -32000, message: 'invalid opcode: INVALID' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error InvalidFEOpcode' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error StackUnderflow' }],
  ['limit', undefined, { code: -32000, message: 'out of gas' }],
  ['limit', undefined, { code: -32603, message: 'EVM error OutOfGas' }],
  ['limit', undefined, { code: -32000, message: 'gas required exceeds allowance (50000000)' }],
  ['limit', undefined, { code: -32000, message: 'execution aborted (timeout = 5s)' }],
  ['limit', undefined, { code: -32602, message: 'query returned more than 10000 results' }],
  ['limit', undefined, { code: -32000, message: 'block range is too wide' }],
  ['limit', undefined, { code: -32600, message: 'eth_getLogs is limited to a 10,000 range' }],
  ['node', undefined, { code: -32000, message: 'missing trie node 1f (path ) state 0x1 is not available' }],
  ['node', undefined, { code: -32000, message: 'header not found' }],
  ['node', undefined, { code: -32001, message: 'Resource not found' }],
  ['node', undefined, { code: -32005, message: 'limit exceeded' }],
  ['node', undefined, { code: 429, message: 'Your app has exceeded its compute units per second capacity' }],
  ['node', undefined, { code: -32602, message: 'BlockOutOfRangeError: block height is 1 but requested was 153' }],
  ['node', undefined, { code: -32601, message: 'the method eth_call does not exist/is not available' }],
])('%s %s: %o', (kind, output, error) => {
  expect(meaningOf(error)).toEqual(output === undefined ? { kind } : { kind, output })
})
