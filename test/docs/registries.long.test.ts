import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { configured, tidegauge } from '../support/tidegauge.ts'

const script = fileURLToPath(new URL('../../docs/coming-from/defillama-registries.mjs', import.meta.url))
const [a, b, c] = ['1', '2', '3'].map(digit => `'0x${digit.repeat(40)}'`)

/** Entries in the shape of the registries, made as their `utils.js` makes them. */
const checkout = {
  'projects/helper/coreAssets.json': `{ "null": "0x${'0'.repeat(40)}", "base": { "USDC": "0x${'4'.repeat(40)}" } }`,
  'registries/utils.js': `const { staking } = require('../projects/helper/staking')
    exports.buildProtocolExports = (configs, build) => Object.fromEntries(Object.entries(configs).map(([name, { _options, methodology, ...chains }]) => {
      const made = build(chains, _options)
      for (const [chain, { staking: own, pool2 }] of Object.entries(chains)) {
        if (made[chain] && own) made[chain].staking = Array.isArray(own) ? staking(...own) : staking(own)
        if (made[chain] && pool2) made[chain].pool2 = pool2
      }
      return [name, { ...made, methodology }]
    }))`,
  'registries/sumTokens.js': `const { sumTokensExport } = require('../projects/helper/sumTokens')
    const ADDRESSES = require('../projects/helper/coreAssets.json')
    const { staking } = require('../projects/helper/staking')
    module.exports = {
      holds: {
        base: { tvl: sumTokensExport({ owner: ${a}, tokens: [ADDRESSES.null, ADDRESSES.base.USDC], chain: 'base' }), staking: staking(${a}, ${b}) },
        bsc: { tvl: sumTokensExport({ tokensAndOwners: [[ADDRESSES.null, ${a}], [${b}, ${c}]], chain: 'bsc' }) },
      },
      sol: { solana: { tvl: sumTokensExport({ owner: 'HjHS', chain: 'solana' }) } },
      lps: { base: { tvl: sumTokensExport({ owner: ${a}, tokens: [${b}], resolveLP: true, chain: 'base' }) } },
    }`,
  'registries/stakingOnly.js': `module.exports = require('./utils').buildProtocolExports({
      stakes: { methodology: 'What is staked.', base: { staking: [${a}, ${b}], pool2: [${a}, [${c}]] }, bsc: { staking: { owners: [${a}], tokens: [${b}], lps: [${c}] } } },
    }, chains => Object.fromEntries(Object.keys(chains).map(chain => [chain, { tvl: () => ({}) }])))`,
  'registries/erc4626.js': `const { sumERC4626VaultsExport2 } = require('../projects/helper/erc4626')
    module.exports = require('./utils').buildProtocolExports({ 'My Vaults': { base: [${a}], bsc: { vaults: [${b}] } } },
      chains => Object.fromEntries(Object.entries(chains).map(([chain, own]) => [chain, { tvl: sumERC4626VaultsExport2({ vaults: own.vaults ?? own }) }])))`,
  'registries/uniswapV2.js': `const { getUniTVL } = require('../projects/helper/unknownTokens')
    module.exports = require('./utils').buildProtocolExports({ v2: { base: ${a} }, odd: { _options: { abis: {} }, base: ${a} } },
      (chains, options) => Object.fromEntries(Object.entries(chains).map(([chain, factory]) => [chain, { tvl: getUniTVL({ factory, useDefaultCoreAssets: true, ...options }) }])))`,
  'registries/uniswapV3.js': `const { uniV3Export } = require('../projects/helper/uniswapV3')
    module.exports = require('./utils').buildProtocolExports({
      v3: { base: { factory: ${a}, fromBlock: 5 }, linea: { factory: ${a}, fromBlock: 5, isAlgebra: true, staking: [${a}, ${b}] } },
    }, uniV3Export)`,
}

it.each([
  [
    'sumTokens',
    ['holds___TVL', 'holds___Staking'],
    ['sol: solana: tvl: no id of this chain is known here', 'lps: base: tvl: resolveLP must be written by hand'],
  ],
  ['stakingOnly', ['stakes___Staking'], ['stakes: base: pool2 must be', 'stakes: bsc: staking: lps must be']],
  ['erc4626', ['my-vaults___TVL'], []],
  ['uniswapV2', ['v2___TVL'], ['odd: base: tvl: abis must be written by hand']],
  ['uniswapV3', ['v3___TVL', 'v3___Staking'], []],
] as const)('entries of the registry %s become a configuration that check takes', async (name, sent, cannot) => {
  const folder = dirname(configured('service: embedded\n', checkout).config)
  const turned = spawnSync(process.execPath, [script, `${folder}/registries/${name}.js`], { encoding: 'utf8' })
  expect(turned.status, turned.stderr).toBe(0)
  expect(turned.stderr.trim().split('\n').filter(Boolean)).toEqual(
    cannot.map(why => expect.stringContaining(`cannot: ${why}`)),
  )
  const { config } = configured(turned.stdout)
  const checked = await tidegauge(['check', '--config', config, '--json'])
  expect(checked.code, checked.stderr).toBe(0)
  const { metrics } = JSON.parse(checked.stdout) as { metrics: { metric: string; isPrivate: boolean }[] }
  expect(metrics.flatMap(({ metric, isPrivate }) => (isPrivate ? [] : [metric]))).toEqual(sent)
})
