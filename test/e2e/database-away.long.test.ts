import { once } from 'node:events'
import { expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { configured, start, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const password = 'a-password-nobody-may-see'

const yaml = (statusPort: number) => `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
status: { listen: "127.0.0.1:${statusPort}" }
protocols:
  - id: this-machine
    name: This machine
    collectors:
      - use: host
`

const withDatabase = (address: string) => ({ METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address })

it('a daemon whose database cannot be reached lives, and says which one; a command ends with 1', async () => {
  const [statusPort, databasePort] = [await freePort(), await freePort()]
  const { config } = configured(yaml(statusPort))
  const env = withDatabase(`postgres://owner:${password}@127.0.0.1:${databasePort}/tides`)
  const daemon = start(['run', '--config', config], env)
  const closed = once(daemon, 'close')
  let log = ''
  daemon.stderr?.setEncoding('utf8').on('data', text => {
    log += text
  })
  let reasons = ''
  while (!reasons.includes(`127.0.0.1:${databasePort}`)) {
    await untilNextLook()
    const answer = await fetch(`http://127.0.0.1:${statusPort}/readyz`).catch(() => undefined)
    if (answer) expect(answer.status).toBe(503)
    reasons = (await answer?.text()) ?? ''
  }
  expect((await fetch(`http://127.0.0.1:${statusPort}/livez`)).status).toBe(200)
  const { code, stdout, stderr } = await tidegauge(['gaps', '--config', config], env)
  expect(code).toBe(1)
  expect(stderr).toContain(`127.0.0.1:${databasePort}`)
  expect(stderr).not.toMatch(/^ +at /m)
  daemon.kill('SIGTERM')
  expect(await closed).toEqual([0, null])
  expect(log + reasons + stdout + stderr).not.toContain(password)
})

it.each([
  ['unset', {}],
  ['no address', withDatabase('not an address')],
])('a database whose variable is %s is a mistake of the configuration', async (_, env) => {
  const { config } = configured(yaml(await freePort()))
  for (const command of ['run', 'gaps']) {
    const { code, stderr } = await tidegauge([command, '--config', config], env)
    expect({ command, code }).toEqual({ command, code: 78 })
    expect(stderr).toContain('DATABASE_URL')
    expect(stderr).not.toMatch(/^ +at /m)
  }
})
