// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts as the sources have them
import type { Address } from 'viem'
import type { Hour } from '../../../src/model/hour.ts'
import type { RpcFault } from '../../support/faulty-rpc.ts'

/** Real nodes, a server, and contracts. */
export interface CureWorld {
  /** Of a node of chain 31337, of a second address of it, and of one that misbehaves. */
  readonly node: string
  readonly second: string
  readonly faulty: string
  /** Of a node of chain 31338 and other addresses of it, where Multicall3 is at an address of its own. */
  readonly bare: string
  readonly bareSecond: string
  /** It says that every account has 5 ETH. */
  readonly bareLiar: string
  readonly multicall: Address
  readonly bareToken: Address
  /** A token with 6 decimals, of which there are 5,001.000001 in the first hour, and 10,002.000002 in the last. */
  readonly token: Address
  /** A token like it, since the last hour. */
  readonly young: Address
  /** A list that got its first item, and announced it, in the last hour. */
  readonly registry: Address
  /** Of a server. */
  readonly url: string
  readonly first: Hour
  readonly last: Hour
}

/** A configuration of one protocol, and the command that is run. */
export interface Run {
  /** Misbehaviour of the faulty node. */
  readonly faults?: readonly RpcFault[]
  readonly collectors: readonly Readonly<Record<string, unknown>>[]
  /** Of the chain `demo`. Default: one node that is well. */
  readonly chain?: Readonly<Record<string, unknown>>
  /** Further keys of the file. */
  readonly more?: Readonly<Record<string, unknown>>
  /** The body of `collect` of a collector `./own.js`, which has a label X, and A in USD. */
  readonly own?: string
  /** Whether it reads the past. Default: yes. */
  readonly history?: boolean
  /** Default: the last one. */
  readonly hour?: Hour
  readonly command?: 'collect' | 'doctor'
}

/** A cure: a run of which it is printed, and what follows it to its end. */
export interface CureRow {
  /** Texts as they stand in the sources, or `errors.md: CODE`. */
  readonly cures: readonly string[]
  /** Text that the first run prints. Default: the first cure. */
  readonly says?: string
  wrong(world: CureWorld): Run
  right(world: CureWorld): Run
  /** Of X in the last hour. */
  readonly value: number
}

const call = 'totalSupply() view returns (uint256)'
const supplyOf = (address: Address, more: object = {}) => ({
  use: 'contract-read',
  options: { chain: 'demo', address, values: { X: { call, decimals: true } } },
  ...more,
})
/** The supply of the token, read from these nodes. */
const from = (
  world: CureWorld,
  rpc: readonly string[],
  more: Partial<Run> & { readonly chain?: object } = {},
): Run => ({
  collectors: [supplyOf(world.token)],
  ...more,
  chain: { rpc, ...more.chain },
})
/** There was half as much before the last hour. */
const supply = 10_002.000002

/** The first node misbehaves, and a second one takes over. */
function takenOver(
  cure: string,
  faults: readonly RpcFault[] | ((world: CureWorld) => readonly RpcFault[]),
  { collectorOf, value = supply }: { collectorOf?(world: CureWorld): object; readonly value?: number } = {},
): CureRow {
  const run = (world: CureWorld, rpc: readonly string[]) => ({
    ...from(world, rpc),
    faults: typeof faults === 'function' ? faults(world) : faults,
    ...(collectorOf && { collectors: [{ ...collectorOf(world) }] }),
  })
  return {
    cures: [cure],
    wrong: world => run(world, [world.faulty]),
    right: world => run(world, [world.faulty, world.node]),
    value,
  }
}

/** Items that the list announced in the last hour. */
const announced = ({ registry: address }: CureWorld) => ({
  use: 'event-sum',
  options: { chain: 'demo', address, event: 'Added(address item)', count: true, label: 'X' },
})

