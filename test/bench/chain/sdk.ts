import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { LookUp } from '../../chain/support/synthetic-looked-up.ts'

/**
 * The best-known SDK that looks up blocks by time, `@defillama/sdk`, where somebody has installed it: it is no dependency of
 * this project. `TIDEGAUGE_BENCH_SDK` names the folder whose `node_modules` has it.
 */
export const sdkFolder = process.env['TIDEGAUGE_BENCH_SDK']

interface Sdk {
  setProvider(chain: string, provider: unknown): void
  lookupBlock(timestamp: number, options: object): Promise<{ number: number }>
}

interface Ethers {
  JsonRpcProvider: new (url: string, chainId: number, options: object) => { destroy(): void }
}

/**
 * Looks up with the SDK in its exact mode: the block that it takes for the nearest to the hour.
 *
 * @param cacheFolder an empty one
 */
export function sdkLookUp(folder: string, url: string, cacheFolder: string): { lookUp: LookUp; close(): void } {
  // It keeps the blocks it has seen on disk, for the next run, too.
  process.env['TVL_LOCAL_CACHE_ROOT_FOLDER'] = cacheFolder
  const require = createRequire(join(folder, 'bench.js'))
  const { setProvider } = require('@defillama/sdk') as Sdk
  const { lookupBlock } = require('@defillama/sdk/build/util/blocks') as Sdk
  const { JsonRpcProvider } = require('ethers') as Ethers
  const provider = new JsonRpcProvider(url, 1, { staticNetwork: true, batchStallTime: 1 })
  setProvider('ethereum', provider)
  const exact = { chain: 'ethereum', allowedTimeRange: 0, acceptableBlockImprecision: 1 }
  return {
    close: () => provider.destroy(),
    lookUp: hours => Promise.all(hours.map(async hour => (await lookupBlock(hour / 1_000, exact)).number)),
  }
}
