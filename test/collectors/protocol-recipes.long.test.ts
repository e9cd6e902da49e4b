import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Address, encodeAbiParameters, parseAbiParameters, parseUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { tinyContract } from '../cli/commands/tiny-contract.ts'
import { type Source, startSource } from '../runner/source.ts'
import { aaveContract, deployAave } from '../support/aave.ts'
import { command } from '../support/command.ts'
import { ownContract, uniswapContract } from '../support/contracts.ts'
import { exactly } from '../support/exactly.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { publishedContract } from '../support/published.ts'
import { configured } from '../support/tidegauge.ts'
import { protocolPages } from './recipe-answers.ts'

/** A number of hours in which each window of the pages is full. */
const hoursCount = 244

let chain: ProtocolChain
let source: Source
let hours: readonly Hour[]
const hourOf = (place: number) => hours.at(place) as Hour

/** Transactions of an hour, by its place from the first. */
type Play = (place: number) => Promise<void>
const plays: Play[] = []

/** A price in millionths of a dollar, which differs by token and hour. */
function microDollars(token: string, hour: Hour): bigint {
  const number = (BigInt(token) % 10_007n) + BigInt(hour / 3_600_000)
  return 900_000n + ((number * 7_919n) % 1_300_000n)
}

/** DefiLlama's prices, asked for half an hour before the hour. */
function llama(target: string) {
  const [, seconds = '', tokens = ''] = /\/prices\/historical\/(\d+)\/([^?]+)/.exec(target) ?? []
  const hour = hourAt((Number(seconds) + 1_800) * 1000)
  const coins = tokens.split(',').map(name => {
    const price = Number(microDollars(name.replace('ethereum:', ''), hour)) / 1e6
    return [name, { decimals: 18, symbol: 'X', price, timestamp: Number(seconds) + 60, confidence: 0.99 }]
  })
  return { body: JSON.stringify({ coins: Object.fromEntries(coins) }) }
}

beforeAll(async () => {
  source = await startSource(llama)
  // The last hour is well before the current one, so that none turns meanwhile.
  chain = await ProtocolChain.start(1, hourAfter(hourAt(systemTime.nowMs()), -hoursCount - 1))
  const pages = [await dex(), await pools(), await vaults(), await staking(), await lending()]
  deployed = Object.assign({}, ...pages)
  const all: Hour[] = []
  while (all.length < hoursCount) {
    for (const play of plays) await play(all.length)
    all.push(await chain.nextHour())
  }
  await chain.nextHour()
  hours = all
})
afterAll(async () => {
  await chain?.stop()
  await source?.stop()
})

/** The addresses of the pages, by those of the contracts that stand in their place. */
let deployed: Readonly<Record<string, Address>>

/** A configuration of a page, on the contracts of this chain. */
function recipe(page: string, nth = 0) {
  const text = readFileSync(new URL(`../../docs/recipes/${page}`, import.meta.url), 'utf8')
  const written = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block)[nth] ?? ''
  const own = written
    .replaceAll('https://coins.llama.fi', source.url)
    .replace(/since: "[^"]+"/, `since: "${hourText(hourOf(0))}"`)
    .replaceAll(/0x[0-9a-fA-F]{40}/g, address => {
      const here = deployed[address]
      if (!here) throw new Error(`${page} has ${address}, which stands for nothing here`)
      return here
    })
  const { folder, config } = configured(own)
  return {
    run: (...args: string[]) => command([...args, '--config', config], { ETHEREUM_RPC_URL: chain.url }),
    /** Stored values, by label. */
    stored(hour: Hour): Record<string, number> {
      const database = new Database(join(folder, 'data/embedded/outbox.db'), { readonly: true })
      const rows = database.prepare('SELECT metric, value FROM metric_values WHERE hour = ?').all(hourText(hour))
      database.close()
      const all = rows as { readonly metric: string; readonly value: number }[]
      return Object.fromEntries(all.map(({ metric, value }) => [metric.replace(/^.*___/, ''), value]))
    },
  }
}

/**
 * Collects hours by `backfill`, the last of which has all values, and that one by `collect`: the same.
 *
 * @param ranges the first and the last hour of each, from the end
 */
