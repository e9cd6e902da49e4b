import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compiledText } from './compiled.ts'

it('the contracts are what their sources are compiled to: node test/devchain/generate.ts', async () => {
  const file = new URL('../../src/devchain/contracts.json', import.meta.url)
  expect(readFileSync(file, 'utf8')).toBe(await compiledText())
})
