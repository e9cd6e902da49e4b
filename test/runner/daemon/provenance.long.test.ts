import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { version } from '../../../src/edge/version.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { chainOf } from '../../support/reads.ts'
import { configured, hour, testRunner } from '../setup.ts'

const word = `0x${'00'.repeat(31)}07` as const

/** A runner on a chain whose hours `node.example` served. */
function runnerOnNode() {
  const chain = chainOf({
    block: () => Promise.reject(new Error('is not asked for')),
    logs: () => Promise.reject(new Error('are not asked for')),
    read: async (_, requests) => requests.map(() => ({ kind: 'returned' as const, output: word })),
  })
  const served = { ...chain, servedBy: () => 'node.example' }
  return testRunner({ chains: { main: served, other: { ...served, id: 77 } } }).runner
}

it('a run says its version, the hosts of the chains that it has read, and digests of its files and options', async () => {
  const runner = runnerOnNode()
  const folder = temporaryFolder()
  const use = join(folder, 'two-stages.ts')
  copyFileSync(new URL('../fixtures/two-stages.ts', import.meta.url), use)
  const originOf = async (options: Readonly<Record<string, unknown>>, id = 'own/c') =>
    (await runner.collect(configured(use, { id, options }), hour)).provenance
  const first = await originOf({ factor: 1 })
  expect(first).toEqual({
    version,
    code: expect.stringMatching(/^[0-9a-f]{12}$/),
    options: expect.stringMatching(/^[0-9a-f]{12}$/),
    hosts: { '1': 'node.example' },
  })
  expect(await originOf({ factor: 1 }, 'own/d'), 'of equal code and options').toEqual(first)
  const other = await originOf({ factor: 2 })
  expect([other?.code === first?.code, other?.options === first?.options]).toEqual([true, false])
})

it('the digest of a file of one’s own changes with what it imports', async () => {
  const folder = temporaryFolder()
  const use = join(folder, 'sums.ts')
  const library = join(folder, 'seven.ts')
  writeFileSync(library, 'export const seven = 7')
  writeFileSync(
    use,
    `import { defineCollector, z } from 'tidegauge'
import { seven } from '${['.', 'seven.ts'].join('/')}'
export default defineCollector({ options: z.strictObject({}), metrics: { Level: {} }, history: true, collect: () => ({ Level: seven }) })`,
  )
  const runner = runnerOnNode()
  const collector = configured(use, { id: 'own/sums', options: {} })
  const before = (await runner.collect(collector, hour)).provenance
  expect((await runner.collect(collector, hour)).provenance).toEqual(before)
  writeFileSync(library, 'export const seven = 3 + 4')
  const after = (await runner.collect(collector, hour)).provenance
  expect(after).toEqual({ ...before, code: expect.not.stringContaining(before?.code ?? '') })
})

it('the order of options says nothing', async () => {
  const use = join(temporaryFolder(), 'loose.ts')
  writeFileSync(
    use,
    `import { defineCollector, z } from 'tidegauge'
export default defineCollector({ options: z.looseObject({}), metrics: { Level: {} }, history: true, collect: () => ({ Level: 1 }) })`,
  )
  const runner = runnerOnNode()
  const digestOf = async (options: Readonly<Record<string, unknown>>) =>
    (await runner.collect(configured(use, { id: 'own/loose', options }), hour)).provenance?.options
  const digest = await digestOf({ a: 1, b: { c: 2, d: [3, 4] } })
  expect(digest).toMatch(/^[0-9a-f]{12}$/)
  expect(await digestOf({ b: { d: [3, 4], c: 2 }, a: 1 })).toBe(digest)
  expect(await digestOf({ b: { d: [4, 3], c: 2 }, a: 1 })).not.toBe(digest)
})