async function lastHour(page: string, ranges: readonly (readonly [number, number])[], nth = 0) {
  const { run, stored } = recipe(page, nth)
  const checked = await run('check')
  expect([checked.code, checked.stderr]).toEqual([0, ''])
  let said = ''
  for (const [from, to] of ranges) {
    said += (await run('backfill', '--from', hourText(hourOf(from)), '--to', hourText(hourOf(to)))).stdout
  }
  const values = stored(hourOf(-1))
  const labels = [...checked.stdout.matchAll(/___(\w+)/g)].map(([, label = '']) => label)
  expect(Object.keys(values).sort(), said).toEqual(labels.sort())
  const dry = await run('collect', '--dry-run', '--hour', hourText(hourOf(-1)), '--json')
  type Listed = Readonly<Record<'metrics' | 'private', readonly { readonly id: string; readonly value: number }[]>>
  const { metrics, private: kept } = JSON.parse(dry.stdout) as Listed
  const again = [...metrics, ...kept].map(({ id, value }) => [id.replace(/^.*___/, ''), value])
  expect(Object.fromEntries(again), 'bit for bit').toEqual(values)
  return { values, stored }
}

/** Amounts of tokens in US dollars, as a quotient of whole numbers. */
interface Amount {
  readonly token: Deployed
  readonly amount: bigint
}
const decimalsOf = new Map<string, number>()
const usd = (amounts: readonly Amount[], hour: Hour) =>
  amounts.reduce((sum, { token: { address }, amount }) => {
    const missing = BigInt(18 - (decimalsOf.get(address) ?? 0))
    return sum + amount * 10n ** missing * microDollars(address, hour)
  }, 0n)
const usdUnit = 10n ** 24n

async function token(name: string, decimals: number): Promise<Deployed> {
  const own = await chain.deploy(artifact('Token'), [name, name, decimals])
  decimalsOf.set(own.address, decimals)
  return own
}

/** A double as a whole number of this unit, exactly. */
const unit = 2n ** 80n
const inUnits = (double: number) => BigInt(double * Number(unit))
const sumOf = (doubles: readonly number[]) =>
  exactly(
    doubles.reduce((sum, each) => sum + inUnits(each), 0n),
    unit,
  )

const trades: (Amount & { readonly place: number })[] = []
const pairs: { readonly pair: Deployed; readonly sides: readonly Deployed[]; readonly place: number }[] = []

/** Pairs that are born in different hours, and trades in both directions. */
async function dex(): Promise<Record<string, Address>> {
  const factory = await chain.deploy(uniswapContract('UniswapV2Factory'), [chain.owner])
  const trader = await chain.deploy(artifact('Trader'))
  const tokens = [await token('USD', 6), await token('TIDE', 18), await token('COIN', 8)]
  for (const each of tokens) await chain.send(each, 'mint', [trader.address, 10n ** 27n])
  const whole = (of: Deployed, count: bigint) => count * 10n ** BigInt(decimalsOf.get(of.address) ?? 0)
  const born: Readonly<Record<number, readonly [number, number]>> = {
    [hoursCount - 40]: [0, 1],
    [hoursCount - 20]: [1, 2],
    [hoursCount - 3]: [2, 0],
  }
  plays.push(async place => {
    const sides = born[place]?.map(each => tokens[each] as Deployed)
    if (sides) {
      const [a, b] = sides as [Deployed, Deployed]
      await chain.send(factory, 'createPair', [a.address, b.address])
      const address = await chain.read<Address>(factory, 'getPair', [a.address, b.address])
      pairs.push({ pair: { address, abi: uniswapContract('UniswapV2Pair').abi }, sides, place })
      await chain.send(trader, 'addLiquidity', [address, a.address, whole(a, 9_001n), b.address, whole(b, 7_003n)])
    }
    if (place % 3 !== 0) return
    for (const [index, { pair, sides }] of pairs.entries()) {
      const sold = sides[(place / 3 + index) % 2] as Deployed
      const amount = whole(sold, 3n) / 7n + BigInt(place)
      await chain.send(trader, 'sell', [pair.address, sold.address, amount])
      trades.push({ token: sold, amount, place })
    }
  })
  return { '0x115934131916C8b277DD010Ee02de363c09d037c': factory.address }
}

describe('a DEX on a Uniswap V2 factory', () => {
  it('has TVL of the hour, volume and fees of 24, as computed in whole numbers', async () => {
    const { values, stored } = await lastHour('uniswap-v2.md', [[-27, -1]])
    const volumes = Array.from({ length: 24 }, (_, back) => {
      const [place, hour] = [hoursCount - 1 - back, hourOf(-1 - back)]
      const sold = usd(
        trades.filter(each => each.place === place),
        hour,
      )
      return { hour, volume: exactly(sold, usdUnit) }
    })
    for (const { hour, volume } of volumes) {
      const place = hours.indexOf(hour)
      const alive = pairs.filter(each => each.place <= place)
      const held = alive.flatMap(({ pair, sides }) =>
        sides.map(async each => ({ token: each, amount: await chain.read(each, 'balanceOf', [pair.address], hour) })),
      )
      const TVL = exactly(usd(await Promise.all(held), hour), usdUnit)
      expect(stored(hour)).toMatchObject({ TVL, Pairs: alive.length, Volume: volume })
    }
    expect(new Set(volumes.map(({ volume }) => volume)).size).toBeGreaterThan(8)
    expect(values['Volume24h']).toBe(sumOf(volumes.map(({ volume }) => volume)))
    expect(values['Fees24h']).toBeCloseTo(0.003 * sumOf(volumes.map(({ volume }) => volume)), 9)
  })
})

