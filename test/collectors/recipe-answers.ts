import { hour } from '../runner/setup.ts'

/** The request that a source documents, and the documented form of its answer: JSON, or as it is if it is a CSV. */
interface Exchange {
  /** Path and query, with the host as the first part of the path. */
  readonly target: string
  readonly answer: unknown
}

/** A configuration of a page that reads a chain, whose tokens have prices of other sources. */
export interface PricedRecipe {
  readonly asked: readonly Exchange[]
  /** Variables of the environment that hold the page's secrets. */
  readonly secrets?: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, number>>
}

/** One configuration of a page, that of one source. */
export interface Recipe extends Exchange {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Variables of the environment that hold the page's secrets. */
  readonly secrets?: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, number>>
  readonly history: boolean
}

const seconds = hour / 1000
const weth = 'ethereum:0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
const key = { env: 'a-key-of-the-test' }

/** DefiLlama's prices of tokens of ethereum by their addresses. */
function llama(prices: Readonly<Record<string, number>>): Exchange {
  const coins = Object.entries(prices).map(([token, price]) => [
    `ethereum:${token.toLowerCase()}`,
    { decimals: 18, symbol: 'X', price, timestamp: seconds - 1693, confidence: 0.99 },
  ])
  const names = coins.map(([name]) => name).join()
  return {
    target: `/coins.llama.fi/prices/historical/${seconds - 1800}/${names}?searchWidth=1800`,
    answer: { coins: Object.fromEntries(coins) },
  }
}

/** Pages of protocols whose contracts run on a node: `protocol-recipes.long.test.ts`. */
export const protocolPages = ['lending.md', 'liquid-staking.md', 'uniswap-v2.md', 'uniswap-v3.md', 'vaults.md']

