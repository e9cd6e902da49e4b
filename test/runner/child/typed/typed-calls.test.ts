import fc from 'fast-check'
import {
  type Abi,
  type AbiFunction,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  parseAbi,
} from 'viem'
import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../../src/model/block.ts'
import { decodedValue, encodedInput, type TypedCall } from '../../../../src/runner/child/typed-reads.ts'

const address: Hex = `0x${'1'.repeat(40)}`
const bits = Array.from({ length: 32 }, (_, index) => 8 * (index + 1))
const staticTypes = ['address', 'bool', 'bytes32', 'uint', 'int', ...bits.flatMap(n => [`uint${n}`, `int${n}`])]
const otherTypes = ['bytes4', 'string', 'bytes', 'uint256[]', 'int24[2]', 'bool[]']

function functionOf(inputs: readonly string[], outputs: readonly string[], name = 'asked'): AbiFunction {
  const named = (type: string) => ({ name: '', type })
  return { type: 'function', name, stateMutability: 'view', inputs: inputs.map(named), outputs: outputs.map(named) }
}

/** Result of the work, or the short words of its error. */
function outcome(work: () => unknown): { readonly value: unknown } | { readonly thrown: unknown } {
  try {
    return { value: work() }
  } catch (error) {
    return { thrown: error instanceof Error ? error.message.split('\n')[0] : error }
  }
}

function expectAsViem(call: TypedCall, output?: Hex): void {
  const { abi, functionName, args } = call
  const asked = { abi, functionName, ...(args && { args }) }
  if (output === undefined) {
    expect(outcome(() => encodedInput(call))).toEqual(outcome(() => encodeFunctionData(asked)))
  } else {
    const expected = outcome(() => decodeFunctionResult({ ...asked, data: output }))
    const own = outcome(() => decodedValue(call, output))
    // viem drops bits that are too many: what it decodes is then written in other bytes.
    const isUnfit = 'thrown' in own && /^0x\S+, which is no /.test(String(own.thrown))
    if (isUnfit) expect(isWrittenAs(call, expected, output)).toBe(false)
    else expect(own).toEqual(expected)
  }
}

/** Whether what viem decoded is written in these bytes. */
function isWrittenAs({ abi }: TypedCall, decoded: ReturnType<typeof outcome>, output: Hex): boolean {
  const outputs = abi.flatMap(item => (item.type === 'function' ? item.outputs : []))
  if (!('value' in decoded)) return false
  const values = outputs.length === 1 ? [decoded.value] : (decoded.value as readonly unknown[])
  const written = outcome(() => encodeAbiParameters(outputs, values))
  return 'value' in written && output.toLowerCase().startsWith(String(written.value))
}

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
/** Small numbers, negative ones, flags and addresses, besides anything. */
const word = fc
  .oneof(
    fc.bigInt({ min: 0n, max: 3n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
    fc.bigInt({ min: 2n ** 256n - 2n ** 54n, max: 2n ** 256n - 1n }),
    fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }),
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  )
  .map(value => value.toString(16).padStart(64, '0'))
const cased = fc.tuple(word, fc.boolean()).map(([hex, isUpper]) => (isUpper ? hex.toUpperCase() : hex))
const output: fc.Arbitrary<Hex> = fc.oneof(
  { weight: 3, arbitrary: cased.map((hex): Hex => `0x${hex}`) },
  fc.array(cased, { maxLength: 4 }).map((words): Hex => `0x${words.join('')}`),
  fc.uint8Array({ maxLength: 70 }).map(hexOf),
)

