import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectorContract, type Recording, type TestRunner } from 'tidegauge/testing'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'

const recording: Recording = {
  recording: 1,
  hour: '2026-11-20T13:00:00Z',
  chains: {},
  reads: [],
  prices: { A: { usd: 1.5, exact: '3/2' } },
  http: [],
}

/** A collector of one label, from the parts in which it differs from a sound one. */
function collector({ options = 'z.strictObject({})', label = 'Value', collect = "price('A')" }): string {
  const folder = temporaryFolder()
  const text = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: ${options}, metrics: { ${label}: {} }, history: true,
  collect: ({ price, hour }) => ({ ${label}: ${collect} }),
})
`
  writeFileSync(join(folder, 'own.ts'), text)
  return join(folder, 'own.ts')
}

/** Runs the tests of the contract whose titles begin so, and gives what fails, by title. */
async function failures(use: string, recordings: unknown = recording, beginning = ''): Promise<Record<string, string>> {
  const tests = new Map<string, () => Promise<void>>()
  const runner: TestRunner = {
    describe: (_, declare) => declare(),
    it: (title, test) => tests.set(title, test),
    after: done => onTestFinished(done),
  }
  collectorContract('own', { use, recording: recordings, tests: runner })
  const failed: Record<string, string> = {}
  for (const [title, test] of [...tests].filter(([title]) => title.startsWith(beginning))) {
    await test().catch((error: Error) => {
      failed[title] = error.message
    })
  }
  expect(tests.size).toBe(6)
  return failed
}

it('the contract is kept by a sound collector, also with recordings of several hours', async () => {
  const later = { ...recording, hour: '2026-11-20T14:00:00Z' }
  expect(await failures(collector({}), [recording, later])).toEqual({})
})

it.each([
  ['a value made of a failure', { collect: "price('A').catch(() => 0)" }, 'never makes a value', 'a source that fails'],
  ['a value that is guessed', { collect: "price('A').catch(() => 7)" }, 'never makes a value', 'a source that fails'],
  ['options that take anything', { options: 'z.object({})' }, 'calls an unknown option', 'use z.strictObject'],
  [
    'a variable that runs share',
    { collect: "((globalThis.sum = 0), price('A').then(a => (globalThis.sum += a)))" },
    'gives the same bytes',
    'keep nothing in variables of the module',
  ],
  ['a value of the clock', { collect: "price('A').then(a => a + performance.now())" }, 'gives the same bytes', ''],
  ['a long label', { label: 'AVeryVeryLongLabel' }, 'declares labels', 'more than 16 characters'],
  ['a read that is not recorded', { collect: "price('B')" }, 'has a value for every label', 'the price B'],
])('the contract finds %s', async (_, parts, title, words) => {
  const failed = Object.entries(await failures(collector(parts), recording, title))
  expect(failed).toContainEqual([expect.stringContaining(title), expect.stringContaining(words)])
})
