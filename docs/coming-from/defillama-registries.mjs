// Entries of DefiLlama's registries as a configuration of Tidegauge, from your own checkout of DefiLlama-Adapters:
//   node defillama-registries.mjs DefiLlama-Adapters/registries/sumTokens.js my-protocol > tidegauge.yaml
// What it cannot turn is named on stderr. Registries: sumTokens, stakingOnly, erc4626, uniswapV2, uniswapV3.
import Module from 'node:module'
import { resolve } from 'node:path'

const chainIds = {
  ethereum: 1,
  optimism: 10,
  cronos: 25,
  bsc: 56,
  xdai: 100,
  unichain: 130,
  polygon: 137,
  sonic: 146,
  fantom: 250,
  era: 324,
  metis: 1088,
  moonbeam: 1284,
  mantle: 5000,
  klaytn: 8217,
  base: 8453,
  mode: 34443,
  arbitrum: 42161,
  celo: 42220,
  avax: 43114,
  linea: 59144,
  berachain: 80094,
  blast: 81457,
  scroll: 534352,
}
const load = Module._load
// Their helpers are not run: each function of one gives its name and its arguments.
Module._load = (request, ...more) =>
  /helper\/(?!.*\.json$)/.test(request)
    ? new Proxy(
        {},
        {
          get:
            (_, name) =>
            (...args) => ({ made: name, args }),
        },
      )
    : load(request, ...more)

const isAddress = text => /^0x[0-9a-fA-F]{40}$/.test(text)
const only = (options, ...known) => {
  const stray = Object.keys(options).filter(key => !known.includes(key) && options[key] !== undefined)
  if (stray.length > 0) throw new Error(`${stray.join(', ')} must be written by hand`)
}
const same = (a, b) => a.toLowerCase() === b.toLowerCase()
const unique = all => all.filter((one, place) => all.findIndex(other => same(one, other)) === place)
const total = {
  call: 'balanceOf(address) view returns (uint256)',
  args: ['item'],
  decimals: true,
  price: 'token',
  private: true,
}
const inPools = (Length, more) => ({
  Token0: { call: 'token0() view returns (address)', private: true },
  Token1: { call: 'token1() view returns (address)', private: true },
  In0: { ...total, address: 'Token0' },
  In1: { ...total, address: 'Token1' },
  Side: { first: ['In0', 'In1'], private: true },
  Twice: { product: ['Side', 2], private: true },
  Both: { sum: ['In0', 'In1'], private: true },
  InPool: { first: ['Both', 'Twice'], private: true },
  [Length]: { total: 'InPool', atLeast: 0.5, unit: 'USD', min: 0, ...more },
})

/** Collectors of one bucket of a chain, each by its label; lists are added to `lists`. */
function collectorsOf({ made, args: [first = {}, second] }, chain, lists) {
  const holding = (owners, tokens) => {
    const wrong = [...owners, ...tokens].find(one => !isAddress(one))
    if (wrong !== undefined) throw new Error(`${wrong} is no address of an EVM chain`)
    const assets = unique(tokens).map(token => ({ token, price: 'token' }))
    if (owners.length * assets.length === 0) throw new Error('owners or tokens are missing')
    return label => ({
      use: 'balances',
      options: { ...label, unit: 'USD', of: { [chain]: { owners: unique(owners), assets } } },
    })
  }
  if (made === 'staking' && second !== undefined) return [holding([first].flat(), [second].flat())]
  if (made === 'sumTokensExport' || made === 'staking') {
    only(first, 'chain', 'owner', 'owners', 'token', 'tokens', 'tokensAndOwners', 'ownerTokens', 'permitFailure')
    const { owner, owners = [owner], token, tokens = [token], tokensAndOwners, ownerTokens } = first
    if (ownerTokens) return ownerTokens.map(([tokens, owner]) => holding([owner], tokens))
    if (!tokensAndOwners) return [holding(owners.filter(Boolean), tokens.filter(Boolean))]
    const all = unique(tokensAndOwners.map(([, owner]) => owner))
    return all.map(owner => {
      const own = tokensAndOwners.filter(([, other]) => same(owner, other))
      return holding(
        [owner],
        own.map(([token]) => token),
      )
    })
  }
  const name = `${chain}-${made === 'sumERC4626VaultsExport2' ? 'vaults' : 'pools'}`
  if (made === 'sumERC4626VaultsExport2') {
    only(first, 'vaults')
    lists[name] = { chain, fixed: unique(first.vaults) }
    return [
      ({ label, ...more }) => ({
        use: 'erc4626-vault',
        options: {
          chain,
          values: { [label]: { vault: { each: name }, price: 'token', unit: 'USD', min: 0, ...more } },
        },
      }),
    ]
  }
  if (made === 'getUniTVL') {
    only(first, 'factory', 'useDefaultCoreAssets', 'hasStablePools', 'fetchBalances', 'permitFailure')
    lists[name] = {
      chain,
      address: first.factory,
      length: 'allPairsLength() view returns (uint256)',
      item: 'allPairs(uint256) view returns (address)',
    }
  } else if (made === 'uniV3Pools') {
    only(
      first,
      'factory',
      'fromBlock',
      'isAlgebra',
      'permitFailure',
      'blacklistedOwners',
      'onlyUseExistingCache',
      'staking',
      'pool2',
    )
    const event = first.isAlgebra
      ? 'Pool(address indexed token0, address indexed token1, address pool)'
      : 'PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)'
    lists[name] = {
      chain,
      address: first.factory,
      event,
      take: 'pool',
      since: '2021-05-01T00:00:00Z',
      ...(first.blacklistedOwners && { except: first.blacklistedOwners }),
    }
  } else throw new Error(`${made} must be written by hand`)
  return [
    ({ label, ...more }) => ({ use: 'contract-read', options: { chain, each: name, values: inPools(label, more) } }),
  ]
}

