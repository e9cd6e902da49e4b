// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts as the sources have them
import type { Address } from 'viem'
import type { Hour } from '../../src/model/hour.ts'

/** Contracts on a real chain, and a server. */
export interface AdviceWorld {
  /** Tokens with 6 and with 18 decimals, of which the account has 5,001.000001 and 2.5. */
  readonly six: Address
  readonly eighteen: Address
  /** A token that has no `decimals()`, of which everyone has 64,000,007 of the smallest unit. */
  readonly silent: Address
  readonly account: Address
  /** Feeds without `decimals()`, without a time, and with an answer of 100,000 s before the hour. */
  readonly bareFeed: Address
  readonly timelessFeed: Address
  readonly oldFeed: Address
  /** A pool of six and eighteen that remembers 600 s. */
  readonly pool: Address
  /** An Aave pool whose oracle is in a currency of its own, and its provider. */
  readonly lendingPool: Address
  readonly provider: Address
  /** A list of two addresses, of which one came and one was replaced in the last hour. */
  readonly registry: Address
  /** Of a server. */
  readonly url: string
  readonly hours: readonly [before: Hour, last: Hour]
}

/** A collector as a configuration has it, with what it names. */
export interface Trial {
  readonly use: string
  readonly options: Readonly<Record<string, unknown>>
  readonly lists?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly prices?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
  readonly label?: string
}

/** An advice of the sources: a configuration of which it is said, and what follows it. */
export interface AdviceRow {
  /** The text as it stands in the sources. */
  readonly advice: string
  wrong(world: AdviceWorld): Trial
  /** One that follows it; several where it says so. */
  right(world: AdviceWorld): Trial | readonly Trial[]
  /** The value of each, as it follows from what the world has. */
  readonly values: readonly number[]
}

const http =
  (path: string, more: object) =>
  ({ url }: AdviceWorld) => ({
    use: 'http-json',
    options: { url: `${url}${path}`, ...('values' in more ? {} : { label: 'X' }), ...more },
  })
const pages = (path: string, own: object) => http(path, { pointer: '/list/*/v', take: 'sum', pages: own })
const read = (options: object, more: Partial<Trial> = {}): Trial => ({
  use: 'contract-read',
  options: { chain: 'demo', ...options },
  ...more,
})
const supply = 'totalSupply() view returns (uint256)'
const balance = 'balanceOf(address) view returns (uint256)'

const ofDecimals: readonly AdviceRow[] = [
  {
    advice:
      'for a token without decimals() write its number as ${option}: N, which counts for such tokens alone, and for each of them',
    wrong: ({ account, silent }) => held(account, { token: silent }),
    right: ({ account, silent }) => held(account, { token: silent, decimals: 3 }),
    values: [64_000.007],
  },
  {
    advice:
      'for a token without decimals() write decimals: N next to price: token, where it counts for such tokens alone, and for each of them; where their numbers differ, or without a price, read such items as a list of their own',
    wrong: world => heldOfList(world, { fixed: [world.six, world.eighteen, world.silent] }, true),
    right: world => [
      heldOfList(world, { fixed: [world.six, world.eighteen] }, true),
      heldOfList(world, { fixed: [world.silent] }, 3),
    ],
    values: [5_003.500001, 64_000.007],
  },
  {
    advice: 'for a contract without decimals() write decimals: N, the digits of what the call returns',
    wrong: ({ silent }) => read({ address: silent, values: { X: { call: supply, decimals: true } } }),
    right: ({ silent }) => read({ address: silent, values: { X: { call: supply, decimals: 3 } } }),
    values: [1.275],
  },
  {
    advice:
      'must be a number or { address: "0x…" }, which holds for all of these contracts; for tokens with decimals of their own write an event-sum of each',
    wrong: ({ six, eighteen }) => moved([six, eighteen]),
    right: ({ six, eighteen }) => [moved(six), moved(eighteen)],
    values: [5_001.000001, 2.5],
  },
  {
    advice:
      'is of whole tokens, and this is a number of smallest units: add decimals: 18, or as many as the token has; 0 where things are counted',
    wrong: world => worth(world, {}),
    right: world => worth(world, { decimals: 6 }),
    values: [10_002.000002],
  },
]