/** By page, in the order of their configurations. The answers are those of each API's own reference. */
export const recipes: Readonly<Record<string, readonly (Recipe | PricedRecipe)[]>> = {
  'solana.md': [
    {
      method: 'POST',
      target: '/api.mainnet-beta.solana.com',
      headers: { 'content-type': 'application/json' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'getTokenSupply',
        params: ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { commitment: 'finalized' }],
      },
      answer: {
        jsonrpc: '2.0',
        result: {
          context: { apiVersion: '2.1.21', slot: 335_501_812 },
          value: {
            amount: '5736485399543944',
            decimals: 6,
            uiAmount: 5_736_485_399.543944,
            uiAmountString: '5736485399.543944',
          },
        },
        id: 1,
      },
      values: { Supply: 5_736_485_399.543944 },
      history: false,
    },
    {
      method: 'POST',
      target: '/rpc.example.com/?api-key=of-the-test',
      secrets: { SOLANA_RPC_URL: 'https://rpc.example.com/?api-key=of-the-test' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'getBalance',
        params: ['83astBRguLMdt2h5U1Tpdq5tjFoJ6noeGwaY3mDLVcri', { commitment: 'finalized' }],
      },
      answer: { jsonrpc: '2.0', result: { context: { slot: 1 }, value: 1_234_567_891 }, id: 1 },
      values: { Treasury: 1.234567891 },
      history: false,
    },
  ],
  'bitcoin.md': [
    {
      target: '/mempool.space/api/address/bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
      answer: {
        address: 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
        chain_stats: {
          funded_txo_count: 5,
          funded_txo_sum: 15_007_599_040,
          spent_txo_count: 4,
          spent_txo_sum: 15_007_599_039,
          tx_count: 7,
        },
        mempool_stats: { funded_txo_count: 0, funded_txo_sum: 0, spent_txo_count: 0, spent_txo_sum: 0, tx_count: 0 },
      },
      values: { Received: 150.0759904, Spent: 150.07599039, Treasury: 0.00000001 },
      history: false,
    },
    {
      method: 'POST',
      target: '/127.0.0.1:8332/',
      headers: { authorization: 'Basic dXNlcjpwYXNzd29yZA==' },
      secrets: { BITCOIN_RPC_AUTHORIZATION: 'Basic dXNlcjpwYXNzd29yZA==' },
      body: { jsonrpc: '1.0', id: 'tidegauge', method: 'gettxoutsetinfo', params: ['none'] },
      answer: {
        result: {
          height: 920_000,
          bestblock: '00000000000000000001d3ae0f1f3e4c5b6a79880',
          txouts: 165_000_000,
          bogosize: 12_900_000_000,
          total_amount: 19_937_262.12345678,
          total_unspendable_amount: 230.1,
          block_info: {},
        },
        error: null,
        id: 'tidegauge',
      },
      values: { Supply: 19_937_262.12345678 },
      history: false,
    },
  ],
  'cosmos.md': [
    {
      target: '/cosmos-rest.publicnode.com/cosmos/bank/v1beta1/supply/by_denom?denom=uatom',
      answer: { amount: { denom: 'uatom', amount: '482910384756123' } },
      values: { Supply: 482_910_384.756123 },
      history: false,
    },
    {
      target: '/cosmos-rest.publicnode.com/cosmos/staking/v1beta1/pool',
      answer: { pool: { not_bonded_tokens: '100000000000000', bonded_tokens: '300000000000000' } },
      values: { Bonded: 300_000_000, NotBonded: 100_000_000, AllStake: 400_000_000, BondedShare: 0.75 },
      history: false,
    },
    {
      target: '/rest.cronos.org/cosmos/bank/v1beta1/supply/by_denom?denom=basecro',
      headers: { 'x-cosmos-block-height': '24000000' },
      answer: { amount: { denom: 'basecro', amount: '1000000000000000001' } },
      values: { Supply: 10_000_000_000 },
      history: true,
    },
  ],
  'the-graph.md': [
    {
      method: 'POST',
      target: '/gateway.thegraph.com/api/subgraphs/id/5zvR82QoaXYFyDEKLZ9t6v9adgnptxYpKpSbxtgVENFV',
      headers: { authorization: `Bearer ${key.env}`, 'content-type': 'application/json' },
      secrets: { GRAPH_AUTHORIZATION: `Bearer ${key.env}`, ETHEREUM_RPC_URL: 'https://rpc.example.com' },
      body: {
        query: [
          '{',
          '  pool(id: "0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640", block: { number: 24000000 }) {',
          '    totalValueLockedUSD',
          '    volumeUSD',
          '  }',
          '  _meta(block: { number: 24000000 }) { block { timestamp } }',
          '}',
          '',
        ].join('\n'),
      },
      answer: {
        data: {
          pool: { totalValueLockedUSD: '161427394.2109876543210987654321', volumeUSD: '612345678901.25' },
          _meta: { block: { timestamp: seconds - 7 } },
        },
      },
      values: { TVL: 161_427_394.21098766, VolumeEver: 612_345_678_901.25 },
      history: true,
    },
    {
      method: 'POST',
      target: '/gateway.thegraph.com/api/subgraphs/id/5zvR82QoaXYFyDEKLZ9t6v9adgnptxYpKpSbxtgVENFV',
      headers: { authorization: `Bearer ${key.env}`, 'content-type': 'application/json' },
      secrets: { GRAPH_AUTHORIZATION: `Bearer ${key.env}`, ETHEREUM_RPC_URL: 'https://rpc.example.com' },
      body: {
        query: [
          '{',
          '  pools(first: 100, orderBy: totalValueLockedUSD, orderDirection: desc, block: { number: 24000000 }) {',
          '    totalValueLockedUSD',
          '  }',
          '  _meta(block: { number: 24000000 }) { block { timestamp } }',
          '}',
          '',
        ].join('\n'),
      },
      answer: {
        data: {
          pools: [
            { totalValueLockedUSD: '161427394.2109876543210987654321' },
            { totalValueLockedUSD: '9000000.5' },
            { totalValueLockedUSD: '0.25' },
          ],
          _meta: { block: { timestamp: seconds - 7 } },
        },
      },
      values: { TVL: 170_427_394.96098766, Large: 2 },
      history: true,
    },
  ],
  'ecb.md': [
    {
      target: '/data-api.ecb.europa.eu/service/data/EXR/D.USD.EUR.SP00.A?format=csvdata&lastNObservations=1',
      answer: `KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,TITLE_COMPL
EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2026-11-19,1.1712,A,"ECB reference exchange rate, US dollar/Euro, 2:15 pm (C.E.T.)"
`,
      values: { EURUSD: 1.1712 },
      history: false,
    },
  ],
  'bridge.md': [
    {
      asked: [llama({ '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599': 60_000.5 })],
      secrets: {
        ETHEREUM_RPC_URL: 'https://rpc.example.com',
        ARBITRUM_RPC_URL: 'https://rpc.example.com',
        BASE_RPC_URL: 'https://rpc.example.com',
      },
      // Two coins, and three of each token.
      values: { TVL: 2 * 2000 + 9 * 2000 + 9 + 3 * 60_000.5 },
    },
  ],
  'dune.md': [
    {
      target: '/api.dune.com/api/v1/query/3493826/results?limit=1&columns=tvl_usd,users',
      headers: { 'x-dune-api-key': key.env },
      secrets: { DUNE_API_KEY: key.env },
      answer: {
        execution_id: '01HR8AGD6CWGHGP1BN3Z1SJ7XX',
        query_id: 3_493_826,
        is_execution_finished: true,
        state: 'QUERY_STATE_COMPLETED',
        submitted_at: '2026-11-20T06:00:00.123456Z',
        expires_at: '2027-02-18T06:00:09.654321Z',
        execution_started_at: '2026-11-20T06:00:01.123456789Z',
        execution_ended_at: '2026-11-20T06:00:09.654321987Z',
        result: {
          rows: [{ tvl_usd: 1_234_567.5, users: 4321 }],
          metadata: { column_names: ['tvl_usd', 'users'], row_count: 1, total_row_count: 365 },
        },
        next_offset: 1,
      },
      values: { TVL: 1_234_567.5, Users: 4321 },
      history: false,
    },
  ],
  'coingecko.md': [
    {
      target:
        '/api.coingecko.com/api/v3/simple/price?ids=ethereum&vs_currencies=usd&include_market_cap=true' +
        '&include_last_updated_at=true&precision=full',
      headers: { 'x-cg-demo-api-key': key.env },
      secrets: { COINGECKO_KEY: key.env },
      answer: {
        ethereum: { usd: 3012.3456789, usd_market_cap: 363_571_234_567.89, last_updated_at: seconds - 41 },
      },
      values: { Price: 3012.3456789, MarketCap: 363_571_234_567.89 },
      history: false,
    },
    {
      target:
        `/api.coingecko.com/api/v3/coins/ethereum/market_chart/range?vs_currency=usd&from=${seconds - 7200}` +
        `&to=${seconds}&interval=hourly&precision=full`,
      headers: { 'x-cg-demo-api-key': key.env },
      secrets: { COINGECKO_KEY: key.env },
      answer: {
        prices: [
          [hour - 7_158_669, 3001.5],
          [hour - 3_552_580, 3007.25],
        ],
        market_caps: [
          [hour - 7_158_669, 361e9],
          [hour - 3_552_580, 362e9],
        ],
        total_volumes: [
          [hour - 7_158_669, 14e9],
          [hour - 3_552_580, 15e9],
        ],
      },
      values: { Price: 3007.25, MarketCap: 362e9 },
      history: true,
    },
    {
      asked: [
        llama({ '0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0': 3600.5 }),
        {
          target:
            '/api.coingecko.com/api/v3/coins/ethereum/contract/0x7f39c581f595b53c5cb19bd0b3f8da6c935e2ca0/market_chart/range' +
            `?vs_currency=usd&from=${seconds - 7200}&to=${seconds}&interval=hourly&precision=full`,
          answer: {
            prices: [
              [hour - 7_158_669, 3611.5],
              [hour - 3_552_580, 3655.25],
            ],
            market_caps: [],
            total_volumes: [],
          },
        },
      ],
      secrets: { COINGECKO_KEY: key.env, ETHEREUM_RPC_URL: 'https://rpc.example.com' },
      values: { MarketCap: 10_801.5 },
    },
  ],
  'defillama.md': [
    {
      target: `/coins.llama.fi/prices/historical/${seconds - 1800}/${weth}?searchWidth=1800`,
      answer: {
        coins: {
          [weth]: { decimals: 18, symbol: 'WETH', price: 3011.87, timestamp: seconds - 1693, confidence: 0.99 },
        },
      },
      values: { Price: 3011.87 },
      history: true,
    },
    {
      asked: [
        llama({
          '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': 1.0001,
          '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2': 3011.87,
        }),
      ],
      secrets: { ETHEREUM_RPC_URL: 'https://rpc.example.com' },
      values: { Treasury: 9038.6103 },
    },
    {
      target: '/api.llama.fi/tvl/aave',
      answer: 34_962_012_809.79507,
      values: { TVL: 34_962_012_809.79507 },
      history: false,
    },
  ],
  'github.md': [
    {
      target: '/api.github.com/repos/ethereum/go-ethereum',
      headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
      answer: {
        id: 15_452_919,
        name: 'go-ethereum',
        full_name: 'ethereum/go-ethereum',
        stargazers_count: 50_123,
        forks_count: 21_456,
        open_issues_count: 312,
      },
      values: { Stars: 50_123, Forks: 21_456, OpenIssues: 312 },
      history: false,
    },
  ],
}
