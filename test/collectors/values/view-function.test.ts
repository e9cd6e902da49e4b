import { type Abi, encodeFunctionData, encodeFunctionResult } from 'viem'
import { decodeFunctionResult } from 'viem/utils'
import { describe, expect, it } from 'vitest'
import { OptionEntryMistake } from '../../../collectors/values/mistake.ts'
import { type CallOption, viewCall } from '../../../collectors/values/view-function.ts'

const address = `0x${'ab'.repeat(20)}`

/** The value taken of what a contract returned. */
function taken(written: CallOption, ...returned: readonly unknown[]): bigint {
  const view = viewCall(written)
  const result = returned.length === 1 ? returned[0] : returned
  const data = encodeFunctionResult<Abi>({ abi: [view.abi], functionName: view.abi.name, result })
  return view.taken(decodeFunctionResult({ abi: [view.abi], functionName: view.abi.name, data }))
}

function mistakeOf(written: CallOption): { path: string; message: string } {
  try {
    viewCall(written)
  } catch (error) {
    if (error instanceof OptionEntryMistake) return { path: error.path.join('.'), message: error.message }
    throw error
  }
  throw new Error('there is no mistake')
}

const caps = 'caps(address asset) view returns (uint256 supply, uint256 borrow)'
const reserve = 'reserve() view returns ((uint128 index, (bool active, uint16 part) flags, uint8[2] lanes) data)'
const reserveData = { index: 7n, flags: { active: true, part: 9 }, lanes: [3, 4] }

describe('the value of a call', () => {
  it.each([
    ['an integer', { call: 'totalSupply() view returns (uint256)' }, [2n ** 255n], 2n ** 255n],
    ['an integer below zero', { call: 'delta() view returns (int128)' }, [-5n], -5n],
    ['a small integer', { call: 'decimals() pure returns (uint8)' }, [18], 18n],
    ['true', { call: 'paused() view returns (bool)' }, [true], 1n],
    ['false', { call: 'paused() view returns (bool)' }, [false], 0n],
    ['of a signature with the word function', { call: 'function a() view returns (uint256)' }, [1n], 1n],
    ['a named output', { call: caps, args: [address], take: 'borrow' }, [1n, 2n], 2n],
    ['an output by its place', { call: 'both() view returns (uint256, int8)', take: 1 }, [1n, -2], -2n],
    ['a single output by its name', { call: 'a() view returns (uint256 amount)', take: 'amount' }, [3n], 3n],
    ['a part of a tuple', { call: reserve, take: 'index' }, [reserveData], 7n],
    ['a part of a tuple that is named', { call: reserve, take: 'data.index' }, [reserveData], 7n],
    ['a part of a part', { call: reserve, take: 'flags.part' }, [reserveData], 9n],
    ['a bool of a part', { call: reserve, take: 'flags.active' }, [reserveData], 1n],
    ['a place of a list', { call: reserve, take: 'lanes.1' }, [reserveData], 4n],
    ['a part of a tuple without names', { call: 'a() view returns ((uint256, int256))', take: 1 }, [[1n, -3n]], -3n],
    [
      'a part of one tuple of two',
      { call: 'a() view returns ((uint8 x) p, (uint8 x) q)', take: 'q.x' },
      [{ x: 1 }, { x: 2 }],
      2n,
    ],
    ['a place of a list of any length', { call: 'all() view returns (uint256[])', take: 2 }, [[1n, 2n, 3n]], 3n],
  ] as const)('is %s', (_, written, returned, value) => {
    expect(taken(written, ...returned)).toBe(value)
  })

  it('is absent where the list is too short', () => {
    expect(() => taken({ call: 'all() view returns (uint256[])', take: 2 }, [1n])).toThrow(
      'all returned no number at 2',
    )
  })
})

