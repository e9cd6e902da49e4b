import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Address, parseAbi, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { derivedNumber } from '../../src/intake/derived/derived-values.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { log } from '../support/event-log.ts'
import { contractOf } from './answering-contract.ts'

/** Fate of a number that is made of nothing, after an hour in which it was made of something. */
type End = 'held' | 'fails' | '0'

const address = (digit: string): Address => `0x${digit.repeat(40)}`
const [pool, oracle, dex] = [address('a'), address('b'), address('c')]
const paid = 'Paid(address who, uint256 amount)'

/** A chain on which every list is empty, and one contract has emitted three events. */
const chain = contractOf(
  parseAbi([
    'function all() view returns (address[])',
    'function ADDRESSES_PROVIDER() view returns (address)',
    'function getReservesList() view returns (address[])',
    'function getPool() view returns (address)',
    'function getPriceOracle() view returns (address)',
    'function getPoolDataProvider() view returns (address)',
    'function numAssets() view returns (uint8)',
  ]),
  {
    all: [],
    ADDRESSES_PROVIDER: oracle,
    getReservesList: [],
    getPool: pool,
    getPriceOracle: oracle,
    getPoolDataProvider: oracle,
    numAssets: 0,
  },
  () => false,
  ({ topics: [topic] }) =>
    topic === toEventSelector(`event ${paid}`) ? [5n, 6n, 7n].map(amount => log(dex, paid, { who: pool, amount })) : [],
)

let source: Source
let runner: ProcessRunner
const lines: string[] = []
const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
beforeAll(async () => {
  source = await startSource(target => {
    if (target === '/rows.csv') return { body: 'v\n' }
    if (target.startsWith('/api/v1/query'))
      return { body: '{"status":"success","data":{"resultType":"vector","result":[]}}' }
    return { body: '{"rows":[],"pools":[{"v":1,"is":"OPEN"},{"v":2,"is":"SHUT"}]}' }
  })
  const list = configured('list', {
    options: { chain: 'demo', address: pool, array: 'all() view returns (address[])' },
  })
  runner = new ProcessRunner({
    ...{ chains: { demo: chain }, lists: { none: list }, deadlineMs: 60_000, time: systemTime },
    log: (_, __, message) => void lines.push(message),
  })
  new Database(`${folder}/rows.db`).exec('CREATE TABLE amount (v integer)').close()
})
afterAll(async () => {
  await runner.stop()
  await source.stop()
  rmSync(folder, { recursive: true, force: true })
})

const each = { each: 'none' }
const supply = { call: 'totalSupply() view returns (uint256)', private: true }
const read = (value: object) => ({ chain: 'demo', each: 'none', values: { S: supply, X: value } })
const json = (value: object) => ({ path: '/', ...value })
const event = { chain: 'demo', address: dex, event: paid, label: 'X' }
const sql = (query: string) => ({ path: `${folder}/rows.db`, query, values: { X: {} } })

