import { readdirSync, readFileSync } from 'node:fs'
import { decodeFunctionData, encodeFunctionResult, pad, parseAbi, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { CollectorConfig, NamedConfig } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { chainOf } from '../support/reads.ts'
import { type PricedRecipe, protocolPages, type Recipe, recipes } from './recipe-answers.ts'

const folder = new URL('../../docs/recipes/', import.meta.url)
const allPages = readdirSync(folder).filter(name => name.endsWith('.md') && name !== 'README.md')
const pages = allPages.filter(name => !protocolPages.includes(name))

/** The configurations of a page, in order. */
const blocksOf = (page: string) =>
  [...readFileSync(new URL(page, folder), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)

/** The address at which the double answers in the place of another host, which is then the first part of the path. */
const doubleOf = (url: string, source: Source) => url.replace(/^https?:\/\//, `${source.url}/`)

describe('the recipes', () => {
  let source: Source
  beforeAll(async () => {
    const answers = Object.values(recipes)
      .flat()
      .flatMap(each => ('asked' in each ? each.asked : [each]))
    // One address may be asked for several things: by its body.
    source = await startSource(target => {
      const found = answers.filter(each => target === each.target)
      const { answer } = found[Math.min(asked(target), found.length) - 1] ?? {}
      if (answer === undefined) return { status: 404 }
      return { body: typeof answer === 'string' ? answer : JSON.stringify(answer) }
    })
  })
  afterAll(() => source?.stop())
  const asked = (target: string) => source.asked.filter(each => each.target === target).length
  const chains = { ethereum: chain, cronos: chain, arbitrum: chain, base: chain }
  const runner = new ProcessRunner({ chains, deadlineMs: 60_000, time: systemTime, log: () => {} })
  afterAll(() => runner.stop())

  it('are all run here, each configuration of each page', () => {
    expect(Object.keys(recipes).sort()).toEqual(pages.sort())
    const index = readFileSync(new URL('README.md', folder), 'utf8')
    expect(allPages.filter(page => !index.includes(`](${page})`))).toEqual([])
    for (const page of pages) {
      const used = blocksOf(page).flatMap(text => parseConfig(page, text).protocols.flatMap(each => each.collectors))
      expect(used, page).toHaveLength(recipes[page]?.length ?? 0)
    }
  })

  it.for(pages)('%s asks as its source describes, and reads the documented answer', async page => {
    const used = blocksOf(page).flatMap(text => {
      const { protocols, prices } = parseConfig(page, text)
      return protocols.flatMap(each => each.collectors.map(collector => ({ collector, prices })))
    })
    for (const [index, { collector, prices }] of used.entries()) {
      const recipe = recipes[page]?.[index]
      if (!recipe) throw new Error(`nothing is known of configuration ${index} of ${page}`)
      for (const [name, value] of Object.entries(recipe.secrets ?? {})) {
        process.env[name] = value.startsWith('http') ? doubleOf(value, source) : value
        onTestFinished(() => void delete process.env[name])
      }
      if ('asked' in recipe) {
        await expectPriced(collector, prices, recipe)
        continue
      }
      const own: unknown = collector.options
      const url: unknown = typeof own === 'object' && own !== null ? Reflect.get(own, 'url') : undefined
      const options = { ...Object(own), ...(typeof url === 'string' && { url: doubleOf(url, source) }) }
      const local = { ...collector, options }
      expect(await runner.describe(local), page).toMatchObject({ kind: 'usable', history: recipe.history })
      const { readings, failures } = await runner.collect(local, hour)
      expect({ page, readings, failures }).toEqual({ page, readings: recipe.values, failures: {} })
      expectAsked(source, recipe)
    }
  })

  async function expectPriced(collector: CollectorConfig, prices: readonly NamedConfig[], recipe: PricedRecipe) {
    const doubled = prices.map(({ name, collector: { options, ...reader } }) => {
      const inPlace = (key: string, part: unknown) => (key === 'url' ? doubleOf(String(part), source) : part)
      return [name, { ...reader, options: JSON.parse(JSON.stringify(options, inPlace)) as unknown }] as const
    })
    const deps = { chains, deadlineMs: 60_000, time: systemTime, log: () => {} }
    const own = new ProcessRunner({ ...deps, prices: Object.fromEntries(doubled) })
    onTestFinished(() => own.stop())
    const before = source.asked.length
    expect((await own.collect(collector, hour)).readings).toEqual(recipe.values)
    expect(source.asked.slice(before).map(({ target }) => target)).toEqual(recipe.asked.map(({ target }) => target))
  }
})

const abi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address) view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
])

/** Decimals of the contracts that have not 18: tokens, and a feed. */
const decimals: Readonly<Record<string, number>> = {
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48': 6,
  '0xaf88d065e77c8cc2239327c5edb3a432268e5831': 6,
  '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': 6,
  '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599': 8,
  '0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419': 8,
}

/** A chain on which every account has two coins, and three of each token; a coin is 2,000 dollars. */
const chain = chainOf({
  block: async () => ({ number: 24_000_000n, hash: '0x00', timestampSeconds: hour / 1000 - 7 }),
  logs: async () => [],
  read: async (_hour, requests) =>
    requests.map(request => {
      if (request.kind === 'balance') return { kind: 'returned', output: pad(toHex(2n * 10n ** 18n)) }
      if (request.kind !== 'call') throw new Error('only calls are asked for')
      const places = decimals[request.to.toLowerCase()] ?? 18
      const { functionName } = decodeFunctionData({ abi, data: request.input })
      const three = 3n * 10n ** BigInt(places)
      const round = [1n, 2000n * 10n ** 8n, 0n, BigInt(hour / 1000 - 60), 1n]
      const result = { decimals: places, balanceOf: three, totalSupply: three, latestRoundData: round }[functionName]
      return { kind: 'returned', output: encodeFunctionResult({ abi, functionName, result } as never) }
    }),
})

function expectAsked({ asked }: Source, { method = 'GET', target, headers = {}, body }: Recipe): void {
  const { body: sent = '', ...last } = asked.at(-1) ?? {}
  expect(last).toMatchObject({ method, target, headers: { 'user-agent': 'tidegauge', ...headers } })
  expect(sent === '' ? undefined : JSON.parse(sent)).toEqual(body)
}
