import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { startDemo } from './demo-run.ts'

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
