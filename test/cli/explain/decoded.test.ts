import { type Abi, encodeFunctionResult, parseAbi } from 'viem'
import { expect, it } from 'vitest'
import { decodedText } from '../../../src/cli/explain/reads.ts'
import { returnsText } from '../../../src/runner/child/typed-reads.ts'
import type { RecordedRead } from '../../../src/testing/recording.ts'

const address = '0x00000000000000000000000000000000000000aa'

const cases: readonly (readonly [signature: string, result: unknown, text: string])[] = [
  ['function totalSupply() view returns (uint256)', 12n, '12'],
  ['function answer() view returns (int256)', -3n, '-3'],
  ['function paused() view returns (bool)', false, 'false'],
  ['function symbol() view returns (string)', 'a "b"', '"a \\"b\\""'],
  ['function caps() view returns (uint256 supply, uint256 borrow)', [12n, 5n], 'supply 12, borrow 5'],
  ['function reserves() view returns (uint112, uint112)', [1n, 2n], '1, 2'],
  ['function all() view returns (uint256[])', [1n, 2n], '[1, 2]'],
  ['function slot() view returns ((uint256 price, bool isOn))', { price: 7n, isOn: true }, '(price 7, isOn true)'],
]

function recorded(returns: string | undefined, returned: `0x${string}`): RecordedRead {
  return { chain: 'dev', read: { kind: 'call', to: address, input: '0x', returns }, returned }
}

it.each(cases)('decodes the answer of %s', (signature, result, text) => {
  const abi = parseAbi([signature]) as Abi
  const [item] = abi
  const functionName = item?.type === 'function' ? item.name : ''
  const returned = encodeFunctionResult({ abi, functionName, result })
  expect(decodedText(recorded(returnsText({ address, abi, functionName }), returned))).toBe(text)
})

it('decodes an overload by its arguments', () => {
  const abi = parseAbi(['function f() view returns (uint256)', 'function f(address) view returns (bool on)'])
  expect(returnsText({ address, abi, functionName: 'f', args: [address] })).toBe('bool on')
})

it('decodes nothing that has no ABI, does not fit it, or was reverted', () => {
  expect(decodedText(recorded(undefined, '0x'))).toBeUndefined()
  expect(decodedText(recorded('uint256', '0x'))).toBeUndefined()
  expect(
    decodedText({ chain: 'dev', read: { kind: 'call', to: address, input: '0x', returns: 'uint256' }, reverted: '0x' }),
  ).toBeUndefined()
})
