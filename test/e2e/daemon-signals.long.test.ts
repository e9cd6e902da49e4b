import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StatusJson } from '../../src/status/json.ts'
import { freePort } from '../support/free-port.ts'
import {
  allDelivered,
  configured,
  hostYaml,
  levelCollector,
  start,
  startDaemon,
  tidegauge,
} from '../support/tidegauge.ts'

describe('the daemon', () => {
  it('is alone: a second one ends with 75 and says who holds the outbox, and a killed one frees it', async () => {
    const { config } = configured(hostYaml)
    const first = await startDaemon(config)
    const second = await tidegauge(['run', '--config', config])
    expect(second.code).toBe(75)
    expect(second.stderr).toContain(`pid: ${first.pid}`)
    await first.kill('SIGKILL')
    const third = await startDaemon(config)
    expect(await third.kill('SIGINT')).toBe(0)
  })

  it('keeps the old configuration when a reloaded one is wrong, and takes a right one', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    await daemon.status<StatusJson>(allDelivered)
    const holder = async () => /^daemon .*$/m.exec((await tidegauge(['status', '--config', config])).stdout)?.[0]
    const before = await holder()
    writeFileSync(config, hostYaml.replace('collectors:', 'colectors:'))
    process.kill(daemon.pid, 'SIGHUP')
    const refused = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refused['mistakes']).toMatch(/tidegauge\.yaml:6:5: .*colectors/)
    const text = async (path: string) => (await fetch(`${daemon.url}${path}`)).text()
    expect(JSON.parse(await text('/readyz'))).toMatchObject({
      ready: false,
      reasons: [expect.stringMatching(/was changed and has been refused since .*colectors/)],
    })
    expect(await text('/metrics')).toContain('tidegauge_config_last_reload_successful 0')
    expect(await text('/')).toContain('was changed and has been refused')
    const { startedAt } = JSON.parse(await text('/status.json')) as StatusJson
    writeFileSync(config, hostYaml.replace('name: This machine', 'name: Renamed'))
    process.kill(daemon.pid, 'SIGHUP')
    await daemon.logged('reloading')
    const { page } = await daemon.logged('running', 2)
    expect(await (await fetch(String(page))).text()).toContain('Renamed')
    const taken = await daemon.logged('the new configuration is in force')
    expect(taken['changes']).toEqual(['protocol this-machine changed'])
    const after = (await (await fetch(`${page}status.json`)).json()) as StatusJson
    expect(after.ready).toEqual({ ok: true, reasons: [] })
    expect(after.startedAt).toBe(startedAt)
    expect(before).toContain('since')
    expect(await holder()).toBe(before)
    // Of a reload, counters see nothing.
    expect(await (await fetch(`${page}metrics`)).text()).toMatch(/^tidegauge_metrics_delivered_total 4$/m)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('takes what is saved while a reload is being checked, and status says what is in force until then', async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    let isOpen = false
    const port = await listening(
      createServer((_, response) => {
        if (isOpen) response.end()
        else asked.resolve(response)
      }),
    )
    const waiting = `await fetch('http://127.0.0.1:${port}')\n${levelCollector}`
    const yaml = hostYaml.replace('127.0.0.1:0', `127.0.0.1:${await freePort()}`)
    const { config } = configured(yaml, { 'slow.ts': waiting, 'quick.ts': levelCollector })
    const daemon = await startDaemon(config)
    await daemon.status<StatusJson>(allDelivered)
    const more = (id: string) => `  - { id: ${id}, name: P, collectors: [{ use: ./${id}.ts }] }\n`
    writeFileSync(config, `${yaml}${more('slow')}`)
    process.kill(daemon.pid, 'SIGHUP')
    const isChecked = await asked.promise
    writeFileSync(config, `${yaml}${more('slow')}${more('quick')}`)
    const status = await tidegauge(['status', '--config', config])
    expect(status).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('was saved, and the daemon has not taken it yet'),
    })
    expect((await tidegauge(['doctor', '--config', config])).stdout).toMatch(/in force: saved since the daemon read/)
    isOpen = true
    isChecked.end()
    const [first, second] = [
      await daemon.logged('the new configuration is in force'),
      await daemon.logged('the new configuration is in force', 2),
    ]
    expect([first['changes'], second['changes']]).toEqual([
      ['protocol slow added', 'collector slow/slow added'],
      ['protocol quick added', 'collector quick/quick added'],
    ])
    expect((await tidegauge(['doctor', '--config', config])).stdout).toMatch(/in force: the daemon runs on this/)
  })

  it('tries a failed hour at once when the secret that it lacked appears, and needs no reload for that', async () => {
    const yaml = `${hostYaml.replace('use: host', 'use: ./own.ts\n        options: { key: { file: own-key } }')}`
    const { config, folder } = configured(yaml, { 'own.ts': secretCollector })
    const daemon = await startDaemon(config)
    await daemon.logged('not collected')
    // As after many failures.
    const outbox = new Database(join(folder, 'data', 'embedded', 'outbox.db'))
    outbox.exec(`UPDATE collection SET next_attempt_ms = ${Date.now() + 9 * 60_000} WHERE state = 0`)
    outbox.close()
    writeFileSync(join(dirname(config), 'own-key'), 'a-key-of-its-own')
    await daemon.status<StatusJson>(allDelivered)
    expect(daemon.log.join('\n')).not.toContain('reloading')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('keeps the old configuration when the new one is in order and cannot be started', async () => {
    const taken = await listening(createServer())
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    writeFileSync(config, hostYaml.replace('127.0.0.1:0', `127.0.0.1:${taken}`))
    process.kill(daemon.pid, 'SIGHUP')
    const refused = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refused['fault']).toContain(`${taken}`)
    const { page } = await daemon.logged('running', 2)
    expect((await fetch(`${page}livez`)).status).toBe(200)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('does not leave a data folder in which metrics are due', async () => {
    const port = await listening(createServer((_, response) => response.writeHead(503).end()))
    const service = `{ url: "http://127.0.0.1:${port}", key: { env: METRICS_KEY } }\ndata: ./one`
    const yaml = hostYaml.replace('embedded', service)
    const { config } = configured(yaml)
    const daemon = await startDaemon(config, { METRICS_KEY: 'a-key-nobody-may-see' })
    await daemon.logged(/delivery waits/)
    writeFileSync(config, yaml.replace('data: ./one', 'data: ./two'))
    process.kill(daemon.pid, 'SIGHUP')
    const refused = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refused['fault']).toMatch(/\d+ metrics are still due in .*\/one, .*change data back/)
    const { page } = await daemon.logged('running', 2)
    expect(await (await fetch(`${page}readyz`)).text()).toMatch(/metrics are still due in .*\/one/)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('ends on SIGTERM while the service hangs, and keeps what was under way', async () => {
    const asked = Promise.withResolvers<void>()
    const port = await listening(createServer(() => asked.resolve()))
    const service = `{ url: "http://127.0.0.1:${port}", key: { env: METRICS_KEY } }\ndelivery: { timeout: 120s }`
    const { config } = configured(hostYaml.replace('embedded', service))
    const daemon = await startDaemon(config, { METRICS_KEY: 'a-key-nobody-may-see' })
    await asked.promise
    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(daemon.log.join('\n')).not.toContain('delivery waits')
    expect(JSON.parse(daemon.log.at(-1) ?? '{}')).toMatchObject({ msg: 'stopped' })
  })

  const hangingYaml = hostYaml.replace('use: host', 'use: ./own.ts').concat('collect: { deadline: 5m }\n')

  it('ends on SIGTERM while it starts and a collector hangs at import', async () => {
    const { config } = configured(hangingYaml, { 'own.ts': hangsAtImport })
    const child = start(['run', '--config', config], {})
    let log = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('hangs now')) child.kill('SIGTERM')
    })
    expect(await once(child, 'close')).toEqual([0, null])
    expect(log).not.toContain('"running"')
  })

  it('ends on SIGTERM while it runs and a collector hangs at import', async () => {
    const { config } = configured(hangingYaml, { 'own.ts': levelCollector })
    const daemon = await startDaemon(config)
    writeFileSync(join(dirname(config), 'own.ts'), hangsAtImport)
    await daemon.logged('hangs now')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

const hangsAtImport = `console.log('hangs now')
await new Promise(() => {})
${levelCollector}`

const secretCollector = levelCollector
  .replace('import { defineCollector, z }', 'import { defineCollector, secret, z }')
  .replace('z.strictObject({})', 'z.strictObject({ key: secret })')
