import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Address, decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Devchain } from '../../src/devchain/devchain.ts'
import { systemTime } from '../../src/edge/time.ts'
import { hourText } from '../../src/model/hour.ts'
import { type Source, startSource } from '../runner/source.ts'
import { command } from '../support/command.ts'
import { configured } from '../support/tidegauge.ts'

const folder = fileURLToPath(new URL('../../docs/coming-from/', import.meta.url))

/** Blocks of a page in a language. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(folder, `${page}.md`), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code)
}

const abi = parseAbi([
  'function factory() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function latestAnswer() view returns (int256)',
])

let scene: Devchain
let source: Source
let factory: Address

beforeAll(async () => {
  source = await startSource(target => {
    if (target.startsWith('/prices/DAI?at=')) return { body: '{ "usd": 1.01 }' }
    if (target === '/v1/stats') return { body: '{ "data": { "users": { "total": 1234 } } }' }
    const [, seconds = '', tokens = ''] = /\/prices\/historical\/(\d+)\/([^?]+)/.exec(target) ?? []
    const coins = tokens.split(',').map(name => [name, { price: 2, timestamp: Number(seconds) }])
    return { body: JSON.stringify({ coins: Object.fromEntries(coins) }) }
  })
  scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 2 })
  factory = (await read(scene.addresses.pool, 'factory')) as Address
})
afterAll(async () => {
  await scene?.stop()
  await source?.stop()
})

async function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(scene.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await answer.json()) as { result: unknown }).result
}

/** Result of a view function now. */
async function read(
  to: Address,
  functionName: 'factory' | 'totalAssets' | 'balanceOf',
  args: readonly [Address] | [] = [],
) {
  const data = encodeFunctionData({ abi, functionName, args } as never)
  const output = (await rpc('eth_call', [{ to, data }, 'latest'])) as `0x${string}`
  return decodeFunctionResult({ abi, functionName, data: output } as never) as unknown
}

/** The configuration of a page, on the contracts of this chain and the double of the sources. */
function after(page: string, files: Readonly<Record<string, string>> = {}, change = (yaml: string) => yaml): string {
  const [yaml = '', ...others] = blocks(page, 'yaml')
  expect(others).toEqual([])
  const { vault, feed, treasury } = scene.addresses
  const places: Readonly<Record<string, Address>> = {
    '0x83F20F44975D03b1b09e64809B757c47f942BEeA': vault,
    '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419': feed,
    '0xBcca60bB61934080951369a648Fb03DF4F96263C': treasury,
    '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f': factory,
  }
  const here = yaml
    .replace(/https:\/\/(api\.example\.com|coins\.llama\.fi)/g, source.url)
    .replace('id: 1,', 'id: 31337,')
    .replaceAll(/0x[0-9a-fA-F]{40}/g, address => places[address] ?? expect.unreachable(address))
  return configured(change(here), files).config
}

const variables = {
  METRICS_KEY: 'key',
  STATS_AUTHORIZATION: 'Bearer x',
  STATS_DATABASE: 'postgres://u:p@127.0.0.1:9/d',
}

async function run(...args: string[]) {
  return command(args, { ...variables, ETHEREUM_RPC_URL: scene.url })
}

/** Values of the last hour, by label, shown and not sent. */
async function valuesOf(config: string, ...only: string[]): Promise<Record<string, number>> {
  const hour = hourText(scene.hours.at(-1) ?? expect.unreachable())
  const args = ['collect', '--dry-run', '--json', '--hour', hour, '--config', config]
  const { code, stdout, stderr } = await run(...args, ...(only.length > 0 ? ['--only', ...only] : []))
  expect([code, stderr], stdout).toEqual([0, expect.not.stringContaining('warning')])
  type Listed = Readonly<Record<'metrics' | 'private', readonly { readonly id: string; readonly value: number }[]>>
  const { metrics, private: kept } = JSON.parse(stdout) as Listed
  return Object.fromEntries([...metrics, ...kept].map(({ id, value }) => [id.replace(/^.*___/, ''), value]))
}

describe('coming from', () => {
  it('a script: the value by list entries, and by a collector, is the same', async () => {
    const config = after('script')
    expect((await run('check', '--config', config)).code).toBe(0)
    const values = await valuesOf(config)
    expect(Object.keys(values)).toEqual(['TVL', 'Assets'])
    const [collector = '', ...others] = blocks('script', 'ts')
    expect(others).toEqual([])
    const entry = `      - use: ./tvl.ts\n        options: { chain: ethereum, vault: "${scene.addresses.vault}" }\n`
    const byCode = after('script', { 'tvl.ts': collector }, yaml => yaml.replace(/ {6}- use: [\s\S]*/, entry))
    expect((await valuesOf(byCode))['TVL']).toBeCloseTo(values['TVL'] ?? 0, 12)
  })

  it('Telegraf: each input has its entry, and its value', async () => {
    const config = after('telegraf')
    const { code, stdout } = await run('check', '--config', config)
    expect(code, stdout).toBe(0)
    for (const label of ['Users', 'Orders', 'TVL', 'MemoryUsed']) expect(stdout).toContain(`my-protocol___${label}`)
    const values = await valuesOf(config, 'my-protocol/http-json', 'my-protocol/contract-read')
    expect(values).toEqual({ Users: 1234, TVL: expect.any(Number) })
    expect(source.asked.find(({ target }) => target === '/v1/stats')?.headers['authorization']).toBe('Bearer x')
  })

  it('a DefiLlama adapter: pairs, vaults and the treasury, and their sum', async () => {
    const config = after('defillama')
    expect((await run('check', '--config', config)).code).toBe(0)
    const { Pairs = 0, Vaults = 0, Treasury = 0, TVL } = await valuesOf(config)
    for (const value of [Pairs, Vaults, Treasury]) expect(value).toBeGreaterThan(0)
    expect(TVL).toBeCloseTo(Pairs + Vaults + Treasury, 6)
  })

  it('shows scripts that are JavaScript', () => {
    for (const [page, name] of [
      ['script', 'a.mjs'],
      ['defillama', 'a.cjs'],
    ] as const) {
      const [code = ''] = blocks(page, 'js')
      const { folder: at } = configured('service: embedded\n')
      writeFileSync(join(at, name), code)
      execFileSync(process.execPath, ['--check', join(at, name)])
    }
  })
})
