import { expect, it } from 'vitest'
import { redacted } from '../../../src/chain/endpoint/failures.ts'
import { failureKindOf, isRateError, meaningOf, parseAnswer } from '../../../src/chain/endpoint/rpc.ts'
import { peerText } from '../../../src/model/text.ts'

/** Answers of nodes, as seen in the wild: geth, erigon, reth, Nethermind, anvil, and public gateways before them. */
it.each([
  ['reverted', '0x08c379a0', { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }],
  ['reverted', '0xabcd', { code: 3, message: 'out of gas: not enough gasleft()', data: '0xabcd' }],
  ['reverted', '0x', { code: -32000, message: 'execution reverted' }],
  ['reverted', '0x08c379a0', { code: -32015, message: 'VM execution error.', data: 'Reverted 0x08c379a0' }],
  ['reverted', '0xabcd', { code: -32603, message: 'VM Exception while executing: revert', data: { data: '0xabcd' } }],
  ['reverted', '0x08c379a0', { code: -32000, message: 'request timed out', data: '0x08c379a0' }],
  ['reverted', '0x4e487b71', { code: -32005, message: 'too many requests', data: { data: '0x4e487b71' } }],
  ['reverted', '0x', { code: -32000, message: 'invalid opcode: INVALID' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error InvalidFEOpcode' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error StackUnderflow' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error OpcodeNotFound' }],
  ['reverted', '0x', { code: -32003, message: 'EVM error: NotActivated' }],
  ['reverted', '0x', { code: -32603, message: 'EVM error InvalidOperandOOG' }],
  ['reverted', '0x', { code: -32003, message: 'EVM error: CallNotAllowedInsideStatic' }],
  ['reverted', '0x', { code: -32003, message: 'EVM error: PrecompileError' }],
  ['reverted', '0x', { code: -32000, message: 'return data out of bounds' }],
  ['reverted', '0x', { code: -32000, message: 'gas uint64 overflow' }],
  ['reverted', '0x', { code: -32000, message: 'stack limit reached 1024 (1023)' }],
  ['reverted', '0x', { code: -32015, message: 'BadInstruction' }],
  ['reverted', '0x', { code: -32015, message: 'AccessViolation' }],
  ['reverted', '0x', { code: -32603, message: 'Bad jump destination' }],
  ['reverted', '0x', { code: -32603, message: 'evm error: InvalidCode(Opcode(12))' }],
  ['limit', undefined, { code: -32000, message: 'out of gas' }],
  ['limit', undefined, { code: -32603, message: 'EVM error OutOfGas' }],
  ['limit', undefined, { code: -32000, message: 'gas required exceeds allowance (50000000)' }],
  ['limit', undefined, { code: -32000, message: 'execution aborted (timeout = 5s)' }],
  ['limit', undefined, { code: -32602, message: 'query returned more than 10000 results' }],
  ['limit', undefined, { code: -32000, message: 'block range is too wide' }],
  ['limit', undefined, { code: -32600, message: 'eth_getLogs is limited to a 10,000 range' }],
  ['reverted', '0x', { code: -32000, message: 'execution reverted: rate limit exceeded' }],
  ['reverted', '0x', { code: -32000, message: 'execution reverted: quota' }],
  ['reverted', '0xabcd', { code: -32000, message: 'execution reverted: size exceeds maximum', data: '0xabcd' }],
  ['reverted', '0x', { code: -32000, message: 'VM Exception while processing transaction: revert too many requests' }],
  [
    'limit',
    undefined,
    { code: 1, message: 'message execution failed (exit=[SysErrOutOfGas(7)], revert reason=[none])' },
  ],
  ['node', undefined, { code: -32000, message: 'missing trie node 1f (path ) state 0x1 is not available' }],
  ['node', undefined, { code: -32000, message: 'header not found' }],
  ['node', undefined, { code: -32001, message: 'Resource not found' }],
  ['node', undefined, { code: -32005, message: 'limit exceeded' }],
  ['node', undefined, { code: 429, message: 'Your app has exceeded its compute units per second capacity' }],
  ['node', undefined, { code: -32602, message: 'BlockOutOfRangeError: block height is 1 but requested was 153' }],
  ['node', undefined, { code: -32601, message: 'the method eth_call does not exist/is not available' }],
])('%s %s: %o', (kind, output, error) => {
  expect(meaningOf({ ...error, message: peerText(error.message) })).toEqual(
    output === undefined ? { kind } : { kind, output },
  )
})

it.each([
  [true, { code: 429, message: 'anything' }],
  [true, { code: -32029, message: 'anything' }],
  [true, { code: -32005, message: 'limit exceeded' }],
  [true, { code: -32005, message: 'daily request count exceeded, request rate limited' }],
  [true, { code: -32000, message: 'Too Many Requests' }],
  [true, { code: -32000, message: 'Your app has exceeded its compute units per second capacity' }],
  [true, { code: -32016, message: 'over rate limit' }],
  [true, { code: 15, message: 'Too many request, try again later' }],
  [true, { code: -32007, message: '50/second request limit reached - reduce calls per second' }],
  [true, { code: -32001, message: 'call rate limit exhausted, retry in 10s' }],
  [true, { code: -32603, message: 'monthly quota is used up' }],
  [true, { code: -32000, message: 'Monthly capacity limit exceeded. Visit the dashboard' }],
  [true, { code: -32000, message: 'Unable to start new queued requests. Too many queued requests. Queued calls 501.' }],
  [false, { code: -32000, message: 'VM Exception while processing transaction: revert capacity limit exceeded' }],
  [false, { code: -32005, message: 'query returned more than 10000 results' }],
  [false, { code: -32005, message: 'block range limit exceeded' }],
  [false, { code: -32000, message: 'out of gas' }],
  [false, { code: -32000, message: 'gas limit exceeded' }],
  [false, { code: 3, message: 'execution reverted: too many requests' }],
  [false, { code: -32000, message: 'execution reverted: rate limit' }],
  [false, { code: -32000, message: 'missing trie node 429a' }],
])('a limit on the rate: %s %o', (isRate, error) => {
  expect(isRateError({ ...error, message: peerText(error.message) })).toBe(isRate)
})

it.each([
  ['pruned', 'missing trie node 1f (path ) state 0x1 is not available, not found'],
  ['pruned', 'MissingTrieNode: 0x5f'],
  ['pruned', 'required historical state unavailable (reexec=128)'],
  ['pruned', 'state at block #17 is pruned'],
  ['pruned', 'pruned history unavailable'],
  ['pruned', 'No state available for block 0x1'],
  ['pruned', 'state 0x1 is not available'],
  ['pruned', 'state already discarded'],
  ['pruned', 'project ID does not have access to archive state'],
  ['unknown-block', 'header not found'],
  ['unknown-block', 'Unknown block'],
  ['refused', 'internal error'],
  ['refused', 'no such method'],
])('what a node lacks: %s (%s)', (kind, message) => {
  expect(failureKindOf({ code: -32000, message: peerText(message) })).toBe(kind)
})

it.each(['x.y.z-', 'rate 1 ', 'limit 1_', '\n \t', 'k://'])(
  'a long error of a node is cut before it is looked at: %o',
  words => {
    const error = { code: -32000, message: words.repeat(200_000) }
    const parsed = parseAnswer({ id: 1, error })?.answer
    if (parsed?.kind !== 'error') throw new Error('no error')
    expect(parsed.error.message.length).toBeLessThanOrEqual(2_001)
    expect(redacted(parsed.error.message, 'https://rpc.example.com/v1/abc').length).toBeLessThanOrEqual(161)
  },
)
