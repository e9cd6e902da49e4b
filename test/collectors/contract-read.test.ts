import { parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { configured, hour } from '../runner/setup.ts'
import { answeringRunner, contractOf } from './answering-contract.ts'

const answering = answeringRunner()
const { runner, lines } = answering
const address = `0x${'11'.repeat(20)}`
const token = `0x${'22'.repeat(20)}`
const abi = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function rate() view returns (uint256)',
  'function zero() view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function caps(address asset) view returns (uint256 supply, uint256 borrow)',
])
const answers = {
  totalSupply: 1_234_567_890_123_456_789_012n,
  rate: 1_050_000_000_000_000_000_000_000_001n,
  zero: 0n,
  decimals: 6,
  caps: [5_000_000n, 7n],
}

const Supply = { call: 'totalSupply() view returns (uint256)', decimals: 18, unit: 'AWE', min: 0 }
const Rate = { call: 'rate() view returns (uint256)', decimals: 27, private: true }
const Cap = { call: 'caps(address asset) view returns (uint256 supply, uint256 borrow)', args: [token], take: 'supply' }

function run(
  values: Record<string, unknown>,
  { isRefused = () => false, ...own }: { isRefused?: (name: string) => boolean } = {},
) {
  answering.use(contractOf(abi, answers, isRefused))
  const options = { chain: 'demo', address, values, ...own }
  return configured('contract-read', { options })
}

async function collected(values: Record<string, unknown>, isRefused?: (name: string) => boolean) {
  const collector = run(values, isRefused ? { isRefused } : {})
  return runner.collect(collector, hour)
}

