import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url))

/** A folder of its own for temporary files, so that what is left behind can be seen. */
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegauge-e2e-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Run {
  readonly child: ChildProcess
  /** Everything printed so far. */
  text(): string
  /** Resolves when a line with these words is printed; rejects when the demo ends before. */
  says(words: RegExp): Promise<RegExpExecArray>
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>
  /** Whether the chain, the daemon or whatever else it started is still there. */
  hasProcesses(): boolean
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  child.stderr.on('data', chunk => {
    printed += chunk
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    child,
    text: () => printed,
    ended,
    hasProcesses() {
      try {
        return process.kill(-(child.pid ?? 0), 0)
      } catch {
        return false
      }
    },
    says: words =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = words.exec(printed)
          if (match) resolve(match)
        }
        look()
        child.stdout.on('data', look)
        ended.then(() => reject(new Error(`it ended before it said ${words}:\n${printed}`)))
      }),
  }
}

test('--once ends by itself with 0 after every number was found on the chain too', async () => {
  const { ended, text, hasProcesses } = start(['--once'])
  expect(await ended, text()).toBe(0)
  expect(text()).toMatch(/^510 values checked against the chain, all equal$/m)
  expect(hasProcesses()).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

test('it stays up with a page to look at until Ctrl-C, then ends with 0 and leaves nothing', async () => {
  const { child, says, ended, text, hasProcesses } = start([])
  const [, page = ''] = await says(/^The page: (\S+)$/m)
  await says(/Stop with Ctrl-C/)
  expect(await (await fetch(page)).text()).toContain('Demo Treasury')
  // As a terminal does it: to the whole group.
  process.kill(-(child.pid ?? 0), 'SIGINT')
  expect(await ended, text()).toBe(0)
  expect(text()).toMatch(/Stopped\.\n$/)
  await expect(fetch(page)).rejects.toThrow()
  expect(hasProcesses()).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

test('told to stop in the middle of its start, it ends with 0 and leaves nothing', async () => {
  const { child, says, ended, text, hasProcesses } = start([])
  await says(/Building a local chain/)
  child.kill('SIGTERM')
  expect(await ended, text()).toBe(0)
  expect(hasProcesses()).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

test('when its port is taken it takes another and says so', async () => {
  const server = createServer()
  server.on('error', () => {}) // Somebody else has it: as good.
  server.listen(9464, '127.0.0.1')
  const { child, says, ended } = start([])
  try {
    const [, port] = await says(/Port 9464 is taken: the page is on port (\d+)/)
    expect(Number(port)).not.toBe(9464)
  } finally {
    child.kill('SIGTERM')
    await ended
    server.close()
  }
})

test('without anvil it says what is missing and what to do, and ends with 1', async () => {
  const { ended, text } = start([], { PATH: folder })
  expect(await ended).toBe(1)
  expect(text()).toMatch(/anvil is not on PATH.*install Foundry/)
  expect(text()).not.toMatch(/ {4}at /)
  expect(readdirSync(folder)).toEqual([])
})

test('a wrong argument is a usage error', async () => {
  const { ended, text } = start(['--onec'])
  expect(await ended).toBe(2)
  expect(text()).toContain('Usage: npm run demo')
})
