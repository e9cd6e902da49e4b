import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
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
  expect(text()).toMatch(/needs anvil, and there is none: npm install --save-dev @foundry-rs\/anvil/)
  expect(text()).not.toMatch(/ {4}at /)
  expect(readdirSync(folder)).toEqual([])
})

it('a wrong argument is a usage error', async () => {
  const { ended, text } = startDemo(['--onec'])
  expect(await ended).toBe(2)
  expect(text()).toContain('Usage: npm run demo')
})

it('it stays up with a page to look at until Ctrl-C, then ends with 0 and leaves nothing', async () => {
  const { folder, child, says, ended, text, processes } = startDemo([])
  const [, page = ''] = await says(/^The page: (\S+)$/m)
  await says(/Stop with Ctrl-C/)
  expect(await (await fetch(page)).text()).toContain('Demo Treasury')
  // As a terminal does it: to the whole group.
  process.kill(-(child.pid ?? 0), 'SIGINT')
  expect(await ended, text()).toBe(0)
  expect(text()).toMatch(/Stopped\.\n$/)
  await expect(fetch(page)).rejects.toThrow()
  expect(processes()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

it('stopped in the middle of its start, it ends with 0 and leaves nothing', async () => {
  const { folder, child, says, ended, text, processes } = startDemo([])
  await says(/Building a local chain/)
  child.kill('SIGTERM')
  expect(await ended, text()).toBe(0)
  expect(processes()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

it('when its port is taken it takes another and says so', async () => {
  const server = createServer()
  server.on('error', () => {}) // Somebody else has it: as good.
  server.listen(9464, '127.0.0.1')
  const { child, says, ended } = startDemo([])
  try {
    const [, port] = await says(/Port 9464 is taken: the page is on port (\d+)/)
    expect(Number(port)).not.toBe(9464)
  } finally {
    child.kill('SIGTERM')
    await ended
    server.close()
  }
})