function worth({ six, account }: AdviceWorld, more: object): Trial {
  const X = { address: six, call: balance, args: [account], price: 'P', ...more }
  return read({ values: { X } }, { prices: { P: [{ fixed: 2 }] } })
}

function held(account: Address, asset: object, more: object = {}): Trial {
  return { use: 'balances', options: { label: 'X', of: { demo: { owners: [account], assets: [asset] } }, ...more } }
}

function heldOfList({ account }: AdviceWorld, list: Readonly<Record<string, unknown>>, decimals: unknown): Trial {
  const Held = { call: balance, args: [account], decimals, private: true }
  return read({ each: 'L', values: { Held, X: { total: 'Held' } } }, { lists: { L: list } })
}

function moved(address: Address | readonly Address[]): Trial {
  const event = 'Transfer(address indexed from, address indexed to, uint256 value)'
  return { use: 'event-sum', options: { chain: 'demo', address, event, sum: 'value', decimals: true, label: 'X' } }
}

const ofLists: readonly AdviceRow[] = [
  {
    advice: 'is of the items of a list: add each: NAME next to values',
    wrong: () => read({ values: { X: { count: true } } }),
    right: world => read({ each: 'L', values: { X: { count: true } } }, { lists: { L: { fixed: [world.six] } } }),
    values: [1],
  },
  {
    advice: 'is of the items of a list: add each: NAME',
    wrong: ({ six }) => read({ address: six, values: { X: { call: supply, decimals: true, none: 0 } } }),
    right: world => {
      const S = { call: supply, decimals: true, private: true }
      const L = { fixed: [world.six, world.eighteen] }
      return read({ each: 'L', values: { S, X: { total: 'S', none: 0 } } }, { lists: { L } })
    },
    values: [5_003.500001],
  },
  {
    advice: "is of one item: add private: true, and send one of ${aggregateKinds.join(', ')} of it, or count",
    wrong: world =>
      read({ each: 'L', values: { S: { call: supply, decimals: true } } }, { lists: { L: { fixed: [world.six] } } }),
    right: world => {
      const S = { call: supply, decimals: true, private: true }
      const L = { fixed: [world.six, world.eighteen] }
      return read({ each: 'L', values: { S, X: { highest: 'S' } } }, { lists: { L } })
    },
    values: [5_001.000001],
  },
  {
    advice: 'is an address, which cannot be sent: add private: true',
    wrong: ({ pool }) => read({ address: pool, values: { T: { call: 'token1() view returns (address)' } } }),
    right: ({ pool }) => {
      const T = { call: 'token1() view returns (address)', private: true }
      return read({ address: pool, values: { T, X: { call: supply, address: 'T', decimals: true } } })
    },
    values: [2.5],
  },
  {
    advice:
      'does not only grow: item ${changedPlace} is not what it was. It is read whole for this hour; remove grows, so that it is for each',
    wrong: ({ registry }) => counted(registry, { ...byPlace, grows: true }),
    right: ({ registry }) => counted(registry, byPlace),
    values: [2],
  },
  {
    advice: 'it is read from ${hourText(since)} on: for ${hourText(hour)} write an earlier since',
    wrong: ({ registry }) => counted(registry, { ...byEvent, since: '2026-11-21T00:00:00Z' }),
    right: ({ registry }) => counted(registry, { ...byEvent, since: '2026-11-20T10:00:00Z' }),
    values: [4],
  },
  {
    advice:
      'its contract ${address} existed before ${hourText(since)}: items that it announced earlier are left out; write an earlier since',
    wrong: ({ registry }) => counted(registry, { ...byEvent, since: '2026-11-20T14:00:00Z' }),
    right: ({ registry }) => counted(registry, { ...byEvent, since: '2026-11-20T13:00:00Z' }),
    values: [4],
  },
  {
    advice:
      'there is no address at ${shownPath} of the answer: correct the pointer, or leave out by where what is no address',
    wrong: ({ url }) => ofAnswer(url, {}),
    right: ({ url }) => ofAnswer(url, { where: { '/address': { not: null } } }),
    values: [2],
  },
]

const byPlace = { length: 'length() view returns (uint256)', item: 'itemAt(uint256) view returns (address)' }
const byEvent = { event: 'Added(address item)', take: 'item' }

