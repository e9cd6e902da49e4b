import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { chainOf } from '../support/reads.ts'
import { type Recipe, recipes } from './recipe-answers.ts'

const folder = new URL('../../docs/recipes/', import.meta.url)
const pages = readdirSync(folder).filter(name => name !== 'README.md')

/** The configurations of a page, in order. */
const blocksOf = (page: string) =>
  [...readFileSync(new URL(page, folder), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)

/** The address at which the double answers in the place of another host, which is then the first part of the path. */
const doubleOf = (url: string, source: Source) => url.replace(/^https?:\/\//, `${source.url}/`)

describe('the recipes', () => {
  let source: Source
  beforeAll(async () => {
    const answers = Object.values(recipes).flat()
    source = await startSource(target => {
      const found = answers.find(each => target === each.target)
      return found ? { body: JSON.stringify(found.answer) } : { status: 404 }
    })
  })
  afterAll(() => source?.stop())
  const chain = chainOf({
    block: async () => ({ number: 24_000_000n, hash: '0x00', timestampSeconds: hour / 1000 - 7 }),
    read: async () => [],
    logs: async () => [],
  })
  const chains = { ethereum: chain, cronos: chain }
  const runner = new ProcessRunner({ chains, deadlineMs: 60_000, time: systemTime, log: () => {} })
  afterAll(() => runner.stop())

  it('are all run here, each configuration of each page', () => {
    expect(Object.keys(recipes).sort()).toEqual(pages.sort())
    const index = readFileSync(new URL('README.md', folder), 'utf8')
    expect(pages.filter(page => !index.includes(`](${page})`))).toEqual([])
    for (const page of pages) {
      const used = blocksOf(page).flatMap(text => parseConfig(page, text).protocols.flatMap(each => each.collectors))
      expect(used, page).toHaveLength(recipes[page]?.length ?? 0)
    }
  })

  it.for(pages)('%s asks as its source describes, and reads the documented answer', async page => {
    const used = blocksOf(page).flatMap(text => parseConfig(page, text).protocols.flatMap(each => each.collectors))
    for (const [index, collector] of used.entries()) {
      const recipe = recipes[page]?.[index]
      if (!recipe) throw new Error(`nothing is known of configuration ${index} of ${page}`)
      for (const [name, value] of Object.entries(recipe.secrets ?? {})) {
        process.env[name] = value.startsWith('http') ? doubleOf(value, source) : value
        onTestFinished(() => void delete process.env[name])
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
})

function expectAsked({ asked }: Source, { method = 'GET', target, headers = {}, body }: Recipe): void {
  const { body: sent = '', ...last } = asked.at(-1) ?? {}
  expect(last).toMatchObject({ method, target, headers: { 'user-agent': 'tidegauge', ...headers } })
  expect(sent === '' ? undefined : JSON.parse(sent)).toEqual(body)
}