const ofNodes: readonly CureRow[] = [
  {
    cures: [
      'put a node of the chain that is meant under rpc:, and change its id only where that is not the number of that chain',
      'errors.md: chain-wrong-id',
    ],
    wrong: world => from(world, [world.bare]),
    right: world => from(world, [world.node]),
    value: supply,
  },
  takenOver('check that this address under rpc: is of a node of the chain; a second endpoint under rpc: takes over', [
    { kind: 'null-results' },
  ]),
  takenOver('a past hour needs an archive node, which keeps old state: put one under rpc:', [
    { kind: 'no-state', before: 100n },
  ]),
  takenOver(
    'put an endpoint under rpc: that reads the block it is asked for, by its hash, too; where all calls of a chain see another block than it has, multicall of the chain names the contract to read through',
    [{ kind: 'calls-latest' }],
  ),
  takenOver(
    'look up at the provider what the plan of this endpoint includes, and what of it is used up; a second endpoint under rpc: takes over',
    [{ kind: 'error', code: -32_000, message: 'the monthly plan is used up' }],
  ),
  takenOver(
    'the node answers, but only errors: look into the log of the node, or ask its provider; a second endpoint under rpc: takes over',
    [{ kind: 'error', code: -32_000, message: 'boom' }],
  ),
  takenOver('check the load of the node; a second endpoint under rpc: takes over', [{ kind: 'hang' }]),
  takenOver(
    'put a node that serves eth_getLogs, and all logs, under rpc:; as a second one it is asked only for logs',
    [{ kind: 'no-method', method: 'eth_getLogs' }],
    { collectorOf: announced, value: 1 },
  ),
  takenOver(
    'other reads of that block are answered, so the node has its state in part: a past hour needs an archive node: put one under rpc:',
    ({ token }) => [{ kind: 'no-state', before: 100n, of: token.slice(2).toLowerCase() }],
  ),
  takenOver('set rate: of this endpoint to what the plan of the provider allows, or put a second one under rpc:', [
    { kind: 'rate' },
  ]),
  takenOver('the node, or the gateway before it, fails: look into its log; a second endpoint under rpc: takes over', [
    { kind: 'status', status: 502 },
  ]),
  {
    cures: ['check the path of this address under rpc:'],
    wrong: world => from(world, [world.faulty], { faults: [{ kind: 'status', status: 404 }] }),
    right: world => from(world, [world.node]),
    value: supply,
  },
  {
    cures: ['put the address that it redirects to under rpc:'],
    wrong: world => from(world, [world.faulty], { faults: [{ kind: 'status', status: 308, location: world.node }] }),
    right: world => from(world, [world.node]),
    value: supply,
  },
  {
    cures: [
      'check that this address under rpc: is of a JSON-RPC endpoint, and that no proxy before it changes the answers',
    ],
    wrong: world => from(world, [world.faulty], { faults: [{ kind: 'html' }] }),
    right: world => from(world, [world.node]),
    value: supply,
  },
  {
    cures: ['${fix}; a second endpoint under rpc: takes over'],
    wrong: world => from(world, [world.node.replace('http:', 'https:')]),
    right: world => from(world, [world.node.replace('http:', 'https:'), world.node]),
    value: supply,
  },
  {
    cures: [
      'check that the node runs, its port and its path, and write wss:// if it speaks TLS; a second endpoint under rpc: takes over',
    ],
    wrong: world => from(world, [world.url.replace('http:', 'ws:')]),
    right: world => from(world, [world.url.replace('http:', 'ws:'), world.node]),
    value: supply,
  },
  {
    cures: ['put an endpoint under rpc: that reads the block it is asked for, by its hash, too'],
    wrong: world => from(world, [world.faulty], { faults: [{ kind: 'calls-latest' }], command: 'doctor' }),
    right: world => from(world, [world.node]),
    value: supply,
  },
  {
    cures: ['where it is at another address, write that as chains.${chain}.multicall'],
    wrong: world => from(world, [world.bare], { chain: { id: 31_338 }, command: 'doctor' }),
    right: ({ bare, multicall, bareToken }) => ({
      collectors: [supplyOf(bareToken)],
      chain: { id: 31_338, rpc: [bare], multicall },
    }),
    value: 7,
  },
  {
    cures: ['correct or remove chains.${chain}.multicall'],
    wrong: world => from(world, [world.node], { chain: { multicall: `0x${'de'.repeat(20)}` }, command: 'doctor' }),
    right: world => from(world, [world.node]),
    value: supply,
  },
]

/** Has 3 ETH. */
export const account: Address = `0x${'7e'.repeat(20)}`
const coin = {
  use: 'balances',
  options: { label: 'X', of: { demo: { owners: [account], assets: [{ native: true }] } } },
}