function counted(address: Address, list: object): Trial {
  const lists = { L: { chain: 'demo', address, ...list } }
  return read({ each: 'L', values: { X: { count: true } } }, { lists })
}

function ofAnswer(url: string, more: object): Trial {
  const options = { url: `${url}/tokens?at={hour}`, pointer: '/list/*/address', ...more }
  return { use: 'list', label: 'Count', options: { chain: 'demo', ...options } }
}

const rowsOfOffset = { parameter: 'o', from: 0 }
const ofNone = { pointer: '/list/*/v', take: 'sum', private: true }
const ofAnswers: readonly AdviceRow[] = [
  {
    advice: 'leads to several items: add take: sum, mean, min, max or count, or where that leaves one',
    wrong: http('/cut?limit=3', { pointer: '/list/*/v' }),
    right: http('/cut?limit=3', { pointer: '/list/*/v', take: 'sum' }),
    values: [3],
  },
  {
    advice: '${label} has no items: where that is 0, write none: 0 at it',
    wrong: http('/none', { values: { A: ofNone, X: { sum: ['A', 5] } } }),
    right: http('/none', { values: { A: { ...ofNone, none: 0 }, X: { sum: ['A', 5] } } }),
    values: [5],
  },
  {
    advice: 'write thousands: ${JSON.stringify(separator)}, which is between its digits',
    wrong: http('/texts', { pointer: '/clear' }),
    right: http('/texts', { pointer: '/clear', thousands: ',' }),
    values: [1_234.5],
  },
  {
    advice:
      'write thousands: "," where the comma stands between thousands; where it is a decimal point, let the pointer lead to another number',
    wrong: http('/texts', { pointer: '/decimalComma' }),
    right: http('/texts', { pointer: '/thousandths', decimals: 3 }),
    values: [12.345],
  },
  {
    advice: 'write time: with the pointer to a count since 1970, or to a date and time like 2026-11-20T13:00:00Z',
    wrong: http('/old?at={hour}', { pointer: '/v', time: '/name', maxAge: 7_200 }),
    right: http('/old?at={hour}', { pointer: '/v', time: '/at', maxAge: 7_200 }),
    values: [7],
  },
  {
    advice: 'compare the time with the hour; for an older value write a larger maxAge',
    wrong: http('/old?at={hour}', { pointer: '/v', time: '/at' }),
    right: http('/old?at={hour}', { pointer: '/v', time: '/at', maxAge: 7_200 }),
    values: [7],
  },
  {
    advice: 'if there are more, ask for more at once, or read them with pages, whose parameter stands in the address',
    wrong: http('/cut', { pointer: '/list/*/v', take: 'sum' }),
    right: pages('/cut', { parameter: 'page', id: '/n' }),
    values: [130],
  },
  {
    advice: '${host} has more than ${max} pages: write a larger max',
    wrong: pages('/cut?limit=2', { parameter: 'page' }),
    right: pages('/cut?limit=2', { parameter: 'page', max: 65 }),
    values: [130],
  },
  {
    advice: 'write the step of an offset',
    wrong: pages('/offset', rowsOfOffset),
    right: pages('/offset', { ...rowsOfOffset, step: 3 }),
    values: [1_023],
  },
  {
    advice:
      'page ${page} has ${this.#longest} items, and ${parameter} rises by ${step}: what is between is not read; write as step how many items a page has',
    wrong: pages('/offset', { ...rowsOfOffset, step: 5 }),
    right: pages('/offset', { ...rowsOfOffset, step: 3 }),
    values: [1_023],
  },
  {
    advice: 'write the step of an offset, or with id: what tells items apart',
    wrong: pages('/map', { parameter: 'page' }),
    right: pages('/map', { parameter: 'page', id: '/n' }),
    values: [130],
  },
  {
    advice: 'the next page of ${host} is no address: write with next the parameter in which it is sent',
    wrong: pages('/cursor', { next: '/next' }),
    right: pages('/cursor', { next: '/next', parameter: 'page' }),
    values: [130],
  },
]

