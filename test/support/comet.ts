import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseUnits, stringToHex } from 'viem'
import { type Artifact, artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import type { ProtocolChain } from './protocol-chain.ts'
import { parsedArtifact } from './published.ts'

/**
 * Folder with `Comet.json` and `CometExt.json`, each `{ abi, bytecode }`: Compound publishes no package with its compiled
 * contracts, and their licence keeps the sources out of this repository. Undefined when there is no such folder.
 */
export const cometArtifacts = process.env['COMET_ARTIFACTS']

/** A Comet with two collaterals, and the price feeds of these. */
export interface CometMarket {
  readonly comet: Deployed
  readonly base: Deployed
  readonly collaterals: Readonly<Record<'tide' | 'coin', Deployed>>
  readonly feeds: Readonly<Record<'tide' | 'coin', Deployed>>
}

export const usd = (price: string) => parseUnits(price, 8)

/** @throws Error where there are no artefacts */
export async function deployComet(chain: ProtocolChain): Promise<CometMarket> {
  const token = (name: string, decimals: number) => chain.deploy(artifact('Token'), [name, name, decimals])
  const feed = async (price: string) => {
    const deployed = await chain.deploy(artifact('Feed'), ['', 8])
    await chain.send(deployed, 'update', [usd(price)])
    return deployed
  }
  const [base, tide, coin] = [await token('USD', 6), await token('TIDE', 18), await token('COIN', 8)]
  const [baseFeed, tideFeed, coinFeed] = [await feed('1'), await feed('2.12345678'), await feed('98765.4321')]
  const name32 = stringToHex('Comet', { size: 32 })
  const extension = await chain.deploy(compoundContract('CometExt'), [{ name32, symbol32: name32 }])
  const percent = (part: bigint) => part * 10n ** 16n
  const asset = (of: Deployed, priceFeed: Deployed, decimals: number) => ({
    asset: of.address,
    priceFeed: priceFeed.address,
    decimals,
    borrowCollateralFactor: percent(80n),
    liquidateCollateralFactor: percent(85n),
    liquidationFactor: percent(95n),
    supplyCap: 10n ** BigInt(decimals + 9),
  })
  const configuration = {
    governor: chain.owner,
    pauseGuardian: chain.owner,
    baseToken: base.address,
    baseTokenPriceFeed: baseFeed.address,
    extensionDelegate: extension.address,
    supplyKink: percent(80n),
    supplyPerYearInterestRateSlopeLow: percent(4n),
    supplyPerYearInterestRateSlopeHigh: percent(40n),
    supplyPerYearInterestRateBase: 0n,
    borrowKink: percent(80n),
    borrowPerYearInterestRateSlopeLow: percent(5n),
    borrowPerYearInterestRateSlopeHigh: percent(30n),
    borrowPerYearInterestRateBase: percent(1n),
    storeFrontPriceFactor: percent(50n),
    trackingIndexScale: 10n ** 15n,
    baseTrackingSupplySpeed: 0n,
    baseTrackingBorrowSpeed: 0n,
    baseMinForRewards: 1_000_000n,
    baseBorrowMin: 1n,
    targetReserves: 0n,
    assetConfigs: [asset(tide, tideFeed, 18), asset(coin, coinFeed, 8)],
  }
  const comet = await chain.deploy(compoundContract('Comet'), [configuration])
  await chain.send(comet, 'initializeStorage')
  return { comet, base, collaterals: { tide, coin }, feeds: { tide: tideFeed, coin: coinFeed } }
}

function compoundContract(name: 'Comet' | 'CometExt'): Artifact {
  if (cometArtifacts === undefined) throw new Error('COMET_ARTIFACTS names no folder')
  return parsedArtifact(JSON.parse(readFileSync(join(cometArtifacts, `${name}.json`), 'utf8')))
}
