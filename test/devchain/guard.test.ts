import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const fixture = fileURLToPath(new URL('guarded.ts', import.meta.url))

it('a guarded child ends with its parent, even when that is killed', async () => {
  const parent = spawn(process.execPath, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(parent.stdout, 'data')
  // Both have the output open: it closes when both have ended.
  const closed = once(parent, 'close')
  parent.kill('SIGKILL')
  expect(await closed).toEqual([null, 'SIGKILL'])
})

it('a child that is let go is left alone', async () => {
  const parent = spawn(process.execPath, [fixture, 'let-go'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await once(parent.stdout, 'data')
  await once(parent, 'exit')
  const pid = Number(String(output))
  expect(process.kill(pid, 0)).toBe(true)
  process.kill(pid)
})
