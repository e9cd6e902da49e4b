import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../support/folder.ts'
import { configured, faultOf, testRunner } from '../../setup.ts'

/** A collector whose `history` is this code. */
function collectorWith(history: string) {
  const folder = temporaryFolder()
  const code = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.object({ past: z.boolean() }), metrics: { Level: {} }, history: ${history}, collect: () => ({ Level: 1 }),
})`
  writeFileSync(join(folder, 'own.ts'), code)
  const { runner } = testRunner()
  return (past: boolean) =>
    runner.describe(configured('./own.ts', { file: join(folder, 'tidegauge.yaml'), options: { past } }))
}

it('whether a collector has a past may depend on its options', async () => {
  const describe = collectorWith('({ past }) => past')
  expect(await describe(true)).toMatchObject({ kind: 'usable', history: true })
  expect(await describe(false)).toMatchObject({ kind: 'usable', history: false })
})

it.for([
  ['() => "yes"', "history(options) gave 'yes'"],
  ['async () => true', 'history(options) gave Promise'],
  ['() => { throw new Error("oops") }', 'history(options) threw: oops'],
  ['"yes"', 'history must be true or false'],
] as const)('history: %s is a mistake of the collector', async ([history, message]) => {
  const fault = await faultOf(collectorWith(history)(true))
  expect(fault).toMatchObject({ code: 'collector-unusable', message: expect.stringContaining(message) })
})