const rows: readonly (readonly [use: string, options: Readonly<Record<string, unknown>>, end: End, said?: string])[] = [
  ['contract-read', read({ total: 'S' }), 'held'],
  ['contract-read', read({ total: 'S', atLeast: 0.5 }), 'held'],
  ['contract-read', read({ count: true }), 'held'],
  ['contract-read', read({ total: 'S', none: 0 }), '0'],
  ['contract-read', read({ count: true, none: 0 }), '0'],
  ['contract-read', read({ mean: 'S' }), 'fails'],
  ['contract-read', read({ highest: 'S' }), 'fails'],
  ['contract-read', read({ lowest: 'S' }), 'fails'],
  ['balances', { label: 'X', of: { demo: { owners: each, assets: [{ native: true }] } } }, 'held'],
  ['balances', { label: 'X', of: { demo: { owners: [dex], assets: [{ token: each, price: 'token' }] } } }, 'held'],
  ['balances', { label: 'X', none: 0, of: { demo: { owners: each, assets: [{ native: true }] } } }, '0'],
  ['erc20-supply', { chain: 'demo', token: each, label: 'X' }, 'held'],
  ['erc20-supply', { values: { X: { chain: 'demo', token: each, none: 0 } } }, '0'],
  ['erc4626-vault', { values: { X: { chain: 'demo', vault: each } } }, 'held'],
  ['erc4626-vault', { chain: 'demo', vault: each, none: 0 }, '0'],
  ['event-sum', { ...event, address: each, sum: 'amount' }, 'held'],
  ['event-sum', { ...event, address: each, count: true, none: 0 }, '0'],
  // The chain proves that there are none.
  ['event-sum', { ...event, event: 'Other(uint256 x)', sum: 'x' }, '0'],
  [
    'event-sum',
    { ...event, sum: 'amount', where: { amount: { min: 8 } } },
    '0',
    'X: none of 3 logs of Paid meets where',
  ],
  ['aave-v3', { chain: 'demo', pool, prefix: 'X' }, 'held'],
  ['compound-v3', { chain: 'demo', comet: pool, prefix: 'X' }, 'held'],
  ['list', { chain: 'demo', address: pool, array: 'all() view returns (address[])' }, 'held'],
  ['http-json', json({ pointer: '/rows/*/v', take: 'sum' }), 'held'],
  ['http-json', json({ pointer: '/rows/*', take: 'count' }), 'held'],
  ['http-json', json({ pointer: '/rows/*', take: 'count', none: 0 }), '0'],
  ['http-json', json({ pointer: '/rows/*/v', take: 'sum', pages: { parameter: 'page' } }), 'held'],
  ['http-json', json({ path: '/rows.csv', format: 'csv', pointer: '/v', take: 'sum' }), 'held'],
  ['http-json', json({ pointer: '/pools/*/v', take: 'sum', where: { '/is': 'open' } }), 'held', 'none of 2 items'],
  ['http-json', json({ pointer: '/rows/*/v', take: 'mean' }), 'fails'],
  ['http-json', json({ pointer: '/rows/*/v', take: 'min' }), 'fails'],
  ['http-json', json({ pointer: '/rows/*/v', where: {} }), 'fails'],
  ['http-json', json({ pointer: '/other/*/v', take: 'sum' }), 'fails'],
  [
    'http-json',
    json({ values: { S: { pointer: '/rows/*/v', take: 'sum', private: true }, X: { sum: ['S', 1] } } }),
    'fails',
    'S has no items: where that is 0, write none: 0 at it',
  ],
  ['prometheus', { path: '', values: { X: { query: 'sum(up)' } } }, 'fails'],
  ['sql', sql('SELECT v AS "X" FROM amount'), 'fails'],
  ['sql', sql('SELECT sum(v) AS "X" FROM amount'), 'fails'],
  // The word is in the query.
  ['sql', sql('SELECT coalesce(sum(v), 0) AS "X" FROM amount'), '0'],
]

/** Collectors that read one thing: it is there, or its read fails. */
const ofOne = ['chainlink-feed', 'host', 'price', 'token-price', 'uniswap-v2-pool', 'uniswap-v3-pool']

it('every shipped collector is in the table', () => {
  const files = readdirSync(new URL('../../collectors/', import.meta.url)).filter(name => name.endsWith('.ts'))
  const known = new Set([...rows.map(([use]) => use), ...ofOne, 'derived'])
  expect([...known].sort()).toEqual(files.map(name => name.slice(0, -3)).sort())
})

it.for(rows)('a number of nothing: %s %j %s', async ([use, { path, ...options }, end, said = '']) => {
  lines.length = 0
  const isHttp = ['http-json', 'prometheus'].includes(use)
  const more = isHttp ? { url: `${source.url}${String(path)}` } : path === undefined ? {} : { path }
  const collecting = runner.collect(configured(use, { options: { ...options, ...more } }), hour)
  const outcome = await collecting.catch((error: Error) => ({
    readings: {},
    failures: { X: error },
    ofNone: [] as string[],
  }))
  const [label = ''] = Object.keys({ ...outcome.readings, ...outcome.failures }).filter(each =>
    /^(X(Supplied|Collateral)?|Supply|TVL|Count|Value)$/.test(each),
  )
  const { readings, failures }: { readings: Record<string, number>; failures: Record<string, { message: string }> } =
    outcome
  const fault = failures[label]?.message
  expect(fault ?? outcome.ofNone?.includes(label)).toEqual(end === 'fails' ? expect.any(String) : end === 'held')
  expect(readings[label]).toBe(end === 'fails' ? undefined : 0)
  expect([...lines, fault].join()).toContain(said)
})

it.each(['sum', 'mean'] as const)('a derived %s of no hours fails by the name of its input', take => {
  const value = { kind: 'window', label: 'X', of: 'a___B', take, hours: 24, missing: take === 'mean' ? 23 : 0 } as const
  expect(() => derivedNumber(value as never, hour, () => ({ lacks: 'has no value' }))).toThrow(/a___B/)
})
