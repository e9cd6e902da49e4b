import { parseUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenChainReader } from '../../src/chain/read/reader.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured } from '../runner/setup.ts'
import { type CometMarket, cometArtifacts, deployComet, usd } from '../support/comet.ts'
import { exactly } from '../support/exactly.ts'
import { ProtocolChain } from '../support/protocol-chain.ts'
import { compoundedPercent } from './compounded-percent.ts'
import { collectorContract } from './contract.ts'

/** `COMET_ARTIFACTS=FOLDER npx vitest run` this file; `compound-v3.test.ts` repeats what was read here. */
describe.skipIf(cometArtifacts === undefined)('a market of Compound’s own contracts', () => {
  let chain: ProtocolChain
  let reader: OpenChainReader
  let runner: Runner
  let market: CometMarket
  let hours: readonly [Hour, Hour]
  let paused: Hour

  beforeAll(async () => {
    chain = await ProtocolChain.start()
    market = await deployComet(chain)
    const [borrower = chain.owner, other = chain.owner] = chain.others
    const { base, collaterals, feeds, comet } = market
    await supply(base, parseUnits('1000000.000001', 6), chain.owner)
    await supply(collaterals.tide, parseUnits('333333.333333333333333333', 18), borrower)
    await chain.send(comet, 'withdraw', [base.address, parseUnits('234567.890123', 6)], { from: borrower })
    const first = await chain.nextHour()
    await supply(collaterals.coin, 12_345_678_901n, other)
    await chain.send(comet, 'withdraw', [base.address, parseUnits('600000', 6)], { from: other })
    await chain.send(feeds.tide, 'update', [usd('1.87654321')])
    hours = [first, await chain.nextHour()]
    await chain.send(feeds.coin, 'update', [0n])
    paused = await chain.nextHour()
    await chain.send(feeds.tide, 'update', [usd('5')])
    await chain.nextHour()
    reader = chain.reader('demo')
    runner = new ProcessRunner({ chains: chains(), deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(async () => {
    await runner?.stop()
    reader?.close()
    await chain?.stop()
  })

  async function supply(asset: Deployed, amount: bigint, from: CometMarket['comet']['address']) {
    await chain.send(asset, 'mint', [from, amount], { from })
    await chain.send(asset, 'approve', [market.comet.address, 2n ** 256n - 1n], { from })
    await chain.send(market.comet, 'supply', [asset.address, amount], { from })
  }

  const chains = () => ({ demo: reader })
  const options = () => ({
    chain: 'demo',
    comet: market.comet.address,
    unit: 'USD',
    collaterals: { TIDE: market.collaterals.tide.address.toLowerCase(), COIN: market.collaterals.coin.address },
  })
  const collect = (hour: Hour, own: Record<string, unknown> = {}) =>
    runner.collect(configured('compound-v3', { options: { ...options(), ...own } }), hour)

  collectorContract('compound-v3', { use: 'compound-v3', options, hours: () => hours, chains })

  it('has what is supplied, borrowed and pledged, and rates, exactly', async () => {
    for (const hour of hours) {
      const raw = (name: string, ...args: unknown[]) => chain.read(market.comet, name, args, hour)
      const held = (asset: Deployed) =>
        chain.read<readonly [bigint, bigint]>(market.comet, 'totalsCollateral', [asset.address], hour)
      const [tide] = await held(market.collaterals.tide)
      const [coin] = await held(market.collaterals.coin)
      const used = await raw('getUtilization')
      const [supplyRate, borrowRate] = [await raw('getSupplyRate', used), await raw('getBorrowRate', used)]
      const tideWorth = tide * (hour === hours[0] ? 212_345_678n : 187_654_321n)
      const coinWorth = coin * 10n ** 10n * 9_876_543_210_000n
      const year = 31_536_000n
      const values = {
        Supplied: exactly(await raw('totalSupply'), 10n ** 6n),
        Borrowed: exactly(await raw('totalBorrow'), 10n ** 6n),
        Utilisation: exactly(used, 10n ** 16n),
        Collateral: exactly(tideWorth + coinWorth, 10n ** 26n),
        TIDECollateral: exactly(tideWorth, 10n ** 26n),
        COINCollateral: exactly(coinWorth, 10n ** 26n),
      }
      expect((await collect(hour)).readings).toEqual({
        ...values,
        SupplyAPR: exactly(supplyRate * year, 10n ** 16n),
        BorrowAPR: exactly(borrowRate * year, 10n ** 16n),
      })
      expect((await collect(hour, { rates: 'APY' })).readings).toEqual({
        ...values,
        SupplyAPY: compoundedPercent(supplyRate * year, 10n ** 18n),
        BorrowAPY: compoundedPercent(borrowRate * year, 10n ** 18n),
      })
      expect(values.Borrowed).toBeGreaterThan(200_000)
      expect(borrowRate).toBeGreaterThan(0n)
    }
  })

  it('fails the worth of a collateral without a price, and nothing else', async () => {
    const { readings, failures } = await collect(paused)
    expect(Object.keys(failures).sort()).toEqual(['COINCollateral', 'Collateral'])
    expect(failures['Collateral']?.message).toContain('getPrice reverted')
    expect(readings['TIDECollateral']).toBeGreaterThan(0)
  })

  it('reads an hour in three steps', async () => {
    expect(await chain.ethCalls(() => collect(hours[1]))).toBe(3)
  })
})