const movedInPool: (Amount & { readonly place: number })[] = []
let pool: { readonly address: Address; readonly sides: readonly Deployed[] }

/** A pool of Uniswap's own V3 contracts. */
async function pools(): Promise<Record<string, Address>> {
  const core = (name: string) => publishedContract(`@uniswap/v3-core/artifacts/contracts/${name}.sol/${name}.json`)
  const periphery = (name: string) =>
    publishedContract(`@uniswap/v3-periphery/artifacts/contracts/${name}.sol/${name}.json`)
  const weth = await chain.deploy(aaveContract('dependencies/weth/WETH9'))
  const factory = await chain.deploy(core('UniswapV3Factory'))
  const manager = await chain.deploy(periphery('NonfungiblePositionManager'), [
    factory.address,
    weth.address,
    chain.owner,
  ])
  const router = await chain.deploy(periphery('SwapRouter'), [factory.address, weth.address])
  const both = [await token('ONE', 18), await token('TWO', 18)]
  const sides = both.sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1)) as [Deployed, Deployed]
  const [token0, token1] = sides.map(each => each.address) as [Address, Address]
  const never = 2n ** 255n
  for (const each of sides) {
    await chain.send(each, 'mint', [chain.owner, 10n ** 27n])
    for (const { address } of [manager, router]) await chain.send(each, 'approve', [address, never])
  }
  plays.push(async place => {
    if (place === hoursCount - 30) {
      await chain.send(manager, 'createAndInitializePoolIfNecessary', [token0, token1, 3_000, 2n ** 96n])
      pool = { address: await chain.read(factory, 'getPool', [token0, token1, 3_000]), sides }
      const range = { tickLower: -6_000, tickUpper: 6_000, amount0Desired: 10n ** 24n, amount1Desired: 10n ** 24n }
      const least = { amount0Min: 0n, amount1Min: 0n, recipient: chain.owner, deadline: never }
      await chain.send(manager, 'mint', [{ token0, token1, fee: 3_000, ...range, ...least }])
    }
    if (place < hoursCount - 24 || place % 5 !== 0) return
    const held = () => chain.read(sides[0], 'balanceOf', [pool.address])
    const before = await held()
    const [tokenIn, tokenOut] = place % 2 === 0 ? [token0, token1] : [token1, token0]
    const between = { tokenIn, tokenOut, fee: 3_000, recipient: chain.owner, deadline: never }
    const limits = { amountIn: 10n ** 20n + BigInt(place), amountOutMinimum: 0n, sqrtPriceLimitX96: 0n }
    await chain.send(router, 'exactInputSingle', [{ ...between, ...limits }])
    const moved = (await held()) - before
    movedInPool.push({ token: sides[0], amount: moved < 0n ? -moved : moved, place })
  })
  return { '0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F': factory.address }
}

describe('a DEX on a Uniswap V3 factory', () => {
  it('has TVL, and the volume of the hour and of 24, as computed in whole numbers', async () => {
    const { values, stored } = await lastHour('uniswap-v3.md', [[-27, -1]])
    const volumes = Array.from({ length: 24 }, (_, back) => {
      const moved = movedInPool.filter(({ place }) => place === hoursCount - 1 - back)
      return exactly(usd(moved, hourOf(-1 - back)), usdUnit)
    })
    for (const [back, volume] of volumes.entries()) {
      const hour = hourOf(-1 - back)
      const held = pool.sides.map(async each => {
        return { token: each, amount: await chain.read(each, 'balanceOf', [pool.address], hour) }
      })
      const TVL = exactly(usd(await Promise.all(held), hour), usdUnit)
      expect(stored(hour)).toMatchObject({ TVL, Pools: 1, Volume: volume })
    }
    expect(values['Volume24h']).toBe(sumOf(volumes))
    expect(values['Volume24h']).toBeGreaterThan(0)
  })
})

const family: { readonly vault: Deployed; readonly asset: Deployed }[] = []