const ofAgreement: readonly CureRow[] = [
  {
    cures: ['compare with an explorer, and take the node that is wrong out of rpc:', 'errors.md: chain-disagreement'],
    wrong: ({ bare, bareLiar }) => ({ collectors: [coin], chain: { id: 31_338, rpc: [bare, bareLiar], agree: 2 } }),
    right: ({ bare, bareSecond }) => ({ collectors: [coin], chain: { id: 31_338, rpc: [bare, bareSecond], agree: 2 } }),
    value: 3,
  },
  {
    cures: ['mend that endpoint, or put one of another host under rpc:'],
    wrong: world =>
      from(world, [world.node, world.faulty], { chain: { agree: 2 }, faults: [{ kind: 'status', status: 502 }] }),
    right: world => from(world, [world.node, world.second], { chain: { agree: 2 } }),
    value: supply,
  },
]

const since = ({ last }: CureWorld) => ({ since: new Date(last).toISOString() })
const ofHours: readonly CureRow[] = [
  {
    cures: [
      'take a later hour, or set since of the collector to one; start a local chain further in the past',
      'errors.md: chain-before-first-block',
    ],
    wrong: world => ({ collectors: [supplyOf(world.token)], hour: (world.first - 3_600_000) as Hour }),
    right: world => ({ collectors: [supplyOf(world.token, since(world))] }),
    value: supply,
  },
  {
    cures: ['check address and chain; for hours before the contract was deployed, set since: of the collector'],
    wrong: world => ({ collectors: [supplyOf(world.young)], hour: world.first }),
    right: world => ({ collectors: [supplyOf(world.young, since(world))] }),
    value: 5_001.000001,
  },
  {
    cures: ['errors.md: chain-call-reverted'],
    says: 'itemAt reverted',
    wrong: world => ({ ...weighed(world), hour: world.first }),
    right: world => weighed(world, since(world)),
    value: 948_250,
  },
  {
    cures: ['${step}; a longer deadline: of the collector gives it more time', 'errors.md: collector-hung'],
    wrong: ({ url }) => ({ collectors: [{ ...answered(`${url}/slow`), deadline: '5s' }] }),
    right: ({ url }) => ({ collectors: [{ ...answered(`${url}/slow`), deadline: '60s' }] }),
    value: 7,
  },
  {
    cures: ['errors.md: hour-passed'],
    says: 'the hour has passed',
    wrong: world => ({ ...byBlock(world, false), hour: world.first }),
    right: world => byBlock(world, true),
    value: 10_002_000_002,
  },
  {
    cures: ['write a shorter one, or a longer outbox.keep'],
    wrong: world => from(world, [world.node], { more: { collect: { catchUp: '40d' } } }),
    right: world => from(world, [world.node], { more: { collect: { catchUp: '40d' }, outbox: { keep: '60d' } } }),
    value: supply,
  },
]

/** The weight of the first item, once there is one. */
function weighed({ registry }: CureWorld, more: object = {}): Run {
  const Item = { call: 'itemAt(uint256) view returns (address)', args: [0], private: true }
  const X = { call: 'weight(address item) view returns (uint256)', args: ['Item'] }
  return {
    collectors: [{ use: 'contract-read', options: { chain: 'demo', address: registry, values: { Item, X } }, ...more }],
  }
}

const answered = (url: string, more: object = {}) => ({
  use: 'http-json',
  options: { url, pointer: '/v', label: 'X', ...more },
})

/** A collector of one's own. */
const own = (collect: string, more: Partial<Run> = {}): Run => ({
  collectors: [{ use: './own.js' }],
  own: collect,
  ...more,
})

function byBlock({ token }: CureWorld, history: boolean): Run {
  const abi = `[{ type: 'function', name: 'totalSupply', inputs: [], outputs: [{ type: 'uint256' }], stateMutability: 'view' }]`
  const read = `chain('demo').read({ address: '${token}', abi: ${abi}, functionName: 'totalSupply' })`
  return own(`return { X: Number(await ${read}) }`, { history })
}

