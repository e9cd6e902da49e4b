import { afterAll, expect, it } from 'vitest'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured } from '../runner/setup.ts'

const runner = new ProcessRunner({ chains: {}, deadlineMs: 60_000, time: systemTime, log: () => {} })
afterAll(() => runner.stop())

const [address, other] = [`0x${'1a'.repeat(20)}`, `0x${'22'.repeat(20)}`]
const [event, count] = ['Paid(uint256 amount, address who)', true]
const chain = 'demo'

const events = (...all: readonly object[]) => ({
  chain,
  address,
  label: 'X',
  events: all.map(own => ({ event, ...own })),
})
const read = (X: object) => ({ chain, address, values: { A: { call: 'a() view returns (uint256)' }, X } })
const call = 'b() view returns (uint256)'
const json = (own: object) => ({ url: 'https://example.com', ...own })
const held = (own: object) => ({ of: { demo: { owners: [address], assets: [{ token: other }], ...own } } })
const ofEvents = { chain, address, event, take: 'who', since: '2026-11-20T13:00:00Z' }
const label = 'must be a label of letters, digits'
const ofList = 'belongs to a list, { each: NAME }'

const mistakes: readonly (readonly [use: string, options: object, path: string, message: string])[] = [
  // A wrong value.
  ['event-sum', events({ sum: 'amount' }, { sum: 'amount' }), 'events.1', 'is there already: it would count twice'],
  ['event-sum', events({ count }, { count, event: `${event};` }), 'events.1', 'it would count twice'],
  [
    'event-sum',
    events({ sum: 'amount', where: { who: other, amount: 1 } }, { sum: 'amount', where: { amount: 1, who: other } }),
    'events.1',
    'it would count twice',
  ],
  [
    'event-sum',
    events({ sum: 'amount', decimals: 18 }, { count }),
    'events.1.count',
    'is a number of logs, and another',
  ],
  ['event-sum', { ...events({ sum: 'amount' }), factor: 0 }, 'events.0.factor', 'must not be 0'],
  ['event-sum', events({ sum: 'amount', price: 'ETH' }), 'events.0.price', 'is of whole tokens, and this is'],
  ['contract-read', read({ call, price: 'ETH' }), 'values.X.price', 'is of whole tokens, and this is'],
  ['price', { sources: [{ fixed: 1 }], label: '' }, 'label', label],
  // None.
  ['token-price', { sources: [{ [address]: 'P' }] }, 'tokens', 'must be tokens by label, like'],
  ['token-price', { sources: [{ [address]: 'P' }], tokens: {} }, 'tokens', 'must be tokens by label, like'],
  ['erc20-supply', { chain, token: address, module: '' }, 'module', 'must not be empty'],
  ['erc20-supply', { chain, token: address, unit: 'x'.repeat(101) }, 'unit', 'must have at most 100 characters'],
  ['contract-read', read({ ratio: ['A', 0] }), 'values.X.ratio', 'must not be by 0'],
  ['contract-read', read({ ratio: ['A', '0.0'] }), 'values.X.ratio', 'must not be by 0'],
  ['derived', { values: { X: { ratio: ['A', 0] } } }, 'values.X.ratio', 'must not be by 0'],
  ['list', ofEvents, 'event', 'belongs to a list under lists:'],
  // Options without effect.
  ['contract-read', read({ call, atLeast: 0.5 }), 'values.X.atLeast', 'is of the items of a list: add each: NAME'],
  ['contract-read', read({ call, where: { A: 1 } }), 'values.X.where', 'is of the items of a list: add each: NAME'],
  ['erc20-supply', { chain, token: address, none: 0 }, 'none', ofList],
  ['erc20-supply', { chain, values: { X: { token: [address, other], none: 0 } } }, 'values.X.none', ofList],
  ['event-sum', { ...events({ count }), none: 0 }, 'none', ofList],
  ['balances', { ...held({}), none: 0 }, 'none', ofList],
  ['erc4626-vault', { chain, vault: address, none: 0 }, 'none', ofList],
  ['erc4626-vault', { chain, values: { X: { vault: address, take: 'SharePrice', none: 0 } } }, 'values.X.none', ofList],
  ['http-json', json({ pointer: '/a', maxAge: 5 }), 'maxAge', 'belongs to time'],
  ['http-json', json({ pointer: '/a/*', take: 'count', decimals: 2 }), 'decimals', 'belongs to an amount'],
  // The right place and words.
  ['uniswap-v3-pool', { chain, pool: address, prefix: 'a b' }, 'prefix', `${label}`],
  ['aave-v3', { chain, pool: address, prefix: '___' }, 'prefix', label],
  ['aave-v3', { chain, pool: address, reserves: { '': other } }, 'reserves.', label],
  ['aave-v3', { chain, pool: address, prefix: 'x', reserves: { '': other } }, 'reserves.', label],
  ['aave-v3', { chain, pool: address, prefix: 'a__', reserves: { _b: other } }, 'reserves._b', 'without "___"'],
  ['compound-v3', { chain, comet: address, collaterals: { 'a b': other } }, 'collaterals.a b', 'write ab'],
  ['balances', held({ assets: [] }), 'of.demo.assets', 'must not be empty'],
  [
    'erc20-supply',
    { chain, token: address, min: Number.POSITIVE_INFINITY },
    'min',
    'must be a number, and not infinite',
  ],
  [
    'derived',
    { values: { X: { of: 'A', take: 'annualised', hours: 3, missing: 1 } } },
    'values.X.missing',
    'is for mean, min, max: annualised needs all of its hours',
  ],
  [
    'contract-read',
    { chain, each: 'L', values: { A: { call, private: true }, X: { total: 'A', where: { A: { min: 5, max: 3 } } } } },
    'values.X.where.A.max',
    'must be at least min, which is 5: nothing is in between',
  ],
]