describe('what a call returned', () => {
  it.each(staticTypes)('as %s is what viem decodes', type => {
    const abi: Abi = [functionOf([], [type])]
    fc.assert(fc.property(output, bytes => expectAsViem({ address, abi, functionName: 'asked' }, bytes)))
  })

  it('as anything else is what viem decodes', () => {
    const outputs = fc.array(fc.constantFrom(...staticTypes, ...otherTypes), { maxLength: 3 })
    fc.assert(
      fc.property(outputs, output, (types, bytes) => {
        expectAsViem({ address, abi: [functionOf([], types)], functionName: 'asked' }, bytes)
      }),
    )
  })

  const ones = 'f'.repeat(64)
  const w = (value: bigint) => value.toString(16).padStart(64, '0')
  it.for<[types: string, words: readonly string[], unfit?: string]>([
    ['uint8', [w(255n)]],
    ['uint8', [w(511n)], '0x1ff, which is no uint8'],
    ['bool', [w(2n)], '0x2, which is no bool'],
    ['int8', [w(128n)], '0x80, which is no int8'],
    ['int8', [ones]],
    ['int24', [`${'f'.repeat(58)}7fffff`], `0x${'f'.repeat(58)}7fffff, which is no int24`],
    ['uint128', [w(2n ** 128n)], `0x1${'0'.repeat(32)}, which is no uint128`],
    ['address', [`${'0'.repeat(23)}1${'a'.repeat(40)}`], `0x1${'a'.repeat(40)}, which is no address`],
    ['bytes4', [`12345678${'0'.repeat(56)}`]],
    ['bytes4', [`12345678${'0'.repeat(55)}1`], `0x12345678${'0'.repeat(55)}1, which is no bytes4`],
    ['uint256,uint32', [ones, w(2n ** 32n)], '0x100000000, which is no uint32'],
    ['(string,(bool,uint16[2])[])', [w(32n), w(64n), w(96n), w(0n), w(1n), w(1n), w(7n), w(65535n)]],
    [
      '(string,(bool,uint16[2])[])',
      [w(32n), w(64n), w(96n), w(0n), w(1n), w(1n), w(7n), w(65536n)],
      '0x10000, which is no uint16',
    ],
  ])('as %s is refused where a word does not fit: %#', ([types, words, unfit]) => {
    const abi = parseAbi([`function asked() view returns (${types})`] as readonly string[])
    const got = outcome(() => decodedValue({ address, abi, functionName: 'asked' }, `0x${words.join('')}`))
    expect(got).toEqual(unfit === undefined ? { value: expect.anything() } : { thrown: unfit })
  })
})

describe('the call data', () => {
  const anyArg = fc.oneof(
    fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n }),
    fc.integer(),
    fc.constantFrom(0, -0, 1.5, Number.NaN),
    fc.boolean(),
    fc.string({ maxLength: 8 }),
    fc.uint8Array({ maxLength: 33 }).map(hexOf),
    fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hexOf),
    fc.constantFrom<unknown>(null, undefined, [1n, 2n], [], {}),
    // Capitals that are, and that are no valid checksum.
    fc.constantFrom('0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', '0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045'),
  )
  const argOf = (type: string) =>
    type === 'bool' ? fc.boolean() : type.includes('int') ? fc.bigInt({ min: -200n, max: 300n }) : anyArg
  const fitting = fc
    .array(fc.constantFrom(...staticTypes, ...otherTypes), { maxLength: 3 })
    .chain(types => fc.tuple(fc.constant(types), fc.tuple(...types.map(argOf))))
  const random = fc.tuple(fc.array(fc.constantFrom(...staticTypes, ...otherTypes), { maxLength: 3 }), fc.array(anyArg))

  it('are what viem writes, and so are its complaints', () => {
    fc.assert(
      fc.property(fc.oneof(fitting, random), ([types, args]) => {
        expectAsViem({ address, abi: [functionOf(types, [])], functionName: 'asked', args })
      }),
      { numRuns: 1_000 },
    )
  })

  it('of overloads follow the arguments', () => {
    const abi = parseAbi([
      'function plus(uint256 more) view returns (uint256)',
      'function plus(uint256 more, uint256 evenMore) view returns (int8)',
      'function plus(address) view returns (bool)',
      'event plus(uint256)',
    ])
    for (const args of [[1n], [1n, 2n], [address], []]) {
      expectAsViem({ address, abi, functionName: 'plus', args })
      expectAsViem({ address, abi, functionName: 'plus', args }, `0x${'0'.repeat(63)}1`)
    }
  })

  it('of names that are not there, or are no function, are refused as viem refuses them', () => {
    const abi = parseAbi(['event asked(uint256)', 'function given() view returns (uint256)'])
    for (const functionName of ['asked', 'missing', '', '0x12345678', '0xef690cc0', 'toString']) {
      expectAsViem({ address, abi, functionName })
      expectAsViem({ address, abi, functionName }, `0x${'0'.repeat(63)}1`)
    }
  })
})
