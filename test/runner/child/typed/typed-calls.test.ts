import fc from 'fast-check'
import { type Abi, type AbiFunction, decodeFunctionResult, encodeFunctionData, erc20Abi, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../../src/model/block.ts'
import { decodedValue, encodedInput, type TypedCall } from '../../../../src/runner/child/typed/typed-calls.ts'

const address: Hex = `0x${'1'.repeat(40)}`
const bits = Array.from({ length: 32 }, (_, index) => 8 * (index + 1))
const staticTypes = ['address', 'bool', 'bytes32', 'uint', 'int', ...bits.flatMap(n => [`uint${n}`, `int${n}`])]
const otherTypes = ['bytes4', 'string', 'bytes', 'uint256[]', 'int24[2]', 'bool[]']

function functionOf(inputs: readonly string[], outputs: readonly string[], name = 'asked'): AbiFunction {
  const named = (type: string) => ({ name: '', type })
  return { type: 'function', name, stateMutability: 'view', inputs: inputs.map(named), outputs: outputs.map(named) }
}

/** Result of the work, or the short words of its error. */
function outcome(work: () => unknown): unknown {
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
    const expected = outcome(() => encodeFunctionData(asked))
    // Twice: the second time it may be remembered.
    for (let time = 0; time < 2; time++) expect(outcome(() => encodedInput(call))).toEqual(expected)
  } else {
    expect(outcome(() => decodedValue(call, output))).toEqual(
      outcome(() => decodeFunctionResult({ ...asked, data: output })),
    )
  }
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

  it('of one ABI are those of the arguments, however alike these are', () => {
    const abi: Abi = [functionOf(['string', 'string'], [], 'pair'), functionOf(['bool'], [], 'flag')]
    const words = fc.string({ unit: fc.constantFrom('s', '1', '|', ':', 'string'), maxLength: 4 })
    fc.assert(
      fc.property(words, words, (one, other) => {
        expectAsViem({ address, abi, functionName: 'pair', args: [one, other] })
      }),
      { numRuns: 1_000 },
    )
    for (const args of [[true], ['true'], [1], [1n], [true, false], undefined, []]) {
      expectAsViem({ address, abi, functionName: 'flag', ...(args && { args }) })
    }
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

  it('of a changed list of arguments are others', () => {
    const call = (owner: Hex): TypedCall => ({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
    const owners = Array.from({ length: 5_000 }, (_, index): Hex => `0x${index.toString(16).padStart(40, '0')}`)
    for (const owner of [...owners, ...owners]) expect(encodedInput(call(owner)).slice(-40)).toBe(owner.slice(2))
  })
})