it.for(mistakes)('%s says a mistake at its place: %j', async ([use, options, path, message]) => {
  const description = await runner.describe(configured(use, { options: options as Record<string, unknown> }))
  const said = description.kind === 'mistaken' ? description.mistakes : []
  const found = said.map(each => ({ path: each.path.join('.'), message: each.message }))
  expect(found).toContainEqual({ path, message: expect.stringContaining(message) })
  expect(found.filter(each => each.path !== path)).toEqual([])
})

it('tells a source of prices an age without an instant, and a token in two spellings', async () => {
  const place = () => configured('price').place
  const url = 'https://example.com/{tokens}?at={hour}'
  const ofTokens = [
    { [address]: 'P', [address.toUpperCase().replace('X', 'x')]: 'Q' },
    { url, pointer: '/{token}', maxAge: 5 },
  ]
  for (const { collector } of [
    priceConfig('P', [{ url: 'https://example.com?at={hour}', pointer: '/a', maxAge: 5 }], place),
    tokenPriceConfig(chain, [ofTokens[1]], place),
  ])
    expect(await runner.describe(collector)).toMatchObject({
      mistakes: [{ message: expect.stringMatching(/^belongs to time/) }],
    })
  expect(await runner.describe(tokenPriceConfig(chain, [ofTokens[0]], place).collector)).toMatchObject({
    mistakes: [{ message: 'is there already: remove one of the two' }],
  })
})

it('takes what may be meant', async () => {
  const meant: readonly (readonly [string, object])[] = [
    ['event-sum', events({ sum: 'amount', where: { amount: 1 } }, { sum: 'amount', where: { amount: 2 } })],
    ['event-sum', events({ sum: 'amount' }, { count })],
    ['event-sum', events({ sum: 'amount', price: 'ETH', factor: 1e-18 })],
    ['erc20-supply', { chain, token: { each: 'L' }, none: 0 }],
    ['balances', { ...held({ owners: { each: 'L' } }), none: 0 }],
    ['token-price', { sources: [{ [address]: 'P' }], tokens: { AAVE: address } }],
  ]
  for (const [use, options] of meant)
    expect(await runner.describe(configured(use, { options: options as Record<string, unknown> }))).toMatchObject({
      kind: 'usable',
    })
})
