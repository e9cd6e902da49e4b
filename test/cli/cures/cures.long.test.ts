import { getContractAddress, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import { artifact } from '../../../src/devchain/contracts.ts'
import { type Hour, hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { printed } from '../../collectors/advice-texts.ts'
import { type Answer, type Source, startSource } from '../../runner/source.ts'
import { command } from '../../support/command.ts'
import { ownContract } from '../../support/contracts.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/faulty-rpc.ts'
import { ProtocolChain } from '../../support/protocol-chain.ts'
import { configured } from '../../support/tidegauge.ts'
import { account, type CureWorld, cureRows, type Run } from './cure-rows.ts'

let chain: ProtocolChain
let bare: ProtocolChain
let faulty: FaultyRpc
let second: FaultyRpc
let bareSecond: FaultyRpc
let bareLiar: FaultyRpc
let source: Source
let world: CureWorld

beforeAll(async () => {
  // By the command's clock, which a test sets, all of it is past.
  const first = hourAfter(hourAt(Date.now()), 1)
  chain = await ProtocolChain.start(31_337, first)
  bare = await ProtocolChain.start(31_338, first)
  const last = await deployed(first)
  faulty = await startFaultyRpc(chain.url)
  second = await startFaultyRpc(chain.url)
  bareSecond = await startFaultyRpc(bare.url)
  bareLiar = await startFaultyRpc(bare.url)
  bareLiar.misbehave({ kind: 'balance', wei: 5n * 10n ** 18n })
  source = await startSource(target => answerTo(new URL(target, 'http://a'), last))
  world = {
    ...world,
    node: chain.url,
    second: second.url,
    bareSecond: bareSecond.url,
    bareLiar: bareLiar.url,
    faulty: faulty.url,
    bare: bare.url,
    url: source.url,
  }
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: last + 600_000 })
})
afterAll(async () => {
  vi.useRealTimers()
  await Promise.all([faulty, second, bareSecond, bareLiar, source, chain, bare].map(each => each?.stop()))
})

const giving = { address: account, abi: parseAbi(['function give()']) }

async function deployed(first: Hour): Promise<Hour> {
  const token = await chain.deploy(artifact('Token'), ['T', 'T', 6])
  await chain.send(token, 'mint', [chain.owner, 5_001_000_001n])
  const registry = await chain.deploy(await ownContract('Registry'))
  expect(await chain.nextHour()).toBe(first)
  const young = await chain.deploy(artifact('Token'), ['T', 'T', 6])
  await chain.send(young, 'mint', [chain.owner, 5_001_000_001n])
  await chain.send(token, 'mint', [young.address, 5_001_000_001n])
  await chain.send(registry, 'add', [1, 1])
  const last = await chain.nextHour()
  // A block past it, and so many that the state of the hour is old.
  await chain.send(registry, 'add', [2, 1])
  await ask(chain.url, 'anvil_mine', ['0x200', '0x1'])
  const bareToken = await bare.deploy(artifact('Token'), ['T', 'T', 0])
  await bare.send(bareToken, 'mint', [bare.owner, 7n])
  await bare.send(giving, 'give', [], { value: 3n * 10n ** 18n })
  await ask(bare.url, 'anvil_setCode', [multicall3Address, '0x'])
  for (let hours = 0; hours < 2; hours += 1) await bare.nextHour()
  await bare.send(bareToken, 'mint', [bare.owner, 7n])
  const multicall = getContractAddress({ from: bare.owner, nonce: 0n })
  const addresses = {
    token: token.address,
    young: young.address,
    registry: registry.address,
    bareToken: bareToken.address,
  }
  world = {
    ...addresses,
    multicall,
    first,
    last,
    node: '',
    second: '',
    faulty: '',
    bare: '',
    bareSecond: '',
    bareLiar: '',
    url: '',
  }
  return last
}

async function ask(node: string, method: string, params: readonly unknown[]): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

function answerTo({ pathname, search, searchParams }: URL, last: Hour): Answer {
  const asked = Number(searchParams.get('at'))
  const answers: Readonly<Record<string, unknown>> = {
    // 7 in the last hour, and another number in each other one.
    '/seconds': { v: 7 + (asked - last / 1000) / 3_600 },
    '/present': { v: 7, at: hourText(last) },
    '/tokens': { list: [world.token] },
  }
  if (pathname === '/moved')
    return { status: 302, headers: { location: `${source.url.replace('127.0.0.1', 'localhost')}/seconds${search}` } }
  if (pathname === '/huge') return { body: `{ "v": 7e310 }` }
  if (pathname === '/exact') return { body: `{ "v": ${2n ** 53n + 3n} }` }
  // The first two requests have no answer, which is waited for 20 s each.
  if (pathname === '/slow')
    return source.asked.filter(({ path }) => path === '/slow').length > 2 ? { body: '{ "v": 7 }' } : 'silent'
  return { body: JSON.stringify(answers[pathname]) }
}

/** All that a command prints, and the value of X. */
async function followed({ faults = [], collectors, chain: own, more, hour = world.last, ...run }: Run) {
  faulty.misbehave(...faults)
  const { chains = {}, ...others } = more ?? {}
  const demo = { id: 31_337, rpc: [world.node], ...own }
  const file = {
    service: 'embedded',
    chains: { demo, ...Object(chains) },
    ...others,
    protocols: [{ id: 'p', name: 'P', collectors }],
  }
  const { config } = configured(JSON.stringify(file), run.own === undefined ? {} : { 'own.js': collectorOf(run) })
  const args = run.command === 'doctor' ? ['doctor'] : ['collect', '--dry-run', '--json', '--hour', hourText(hour)]
  const { stdout, stderr } = await command([...args, '--config', config])
  if (!stdout.startsWith('{')) return { said: `${stdout}${stderr}`.replaceAll(/\s+/g, ' '), value: 'none' }
  const { metrics = [], faults: found = [] } = JSON.parse(stdout)
  const value = metrics.find(({ id }: { id: string }) => id === 'p___X')?.value ?? 'none'
  return { said: `${textsIn(found).join(' ')} ${stderr}`.replaceAll(/\s+/g, ' '), value }
}

const textsIn = (part: unknown): string[] =>
  typeof part === 'object' && part !== null ? Object.values(part).flatMap(textsIn) : [String(part)]

const collectorOf = ({
  own,
  history = true,
}: Pick<Run, 'own' | 'history'>) => `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: ${own?.includes('A:') ? "{ A: { unit: 'USD' } }" : '{ X: {} }'},
  history: ${history},
  async collect({ chain, price, list, usd, http }) { ${own} },
})
`

it.for(cureRows.map(row => [row.cures[0] ?? '', row] as const))('%s', async ([cure, row]) => {
  const { says = cure, wrong, right, value } = row
  expect((await followed(wrong(world))).said).toMatch(printed(says))
  const after = await followed(right(world))
  expect({ value: after.value, ...(after.value !== value && { said: after.said }) }).toEqual({ value })
})