/** Two vaults of different assets, whose yield is what is sent to them. */
async function vaults(): Promise<Record<string, Address>> {
  for (const decimals of [6, 18]) {
    const asset = await token('ASSET', decimals)
    const vault = await chain.deploy(artifact('Vault'), [asset.address, 'Vault', 'V'])
    const amount = parseUnits('1234567.654321', decimals)
    await chain.send(asset, 'mint', [chain.owner, amount])
    await chain.send(asset, 'approve', [vault.address, amount])
    await chain.send(vault, 'deposit', [amount, chain.owner])
    family.push({ vault, asset })
  }
  const addresses = family.map(({ vault }) => vault.address)
  const listed = encodeAbiParameters(parseAbiParameters('address[]'), [addresses])
  const list = await chain.deploy(tinyContract({ 'allTokens()': listed }, 'reverts'))
  plays.push(async place => {
    if (place % 20 !== 0) return
    for (const { vault, asset } of family) await chain.send(asset, 'mint', [vault.address, 87_654_321n + BigInt(place)])
  })
  return {
    '0x54B91A0D94cb471F37f949c60F7Fa7935b551D03': list.address,
    '0x9Fb7b4477576Fe5B32be4C1843aFB1e55F251B33': addresses[0] as Address,
  }
}

describe('a family of vaults', () => {
  it('has TVL, the price of a share, and the APY of a week, as computed in whole numbers', async () => {
    const { values, stored } = await lastHour('vaults.md', [
      [-169, -165],
      [-1, -1],
    ])
    const { vault, asset } = family[0] as (typeof family)[number]
    for (const hour of [hourOf(-169), hourOf(-165), hourOf(-1)]) {
      const held = family.map(async ({ vault, asset }) => {
        return { token: asset, amount: await chain.read(asset, 'balanceOf', [vault.address], hour) }
      })
      const TVL = exactly(usd(await Promise.all(held), hour), usdUnit)
      // As ERC-4626 of OpenZeppelin has it: a virtual share and a virtual unit of the asset.
      const assets = await chain.read(asset, 'balanceOf', [vault.address], hour)
      const shares = await chain.read(vault, 'totalSupply', [], hour)
      const price = (10n ** 18n * (assets + 1n)) / (shares + 1n)
      expect(stored(hour)).toMatchObject({ TVL, SharePrice: exactly(price, 10n ** 18n) })
    }
    const [then = 0, now = 0] = [hourOf(-169), hourOf(-1)].map(hour => stored(hour)['SharePrice'])
    expect(now).toBeGreaterThan(then)
    expectCompounded(values['APY7d'] ?? 0, now, then, [365n, 7n])
  })
})

/** That a double is the one nearest to a growth in percent, compounded by the power of a fraction. */
function expectCompounded(double: number, now: number, then: number, [power, root]: readonly [bigint, bigint]): void {
  const half = 2 ** (Math.floor(Math.log2(double)) - 53)
  // (1 + p / 100)^root against (now / then)^power.
  const hundred = 100n * unit
  const compare = (percent: bigint) =>
    (hundred + percent) ** root * inUnits(then) ** power - inUnits(now) ** power * hundred ** root
  expect(compare(inUnits(double) - inUnits(half)) <= 0n, `${double} is too high`).toBe(true)
  expect(compare(inUnits(double) + inUnits(half)) >= 0n, `${double} is too low`).toBe(true)
}

let staked: Deployed

async function staking(): Promise<Record<string, Address>> {
  staked = await chain.deploy(await ownContract('Staked'))
  const feed = await chain.deploy(artifact('Feed'), ['ETH / USD', 8])
  await chain.send(staked, 'mint', [chain.owner, parseUnits('321.123456789', 18)])
  plays.push(async place => {
    // Prices are read in these hours alone.
    const isRead = [hoursCount - 241, hoursCount - 1].includes(place)
    if (isRead) await chain.send(feed, 'update', [parseUnits('3001.25', 8) + BigInt(place)])
    if (place % 24 === 0) await chain.send(staked, 'update', [10n ** 18n + BigInt(place) * 10n ** 14n])
  })
  return {
    '0xae78736Cd615f374D3085123A210448E74Fc6393': staked.address,
    '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419': feed.address,
    '0xBA12222222228d8Ba445958a75a0704d566BF2C8': chain.owner,
  }
}