describe('the arguments of a call', () => {
  it.each([
    ['uint256', [12, '340282366920938463463374607431768211456', '0xff'], [12n, 2n ** 128n, 255n]],
    ['int64', [-1, '-7'], [-1n, -7n]],
    ['bool', [true, false], [true, false]],
    ['address', [address.toUpperCase().replace('0X', '0x')], [address]],
    ['bytes4', ['0x01020304'], ['0x01020304']],
    ['bytes', ['0x'], ['0x']],
    ['string', ['ETH'], ['ETH']],
    ['uint8[]', [[1, 2]], [[1n, 2n]]],
    ['address[1]', [[address]], [[address]]],
    [
      '(uint8 a, bool b)',
      [{ a: 1, b: true }, [1, true]],
      [
        { a: 1n, b: true },
        { a: 1n, b: true },
      ],
    ],
    ['(uint8, bool)', [[1, true]], [[1n, true]]],
  ] as const)('of type %s are taken as they are written', (type, written, meant) => {
    for (const [place, each] of written.entries()) {
      const { abi, args } = viewCall({ call: `a(${type} x) view returns (uint256)`, args: [each] })
      expect(args).toEqual([meant[place]])
      expect(encodeFunctionData({ abi: [abi], functionName: 'a', args })).toMatch(/^0x/)
    }
  })
})

describe('a mistake in a call is reported at its place:', () => {
  const one = (type: string, written: unknown) => ({ call: `a(${type} x) view returns (uint256)`, args: [written] })

  it.each([
    [{ call: 'totalSupply' }, 'call', 'must be the signature of a view function, like "totalSupply() view returns'],
    [{ call: '' }, 'call', 'must be the signature of a view function'],
    [{ call: 'a(uint257) view returns (uint256)' }, 'call', 'must be the signature of a view function'],
    [{ call: 'totalSupply() returns (uint256)' }, 'call', 'must be a view function: write view before returns'],
    [{ call: 'a() payable returns (uint256)' }, 'call', 'must be a view function'],
    [{ call: 'a() view' }, 'call', 'must say what it returns'],
    [{ call: 'name() view returns (string)' }, 'call', 'must return an integer or a bool, not string'],
    [{ call: 'owner() view returns (address)' }, 'call', 'must return an integer or a bool, not address'],
    [{ call: 'key() view returns (bytes32)' }, 'call', 'must return an integer or a bool, not bytes32'],
    [{ call: caps, args: [address] }, 'call', 'returns 2 outputs: take says which one (supply, borrow)'],
    [{ call: caps, args: [address], take: 'suply' }, 'take', 'no output "suply": take one of supply, borrow'],
    [{ call: 'a() view returns (uint256)', take: 'b' }, 'take', 'there is no output b in uint256'],
    [{ call: 'a() view returns (uint8[])' }, 'call', 'of a list (uint8[]) take says the place, like take: 0'],
    [{ call: 'a() view returns (uint8[])', take: 'x' }, 'take', 'of a list (uint8[]) take says the place'],
    [{ call: caps, take: 'supply' }, 'args', 'caps takes 1 argument (address asset), not 0'],
    [{ call: 'a() view returns (uint8)', args: [1] }, 'args', 'a takes 0 arguments, not 1'],
    [one('address', '0x12'), 'args.0', 'must be an address in quotes: 0x and 40 hexadecimal digits'],
    [one('address', 0x12), 'args.0', 'must be an address in quotes'],
    [
      one('uint256', 2 ** 60),
      'args.0',
      'must be a whole number that fits uint256, and one beyond 2^53 is written in quotes',
    ],
    [one('uint8', 256), 'args.0', 'must be a whole number that fits uint8'],
    [one('uint8', -1), 'args.0', 'must be a whole number that fits uint8'],
    [one('uint8', 1.5), 'args.0', 'must be a whole number that fits uint8'],
    [one('bool', 'yes'), 'args.0', 'must be true or false'],
    [one('bytes4', '0x01'), 'args.0', 'must be bytes4 in quotes: 0x and hexadecimal digits'],
    [one('string', 5), 'args.0', 'must be text'],
    [one('uint8[]', 5), 'args.0', 'must be a list: uint8[]'],
    [one('uint8[2]', [1]), 'args.0', 'must be a list of 2: uint8[2]'],
    [one('uint8[]', [1, 'x']), 'args.0.1', 'must be a whole number that fits uint8'],
    [one('(uint8 a, bool b)', { a: 1 }), 'args.0', 'must be a map or a list of a, b'],
    [one('(uint8 a, bool b)', { a: 1, b: 2 }), 'args.0.b', 'must be true or false'],
  ] as const)('%j', (written, path, message) => {
    const mistake = mistakeOf(written)
    expect(mistake.path).toBe(path)
    expect(mistake.message).toContain(message)
  })
})
