import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { startDemo } from './demo-run.ts'

it('--once ends with 0 after every number was found on the chain too', async () => {
  const { folder, ended, text, hasProcesses } = startDemo(['--once'])
  expect(await ended, text()).toBe(0)
  expect(text()).toMatch(/^612 values checked against the chain, all equal$/m)
  expect(hasProcesses()).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

it('without anvil it says what is missing and what to do, and ends with 1', async () => {
  const { folder, ended, text } = startDemo([], { PATH: temporaryFolder() })
  expect(await ended).toBe(1)
  expect(text()).toMatch(/anvil is not on PATH.*install Foundry/)
  expect(text()).not.toMatch(/ {4}at /)
  expect(readdirSync(folder)).toEqual([])
})

it('a wrong argument is a usage error', async () => {
  const { ended, text } = startDemo(['--onec'])
  expect(await ended).toBe(2)
  expect(text()).toContain('Usage: npm run demo')
})