const ofNames: readonly CureRow[] = [
  {
    cures: [
      'add it: prices: { ${name}: { sources: […], tokens: { ${chain}: "0x…" } } }, or write { token: "0x…", price: ${name} } here',
    ],
    wrong: world => held(world, ['P'], { prices: { P: [{ fixed: 2 }] } }),
    right: world => held(world, ['P'], { prices: { P: { sources: [{ fixed: 2 }], tokens: { demo: world.token } } } }),
    value: 10_002.000002,
  },
  {
    cures: ['add them: tokenPrices: { ${chain}: [{ "0x…": USDC }] }'],
    wrong: world => held(world, [{ token: world.token, price: 'token' }], {}),
    right: world => held(world, [{ token: world.token, price: 'token' }], twoDollars(world)),
    value: 10_002.000002,
  },
  {
    cures: ['add it: ${kind}s: { ${/^[\\w-]+$/.test(name) ? name : quoted(name)}: ${examples[kind]} }'],
    // A price of a similar name is there.
    wrong: world => held(world, [{ token: world.token, price: 'USDT' }], { prices: { USDC: [{ fixed: 1 }] } }),
    right: world =>
      held(world, [{ token: world.token, price: 'USDT' }], { prices: { USDC: [{ fixed: 1 }], USDT: [{ fixed: 2 }] } }),
    value: 10_002.000002,
  },
  {
    cures: ['add it under chains:', 'errors.md: chain-unknown'],
    wrong: () => own(`return { X: Number((await chain('other').block()).number * 0n) + 5 }`),
    right: world =>
      own(`return { X: Number((await chain('other').block()).number * 0n) + 5 }`, {
        more: { chains: { other: { id: 31_337, rpc: [world.node] } } },
      }),
    value: 5,
  },
  {
    cures: ['add it under ${kind}s:', 'errors.md: price-unknown'],
    wrong: () => own(`return { X: await price('USDT') }`),
    right: () => own(`return { X: await price('USDT') }`, { more: { prices: { USDT: [{ fixed: 2 }] } } }),
    value: 2,
  },
  {
    cures: ['add it under ${kind}s:', 'errors.md: list-unknown'],
    wrong: () => own(`return { X: (await list('L')).length }`),
    right: world =>
      own(`return { X: (await list('L')).length }`, {
        more: { lists: { L: { chain: 'demo', fixed: [world.token, world.young] } } },
      }),
    value: 2,
  },
  {
    cures: ['add them: tokenPrices: { ${chain}: […] }'],
    wrong: world => own(`return { X: await usd('demo', '${world.token}', 5_000_000n) }`),
    right: world => own(`return { X: await usd('demo', '${world.token}', 5_000_000n) }`, { more: twoDollars(world) }),
    value: 10,
  },
]

const twoDollars = ({ token }: CureWorld) => ({
  prices: { P: [{ fixed: 2 }] },
  tokenPrices: { demo: [{ [token]: 'P' }] },
})

function held({ young }: CureWorld, assets: readonly unknown[], more: Run['more'] = {}): Run {
  return { collectors: [{ use: 'balances', options: { label: 'X', of: { demo: { owners: [young], assets } } } }], more }
}

const given = { use: './own.js' }
const derived = (values: object, more: object = {}) => ({ use: 'derived', options: { values }, ...more })
const atLast = ({ last }: CureWorld) => ({ at: new Date(last).toISOString().slice(11, 16) })
const ofDerived: readonly CureRow[] = [
  {
    cures: ['write unit: ${first.unit}'],
    wrong: () => own(`return { A: 3 }`, { collectors: [given, derived({ X: { sum: ['A', 'A'], unit: 'ETH' } })] }),
    right: () => own(`return { A: 3 }`, { collectors: [given, derived({ X: { sum: ['A', 'A'], unit: 'USD' } })] }),
    value: 6,
  },
  {
    cures: ['give this collector at: ["${possibleHours.join(\'", "\')}"]${alternative}'],
    wrong: world =>
      own(`return { A: 3 }`, { collectors: [{ ...given, ...atLast(world) }, derived({ X: { sum: ['A', 1] } })] }),
    right: world =>
      own(`return { A: 3 }`, {
        collectors: [{ ...given, ...atLast(world) }, derived({ X: { sum: ['A', 1] } }, atLast(world))],
      }),
    value: 4,
  },
]