describe('a liquid staking token', () => {
  const price = () => parseUnits('3001.25', 8) + BigInt(hoursCount - 1)
  const supply = parseUnits('321.123456789', 18)

  it('has its rate, TVL, APR and APY', async () => {
    const { values, stored } = await lastHour('liquid-staking.md', [
      [-241, -241],
      [-1, -1],
    ])
    const rate = await chain.read(staked, 'getExchangeRate', [], hourOf(-1))
    const TVL = exactly(supply * rate * price(), 10n ** 44n)
    expect(values).toMatchObject({ Supply: 321.123456789, Rate: exactly(rate, 10n ** 18n), TVL })
    const { Rate: then = 0 } = stored(hourOf(-241))
    const now = values['Rate'] ?? 0
    const growth = exactly(100n * (inUnits(now) - inUnits(then)), inUnits(then))
    expect(values['Growth10d']).toBe(growth)
    expect(values['APR10d']).toBe(exactly(inUnits(growth) * 73n, 2n * unit))
    expectCompounded(values['APY10d'] ?? 0, now, then, [73n, 2n])
  })

  it('is a price by its rate', async () => {
    const { values } = await lastHour('liquid-staking.md', [[-1, -1]], 1)
    const rate = await chain.read(staked, 'getExchangeRate', [], hourOf(-1))
    expect(values).toEqual({ Treasury: exactly(supply * rate * price(), 10n ** 44n) })
  })
})

/** A market of Aave's own contracts. */
async function lending(): Promise<Record<string, Address>> {
  const market = await deployAave(chain)
  const asset = await market.list({ symbol: 'WETH', decimals: 18, price: '3000' })
  await chain.send(asset, 'mint', [chain.owner, parseUnits('1000', 18)])
  await chain.send(asset, 'approve', [market.pool.address, 2n ** 256n - 1n])
  await chain.send(market.pool, 'supply', [asset.address, parseUnits('1000', 18), chain.owner, 0])
  plays.push(async place => {
    if (place !== hoursCount - 12) return
    await chain.send(market.pool, 'borrow', [asset.address, parseUnits('250', 18), 2n, 0, chain.owner])
  })
  return {
    '0xc3d688B66703497DAA19211EEdff47f25384cdc3': (await comet()).address,
    '0xC13e21B648A5Ee794902342038FF3aDAB66BE987': market.pool.address,
    '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2': asset.address,
  }
}

/** Answers as a market of Compound III: its compiled contracts are in no package. */
function comet(): Promise<Deployed> {
  const words = (...numbers: readonly bigint[]) =>
    `0x${numbers.map(each => each.toString(16).padStart(64, '0')).join('')}` as const
  const factor = 8n * 10n ** 17n
  const answers = {
    'decimals()': words(6n),
    'totalSupply()': words(1_000_006_113_403n),
    'totalBorrow()': words(834_574_117_500n),
    'getUtilization()': words(834_567_631_451_841_985n),
    'getSupplyRate(uint256)': words(1_453_166_304n),
    'getBorrowRate(uint256)': words(1_914_329_318n),
    'numAssets()': words(1n),
    'getAssetInfo(uint8)': words(0n, 0x22n, 0x44n, 10n ** 18n, factor, factor, factor, 10n ** 27n),
    'totalsCollateral(address)': words(12_345n * 10n ** 18n, 0n),
    'getPrice(address)': words(187_654_321n),
  }
  return chain.deploy(tinyContract(answers, 'reverts'))
}

describe('a lending market', () => {
  it('has TVL, how much of it is used, and its change since the day before', async () => {
    const { values, stored } = await lastHour('lending.md', [
      [-25, -25],
      [-1, -1],
    ])
    const { Supplied = 0, Borrowed = 0, TVL = 0 } = values
    expect(Supplied).toBeGreaterThan(3_000_000)
    expect(Borrowed).toBeGreaterThan(750_000)
    expect(TVL).toBe(exactly(inUnits(Supplied) - inUnits(Borrowed), unit))
    const share = exactly(inUnits(Borrowed), inUnits(Supplied))
    expect(values).toMatchObject({ BorrowedShare: share, Utilisation: exactly(100n * inUnits(share), unit) })
    expect(stored(hourOf(-25))['TVL']).toBe(3_000_000)
    expect(values['TVLChange24h']).toBe(exactly(inUnits(TVL) - inUnits(3_000_000), unit))
  })
})

it('a market of Compound III has what is held in it', async () => {
  const { values } = await lastHour('lending.md', [[-1, -1]], 1)
  const [Supplied, Borrowed, Collateral] = [1_000_006.113403, 834_574.1175, 23_165.925927_45]
  const Deposits = sumOf([Supplied, Collateral])
  expect(values).toMatchObject({ Supplied, Borrowed, Collateral, Deposits, TVL: sumOf([Deposits, -Borrowed]) })
})

it('every page of a protocol is run here', () => {
  expect(protocolPages).toEqual(['lending.md', 'liquid-staking.md', 'uniswap-v2.md', 'uniswap-v3.md', 'vaults.md'])
})