const ofPrices: readonly AdviceRow[] = [
  {
    advice: "the oracle's prices are not in USD but in ${base}: write its symbol as unit",
    wrong: world => ofMarket(world, {}),
    right: world => ofMarket(world, { unit: 'ETH' }),
    values: [0.8],
  },
  {
    advice:
      'for a feed without decimals() read its answer as a call: { call: "latestAnswer() view returns (int256)", decimals: N }, with N from its documents',
    wrong: ({ bareFeed }) => feed(bareFeed, {}),
    right: world =>
      ofPrice({ chain: 'demo', address: world.bareFeed, call: 'latestAnswer() view returns (int256)', decimals: 8 }),
    values: [1.2345678],
  },
  {
    advice: 'its round is not complete, or it computes its answer at each read: for that, write maxAge: none',
    wrong: ({ timelessFeed }) => feed(timelessFeed, {}),
    right: ({ timelessFeed }) => feed(timelessFeed, { maxAge: 'none' }),
    values: [1.2345678],
  },
  {
    advice:
      'the price is ${(hour - atMs) / 1000} s old at ${hourText(hour)}: look whether the feed is still in use, or write a larger maxAge than ${maxAge}',
    wrong: ({ oldFeed }) => feed(oldFeed, {}),
    right: ({ oldFeed }) => feed(oldFeed, { maxAge: 200_000 }),
    values: [1.2345678],
  },
  {
    advice: 'the pool is of ${token0} and ${token1}: write the one whose price it is as token, and the other as quote',
    wrong: world => ofPool(world, { quote: world.oldFeed, window: 600 }),
    right: world => ofPool(world, { quote: world.six, window: 600 }),
    values: [1.8820677245596298],
  },
  {
    advice:
      'the pool remembers less than ${window} s: shorten the window, or let it remember more (increaseObservationCardinalityNext)',
    wrong: world => ofPool(world, { quote: world.six, window: 1_800 }),
    right: world => ofPool(world, { quote: world.six, window: 600 }),
    values: [1.8820677245596298],
  },
  {
    advice:
      'no token of the price ${unknown.price} is known on ${name}: write { token: "0x…", price: ${unknown.price} }',
    wrong: ({ account }) => heldBy(account, 'P'),
    right: ({ account, six }) => heldBy(account, { token: six, price: 'P' }),
    values: [10_002.000002],
  },
  {
    advice: 'belongs to a sum with prices: add price: token, or the name of a price',
    wrong: ({ account, six }) => held(account, { token: six }, { unpriced: 'leave out' }),
    right: ({ account, six }) => heldBy(account, { token: six, price: 'P' }, { unpriced: 'leave out' }),
    values: [10_002.000002],
  },
  {
    advice: 'belongs to unpriced: leave out',
    wrong: ({ account, six }) => heldBy(account, { token: six, price: 'P' }, { atLeast: 0.5 }),
    right: ({ account, six }) => heldBy(account, { token: six, price: 'P' }, { atLeast: 0.5, unpriced: 'leave out' }),
    values: [10_002.000002],
  },
]

function heldBy(owner: Address, asset: unknown, more: object = {}): Trial {
  const of = { demo: { owners: [owner], assets: [asset] } }
  return { use: 'balances', options: { label: 'X', of, ...more }, prices: { P: [{ fixed: 2 }] } }
}

function feed(address: Address, more: object): Trial {
  return { use: 'chainlink-feed', label: 'Price', options: { chain: 'demo', feed: address, ...more } }
}

function ofMarket({ lendingPool: pool, provider }: AdviceWorld, more: object): Trial {
  return { use: 'aave-v3', label: 'Supplied', options: { chain: 'demo', pool, provider, ...more } }
}

function ofPrice(source: Readonly<Record<string, unknown>>): Trial {
  return read({ values: { X: { product: [{ price: 'P' }, 1] } } }, { prices: { P: [source], Q: [{ fixed: 1 }] } })
}

function ofPool({ pool, eighteen }: AdviceWorld, more: object): Trial {
  return ofPrice({ chain: 'demo', pool, token: eighteen, price: 'Q', ...more })
}

/** Every advice that a collector has, and a fault that prints it. */
export const adviceRows: readonly AdviceRow[] = [...ofDecimals, ...ofLists, ...ofAnswers, ...ofPrices]