describe('contract-read', () => {
  it('reads view functions and computes with them exactly, rounded once at the end', async () => {
    const { readings, failures } = await collected({
      Supply,
      Rate,
      TVL: { product: ['Supply', 'Rate'], unit: 'USD' },
      Less: { difference: ['Supply', 1000, 0.1] },
      Share: { ratio: ['Cap', 'Supply'] },
      Cap: { ...Cap, decimals: true },
      Both: { sum: ['TVL', 'Cap', 2] },
    })
    expect(failures).toEqual({})
    expect(readings).toEqual({
      // As Python's fractions have them.
      Supply: 1234.567890123457,
      Rate: 1.05,
      TVL: 1296.2962846296296,
      Less: 234.46789012345678,
      Share: 0.00405000003645,
      Cap: 5,
      Both: 1303.2962846296296,
    })
  })

  it('is exact where doubles are not', async () => {
    const { readings } = await collected({ Sum: { sum: [0.1, 0.2] }, Zero: { difference: [0.3, 0.1, 0.2] } })
    expect(readings).toEqual({ Sum: 0.3, Zero: 0 })
  })

  it('has the decimals of a number, its own contract’s or a token’s', async () => {
    const { readings } = await collected({
      Raw: Cap,
      Fixed: { ...Cap, decimals: 2 },
      Own: { ...Cap, decimals: true },
      Token: { ...Cap, decimals: { address: token } },
    })
    expect(readings).toEqual({ Raw: 5_000_000, Fixed: 50_000, Own: 5, Token: 5 })
  })

  it('fails what needs a part that fails, and nothing else', async () => {
    const values = { Supply, Rate, TVL: { product: ['Supply', 'Rate'] }, Cap, Sum: { sum: ['TVL', 'Cap'] } }
    const { readings, failures } = await collected(values, name => name === 'rate')
    expect(readings).toEqual({ Supply: 1234.567890123457, Cap: 5_000_000 })
    expect(Object.keys(failures).sort()).toEqual(['Sum', 'TVL'])
    expect(failures['TVL']?.message).toContain('rate')
  })

  it('leaves out a private value that fails and that another does without, and fails one that nothing needs', async () => {
    answering.use(contractOf(abi, answers, name => name === 'rate'))
    const before = lines.length
    const collected = async (values: object) =>
      runner.collect(configured('contract-read', { options: { chain: 'demo', address, values } }), hour)
    const spared = await collected({ Supply, Rate, Known: { first: ['Rate', 'Supply'], private: true } })
    expect(spared.readings).toEqual({ Supply: 1234.567890123457, Known: 1234.567890123457 })
    expect(spared.failures).toEqual({})
    expect(Object.keys((await collected({ Supply, Rate })).failures)).toEqual(['Rate'])
    expect(lines.slice(before)).toEqual([])
  })

  it('fails a ratio by zero', async () => {
    const Zero = { call: 'zero() view returns (uint256)' }
    const { readings, failures } = await collected({ Zero, Ratio: { ratio: [1, 'Zero'] } })
    expect(readings).toEqual({ Zero: 0 })
    expect(failures['Ratio']?.message).toBe('the ratio is by Zero, which is 0')
  })

  it('declares what is sent or kept, with all that may stand at a value, and has a history', async () => {
    const collector = run({ Supply: { ...Supply, maxJump: '20%', module: 'm', max: 9 }, Rate })
    expect(await runner.describe(collector)).toEqual({
      kind: 'usable',
      history: true,
      metrics: { Supply: { unit: 'AWE', module: 'm', min: 0, max: 9, maxJump: '20%' }, Rate: { private: true } },
    })
  })

  const mistakes = [
    [{ A: { ...Supply, maxJump: '-20%' } }, ['values', 'A', 'maxJump'], 'a part of the last value like "20%"'],
    [{ A: { call: 'a() view returns (string)' } }, ['values', 'A', 'call'], 'must return an integer or a bool'],
    [{ A: { ...Cap, args: ['0x1'] } }, ['values', 'A', 'args', 0], 'must be an address in quotes'],
    [
      { A: {} },
      ['values', 'A'],
      'must have one of call, sum, product, difference, ratio, first, and has nothing of it',
    ],
    [
      { A: { ...Supply, sum: [1, 2] } },
      ['values', 'A'],
      'must have one of call, sum, product, difference, ratio, first, and has call and sum',
    ],
    ...['sum', 'difference', 'first'].map(
      kind =>
        [
          { A: { [kind]: ['B', 'C'] }, B: { ...Supply, unit: 'USD' }, C: { ...Cap, unit: 'shares' } },
          ['values', 'A', kind],
          'C is in shares, and B in USD: convert one of them by a product with a price or a rate before',
        ] as const,
    ),
    [{ A: { sum: ['toString', 1] } }, ['values', 'A', 'sum'], 'there is no value "toString": add it'],
    [{ A: { sum: ['B', 1] } }, ['values', 'A', 'sum'], 'there is no value "B": add it'],
    [{ A: { sum: ['TVL', 1] }, Tvll: Supply }, ['values', 'A', 'sum'], 'no value "TVL": did you mean Tvll?'],
    [
      { A: { sum: ['Other', 1] }, B: Supply, C: Cap },
      ['values', 'A', 'sum'],
      'there is no value "Other": add it, or name one of B, C; values of other collectors are for use: derived',
    ],
    [{ A: { sum: ['B', 1] }, B: { ratio: ['A', 2] } }, ['values', 'A'], 'needs itself: A → B → A'],
    [{ A: { sum: [1, 2], decimals: 6 } }, ['values', 'A', 'decimals'], 'belongs to a call, and this is a sum'],
    [{ A: { ratio: [1, 2, 3] } }, ['values', 'A', 'ratio'], 'must be a list of two'],
    [{ A: { sum: [1] } }, ['values', 'A', 'sum'], 'must be a list of two or more'],
    [{ A: { ...Supply, decimals: 256 } }, ['values', 'A', 'decimals'], 'must be at most 255'],
    [
      { 'Cap €': Cap },
      ['values', 'Cap €'],
      'must be a label of letters, digits, "-", "_" and ".", without "___": write Cap',
    ],
    [{ A: { call: 'a() view returns (address)', private: true } }, ['values'], 'must hold a number'],
    [{ A: { ...Supply, decimal: 6 } }, ['values', 'A', 'decimal'], 'unknown option "decimal"'],
  ] as const

  it('tells mistakes at their place', async () => {
    for (const [values, path, message] of mistakes) {
      const collector = configured('contract-read', { options: { chain: 'demo', address, values } })
      expect(await runner.describe(collector), JSON.stringify(values)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })

  const Owner = { call: 'owner() view returns (address)', private: true }
  const ofList = [
    [{ A: { ...Owner, private: false } }, ['values', 'A'], 'is an address, which cannot be sent: add private: true'],
    [{ A: Supply, T: { total: 'A' } }, ['values', 'A'], 'is of one item: add private: true, and send one of total'],
    [{ A: Owner, T: { total: 'A' } }, ['values', 'T', 'total'], 'A is an address, and this needs a number of one'],
    [{ Supply: { ...Supply, private: true }, T: { total: 'Suply' } }, ['values', 'T', 'total'], 'did you mean Supply?'],
    [{ T: { count: true }, U: { mean: 'T' } }, ['values', 'U', 'mean'], 'T is of all items, and this needs'],
    [
      { T: { count: true, atLeast: 0.5 } },
      ['values', 'T', 'atLeast'],
      'belongs to one of total, mean, highest, lowest',
    ],
    [{ T: { count: true, price: 'token' } }, ['values', 'T', 'price'], 'belongs to a call, and this is a count'],
    [
      { A: { ...Owner, args: [], address: 'B' }, B: { ...Owner, address: 'A' }, T: { count: true } },
      ['values', 'A'],
      'needs itself: A → B → A',
    ],
    [
      { A: { ...Supply, private: true, address: 'Nobody' }, T: { total: 'A' } },
      ['values', 'A', 'address'],
      'or the label of a value that is an address',
    ],
    [
      { Vault: Owner, A: { ...Supply, private: true, address: 'Valt' }, T: { total: 'A' } },
      ['values', 'A', 'address'],
      'did you mean Vault?',
    ],
    [
      { A: { ...Cap, private: true, args: ['itm'] }, T: { total: 'A' } },
      ['values', 'A', 'args', 0],
      'did you mean item?',
    ],
    [
      { A: { ...Cap, private: true, args: ['hour'] }, T: { total: 'A' } },
      ['values', 'A', 'args', 0],
      'must be an address',
    ],
    [{ A: { ...Owner, decimals: 6 }, T: { count: true } }, ['values', 'A', 'decimals'], 'belongs to a number'],
  ] as const

  it('tells mistakes of values over a list, and of dependent reads, at their place', async () => {
    for (const [values, path, message] of ofList) {
      const collector = configured('contract-read', { options: { chain: 'demo', each: 'pairs', values } })
      expect(await runner.describe(collector), JSON.stringify(values)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(message) }],
      })
    }
    const without = configured('contract-read', { options: { chain: 'demo', address, values: { T: { total: 'A' } } } })
    const message = 'is of the items of a list: add each: NAME next to values'
    expect(await runner.describe(without)).toMatchObject({ mistakes: [{ path: ['values', 'T', 'total'], message }] })
  })

  it('tells mistakes of a list at their place', async () => {
    const indexed = { length: 'n() view returns (uint256)', item: 'at(uint256) view returns (address)', address }
    const event = {
      event: 'Made(address indexed vault, uint256 size)',
      take: 'vault',
      since: '2024-05-01T00:00:00Z',
      address,
    }
    const cases = [
      [{}, [], 'must have one of length, array, event, url, fixed, and has nothing of it'],
      [{ ...indexed, fixed: [address] }, [], 'and has length and fixed'],
      [{ ...indexed, item: undefined }, ['item'], 'must be the function of one item'],
      [{ ...indexed, item: 'at(uint256) view returns (uint256)' }, ['item'], 'must return an address, not uint256'],
      [{ ...indexed, item: 'at() view returns (address)' }, ['item'], 'at takes 0 arguments, not 1'],
      [{ array: 'all() view returns (address)', address }, ['array'], 'must return a list of addresses, not address'],
      [{ ...event, take: 'size' }, ['take'], 'must be an argument that is an address, and size is uint256'],
      [{ ...event, take: 'pool' }, ['take'], 'Made has no argument "pool": it has vault, size'],
      [{ ...event, since: '2024-05-01T00:30:00Z' }, ['since'], 'must be a full UTC hour'],
      [{ url: 'https://a.test/tokens', pointer: '/a' }, ['url'], 'must contain {hour}'],
      [{ fixed: [address, address] }, ['fixed', 1], 'is there already'],
      [{ fixed: [address], take: 'a' }, ['take'], 'belongs to another kind of list, and this is of fixed'],
    ] as const
    for (const [options, path, words] of cases) {
      const list = configured('list', { options: { chain: 'demo', ...options } })
      expect(await runner.describe(list), JSON.stringify(options)).toMatchObject({
        kind: 'mistaken',
        mistakes: [{ path, message: expect.stringContaining(words) }],
      })
    }
  })

  it('needs an address for each call', async () => {
    answering.use(contractOf(abi, answers))
    const without = configured('contract-read', { options: { chain: 'demo', values: { Supply } } })
    expect(await runner.describe(without)).toMatchObject({ mistakes: [{ path: ['values', 'Supply', 'address'] }] })
    const own = configured('contract-read', { options: { chain: 'demo', values: { Supply: { ...Supply, address } } } })
    expect((await runner.collect(own, hour)).failures).toEqual({})
  })
})
