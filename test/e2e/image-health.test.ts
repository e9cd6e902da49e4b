import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { startStatus } from '../../src/status/server/server.ts'
import { emptySnapshot, richSnapshot } from '../support/snapshot.ts'

/** The image's health check as the Dockerfile has it, on another port and with another fallback. */
function healthCheck(port: string, fallback: string): string[] {
  const file = readFileSync(fileURLToPath(new URL('../../Dockerfile', import.meta.url)), 'utf8').replaceAll('\\\n', '')
  const [, command = ''] = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(file) ?? []
  const [program = '', flag = '', script = ''] = JSON.parse(command) as string[]
  expect(script).toContain('/127.0.0.1/9464')
  expect(script).toContain('node /app/dist/bin.cjs healthcheck --live')
  const moved = script.replace('/9464', `/${port}`).replace('node /app/dist/bin.cjs healthcheck --live', fallback)
  return [program, flag, moved]
}

function run([program = '', ...args]: readonly string[]): Promise<number> {
  return new Promise(resolve => {
    execFile(program, args, error => resolve(typeof error?.code === 'number' ? error.code : error ? -1 : 0))
  })
}

describe('the image', () => {
  it('is healthy while the daemon lives, also when it is not ready, without another node', async () => {
    const status = await startStatus({
      host: '127.0.0.1',
      port: 0,
      snapshot: () => richSnapshot,
      ready: () => richSnapshot.ready,
      history: async () => undefined,
      state: async () => 'same',
      exposition: async () => '',
      time: systemTime,
    })
    onTestFinished(() => status.stop())
    expect(richSnapshot.ready.ok).toBe(false)
    expect(emptySnapshot.ready.ok).toBe(true)
    expect(await run(healthCheck(new URL(status.url).port, 'exit 9'))).toBe(0)
  })

  it('asks the command where nothing listens at the usual port, or something else does', async () => {
    const other = createServer((_, response) => response.writeHead(404).end('none'))
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    expect(await run(healthCheck(String(port), 'true'))).toBe(0)
    expect(await run(healthCheck(String(port), 'false'))).toBe(1)
    await new Promise(resolve => other.close(resolve))
    expect(await run(healthCheck(String(port), 'false'))).toBe(1)
  })
})