/** A protocol of a registry as a protocol of the configuration; `undefined` where nothing of it can be turned. */
function protocolOf(name, entry, { chains, lists, cannot }) {
  const [id, parts] = [name.toLowerCase().replace(/[^a-z0-9_-]+/g, '-'), { TVL: [], Staking: [] }]
  const pools = entry.made === 'uniV3Export' ? entry.args[0] : {}
  for (const [chain, config] of Object.entries(pools))
    entry = { ...entry, [chain]: { ...config, tvl: { made: 'uniV3Pools', args: [config] } } }
  for (const [chain, buckets] of Object.entries(entry)) {
    for (const [bucket, value] of Object.entries(
      typeof buckets === 'object' && !Array.isArray(buckets) ? buckets : {},
    )) {
      const of = { tvl: 'TVL', staking: 'Staking' }[bucket]
      // A value of a registry that counts nothing is a function of its own; a list is an argument of `staking`.
      if (bucket === 'pool2' || bucket === 'borrowed' || bucket === 'vesting')
        cannot.push(`${name}: ${chain}: ${bucket} must be written by hand`)
      const made = Array.isArray(value) ? { made: bucket, args: value } : value
      if (!of || !made?.made) continue
      try {
        if (!chainIds[chain]) throw new Error('no id of this chain is known here: add it')
        const found = {}
        parts[of].push(...collectorsOf(made, chain, found))
        for (const [list, value] of Object.entries(found)) lists[`${id}-${list}`] = value
        chains[chain] = { id: chainIds[chain], rpc: [{ env: `${chain.toUpperCase()}_RPC_URL` }] }
      } catch (error) {
        cannot.push(`${name}: ${chain}: ${bucket}: ${error.message}`)
      }
    }
  }
  const collectors = Object.entries(parts).flatMap(([label, own]) => {
    if (own.length < 2) return own.map(part => part({ label }))
    const labels = own.map((_, place) => `${label}${place + 1}`)
    const sum = {
      use: 'derived',
      id: label.toLowerCase(),
      options: { values: { [label]: { sum: labels, unit: 'USD' } } },
    }
    return [...own.map((part, place) => part({ label: labels[place], private: true })), sum]
  })
  const named = collectors.map((one, place) => ({ id: `part-${place + 1}`, ...one }))
  const text = JSON.stringify(named).replaceAll(/"each":"(?=\w+-(vaults|pools)")/g, `"each":"${id}-`)
  return named.length === 0 ? undefined : { id, name, collectors: JSON.parse(text) }
}

const [, , file, ...names] = process.argv
const all = { chains: {}, lists: {}, cannot: [] }
const registry = Module.createRequire(import.meta.url)(resolve(file))
const protocols = Object.entries(registry)
  .filter(([name]) => names.length === 0 || names.includes(name))
  .flatMap(([name, entry]) => protocolOf(name, entry, all) ?? [])
const source = chain => ({
  url: 'https://coins.llama.fi/prices/historical/{hourSeconds-1800}/{tokens}?searchWidth=1800',
  token: `${chain}:{address}`,
  pointer: '/coins/{token}/price',
  time: '/coins/{token}/timestamp',
})
const tokenPrices = Object.fromEntries(Object.keys(all.chains).map(chain => [chain, [source(chain)]]))
for (const line of all.cannot) console.error(`cannot: ${line}`)
if (protocols.length === 0) process.exit(1)
const { chains, lists } = all
const sections = {
  service: 'embedded',
  chains,
  tokenPrices,
  ...(Object.keys(lists).length > 0 && { lists }),
  protocols,
}
// JSON is YAML; one line for each chain, list and protocol.
for (const [key, value] of Object.entries(sections)) {
  const line = ([name, one]) =>
    Array.isArray(value) ? `  - ${JSON.stringify(one)}` : `  ${name}: ${JSON.stringify(one)}`
  console.log(typeof value === 'string' ? `${key}: ${value}` : `${key}:\n${Object.entries(value).map(line).join('\n')}`)
}