const ofAnswers: readonly CureRow[] = [
  {
    cures: ['write the address that it leads to, with {hour} where it has the hour of the request'],
    wrong: ({ url }) => ({ collectors: [answered(`${url}/moved?at={hourSeconds}`)] }),
    right: ({ url }) => ({
      collectors: [answered(`${url.replace('127.0.0.1', 'localhost')}/seconds?at={hourSeconds}`)],
    }),
    value: 7,
  },
  {
    cures: ['take another value, or correct its `decimals` where they are wrong: no number is larger than 1.8e308'],
    wrong: ({ url }) => ({ collectors: [answered(`${url}/huge`)] }),
    right: ({ url }) => ({ collectors: [answered(`${url}/huge`, { decimals: 255 })] }),
    value: 7e55,
  },
  {
    cures: ["write numbers: 'text', which keeps each digit, or leave it out for JavaScript's own numbers"],
    wrong: ({ url }) => own(exactly(url, 'string')),
    right: ({ url }) => own(exactly(url, 'text')),
    value: 3,
  },
  {
    cures: ['leave hoursBefore out, and compare the blockNumber of each log with block() of the earlier hour'],
    wrong: world => own(logsOf(world, '{ hoursBefore: 1 }')),
    right: world => own(logsOf(world, '')),
    value: 1,
  },
  {
    cures: ['compare both answers, and name with time: where they say what instant they are of'],
    wrong: ({ url }) => priced({ url: `${url}/present?at={hour}`, pointer: '/v' }, { command: 'doctor' }),
    right: ({ url }) => priced({ url: `${url}/present?at={hour}`, pointer: '/v', time: '/at' }),
    value: 7,
  },
  {
    cures: ['compare its items of both hours; if it knows the present alone, now: true'],
    wrong: ({ url }) => listed(url, {}, { command: 'doctor' }),
    right: ({ url }) => listed(url, { now: true }),
    value: 1,
  },
]

/** Reads 2^53 + 3, and returns how much it is above 2^53. */
const exactly = (url: string, numbers: string) =>
  `const { v } = await http.json('${url}/exact', z.object({ v: z.string() }), { numbers: '${numbers}' })
  return { X: Number(BigInt(v) - 2n ** 53n) }`

function logsOf({ registry, first }: CureWorld, moment: string): string {
  const event = `{ type: 'event', name: 'Added', inputs: [{ name: 'item', type: 'address' }] }`
  const logs = `chain('demo'${moment && `, ${moment}`}).logsSince('${new Date(first).toISOString()}', { address: '${registry}', event: ${event} })`
  return `return { X: (await ${logs}).length }`
}

const priced = (source: object, more: Partial<Run> = {}): Run => ({
  collectors: [{ use: 'contract-read', options: { chain: 'demo', values: { X: { product: [{ price: 'P' }, 1] } } } }],
  more: { prices: { P: [source] } },
  ...more,
})

const listed = (url: string, list: object, more: Partial<Run> = {}): Run => ({
  collectors: [{ use: 'contract-read', options: { chain: 'demo', each: 'L', values: { X: { count: true } } } }],
  more: { lists: { L: { chain: 'demo', url: `${url}/tokens?at={hour}`, pointer: '/list/*', ...list } } },
  ...more,
})

/** Every cure that a run can follow. */
export const cureRows: readonly CureRow[] = [
  ...ofNodes,
  ...ofAgreement,
  ...ofHours,
  ...ofNames,
  ...ofDerived,
  ...ofAnswers,
]

/** Cures that no row follows, with the reason: none of them can change what a value is. */
export const unfollowed: Readonly<Record<string, string>> = {
  'errors.md: hour-too-old': 'followed in test/cli/cures/too-old.long.test.ts, as it takes several runs',
  'errors.md: price-unread': 'says of an option that it does not help',
  'write a whole number and its unit: 500ms, 60s, 5m': 'how a duration is written',
  'write protocols: … or prices: … in it, or remove the file': 'an included file is empty',
  'write it as key: value lines: protocols: … or prices: …': 'an included file is no map',
  'a chain that began again has new hours alone: set since of its collectors to its start; else look at what answers under rpc:':
    'hours before are not expected any more, and their values stay',
  'to do: an archive node is needed, which keeps old state: put one under rpc:, and run this again':
    'as collect says it, which is followed',
  'check that the node runs and can be reached from here; a second endpoint under rpc: takes over':
    'a node fails in a way that nothing is known of; that a second one takes over is followed above',
  '${pathText(path)}: no option can name it: price: token is the price of each token':
    'a price is called token, and has another name afterwards',
  'write unit: "%"': 'a change is in percent whatever its unit is called',
  'write outbox: { keep: ${Math.ceil(value.hours / 24) + 1}d }, or fewer hours':
    'a window has no value until it is full, however long values are kept',
  'select them by indexed args; where earlier ones do not count, ask since a later hour; or add them up hour by hour with event-sum':
    'a collector of one’s own has more logs than are remembered, and its author knows which of them count',
}
