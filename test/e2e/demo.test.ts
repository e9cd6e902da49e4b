import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { startDemo } from './demo-run.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

it('--once ends with 0 after every number was found on the chain too', async () => {
  const { folder, ended, text, processes } = startDemo(['--once'])
  expect(await ended, text()).toBe(0)
  expect(text()).toMatch(/^612 values checked against the chain, all equal$/m)
  // README.md shows the same lines, with figures of another day.
  const [, block = ''] = /^```\n(Caught up[\s\S]*?)^```/m.exec(readme) ?? []
  const shown = block.split('\n').filter(line => line !== '' && line !== '…')
  expect(shown.length).toBeGreaterThan(4)
  expect(shown.map(formOf).filter(line => !text().split('\n').map(formOf).includes(line))).toEqual([])
  expect(processes()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

/** A line without its figures and blanks. */
const formOf = (line: string) =>
  line
    .replace(/[+−-]?\d[\d.,]*/g, '0')
    .replace(/\s+/g, ' ')
    .trim()

it('without anvil it says what is missing and what to do, and ends with 1', async () => {
  const { folder, ended, text } = startDemo([], { PATH: temporaryFolder() })
  expect(await ended).toBe(1)
  expect(text()).toMatch(/needs anvil, and there is none: npm install --no-save @foundry-rs\/anvil/)
  expect(text()).not.toMatch(/ {4}at /)
  expect(readdirSync(folder)).toEqual([])
})

it('a wrong argument is a usage error', async () => {
  const { ended, text } = startDemo(['--onec'])
  expect(await ended).toBe(2)
  expect(text()).toContain('Usage: npm run demo')
})
