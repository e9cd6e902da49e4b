import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StatusJson } from '../../src/status/json.ts'
import { configured, hostYaml, startDaemon, tidegauge } from '../support/tidegauge.ts'

const allDelivered = ({ balance }: StatusJson) => balance.queued > 0 && balance.due === 0

describe('the daemon', () => {
  it('collects the current hour at once, delivers it, shows it, and ends cleanly on SIGTERM', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    const status = await daemon.status<StatusJson>(allDelivered)
    expect(status.balance).toMatchObject({ queued: 4, delivered: 4 })
    expect(status.hours.rows[0]?.cells.at(-1)?.state).toBe('delivered')

    const get = async (path: string) => await fetch(`${daemon.url}${path}`)
    expect((await get('/livez')).status).toBe(200)
    expect((await get('/readyz')).status).toBe(200)
    expect(await (await get('/metrics')).text()).toContain('tidegauge_')
    expect(await (await get('/')).text()).toContain('This machine')

    const shown = await tidegauge(['show', 'this-machine', '--json', '--config', config])
    const labels = (JSON.parse(shown.stdout) as { id: string }[]).map(({ id }) => id)
    expect(labels.sort()).toEqual(status.protocols[0]?.metrics.map(({ id }) => id).sort())

    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(JSON.parse(daemon.log.at(-1) ?? '{}')).toMatchObject({ msg: 'stopped' })
  })

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

  it('delivers what a command beside it puts into the outbox', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    await daemon.status<StatusJson>(allDelivered)
    const collected = await tidegauge(['collect', '--config', config])
    expect(collected.stderr).toContain(`the running daemon (pid ${daemon.pid}, configuration ${config}) delivers`)
    expect(collected.code).toBe(0)
  })

  it('keeps the old configuration when a reloaded one is wrong, and takes a right one', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    writeFileSync(config, hostYaml.replace('collectors:', 'colectors:'))
    process.kill(daemon.pid, 'SIGHUP')
    const refused = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refused['mistakes']).toMatch(/tidegauge\.yaml:6:5: .*colectors/)
    const text = async (path: string) => (await fetch(`${daemon.url}${path}`)).text()
    expect(JSON.parse(await text('/readyz'))).toMatchObject({
      ready: false,
      reasons: [expect.stringMatching(/was changed and is refused since .*colectors/)],
    })
    expect(await text('/metrics')).toContain('tidegauge_config_refused 1')
    expect(await text('/')).toContain('was changed and is refused')
    const { startedAt } = JSON.parse(await text('/status.json')) as StatusJson
    writeFileSync(config, hostYaml.replace('name: This machine', 'name: Renamed'))
    process.kill(daemon.pid, 'SIGHUP')
    await daemon.logged('stopping')
    const running = daemon.log.filter(line => line.includes('"running"')).length
    while (daemon.log.filter(line => line.includes('"running"')).length === running) await new Promise(setImmediate)
    const page = JSON.parse(daemon.log.findLast(line => line.includes('"running"')) ?? '{}') as { page: string }
    expect(await (await fetch(page.page)).text()).toContain('Renamed')
    const taken = await daemon.logged('the new configuration is in force')
    expect(taken['changes']).toEqual(['protocol this-machine changed'])
    const after = (await (await fetch(`${page.page}status.json`)).json()) as StatusJson
    expect(after.ready).toEqual({ ok: true, reasons: [] })
    expect(after.startedAt).toBe(startedAt)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('takes a changed file by itself', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    writeFileSync(config, hostYaml.replace('id: this-machine', 'id: [this-machine'))
    await daemon.logged('the new configuration is refused, the old one stays in force')
    writeFileSync(config, hostYaml.replace('name: This machine', 'name: Renamed'))
    await daemon.logged('stopping')
    const isRunning = (line: string) => line.includes('"running"')
    while (daemon.log.filter(isRunning).length < 2) await new Promise(setImmediate)
    const page = JSON.parse(daemon.log.findLast(isRunning) ?? '{}') as { page: string }
    expect(await (await fetch(page.page)).text()).toContain('Renamed')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('keeps everything while the service is down, and delivers when it is back', async () => {
    const seen: unknown[] = []
    let isDown = true
    const service = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', text => {
        body += text
      })
      request.on('end', () => {
        if (isDown) return void response.writeHead(503).end()
        const { metrics } = JSON.parse(body || '{"metrics":[]}') as { metrics: unknown[] }
        seen.push(...metrics)
        response.end(JSON.stringify({ success: true, processed: metrics.length, errors: [], warnings: [] }))
      })
    })
    await new Promise<void>(resolve => service.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void service.close())
    const address = service.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const yaml = hostYaml.replace('embedded', `{ url: "http://127.0.0.1:${port}", key: { env: METRICS_KEY } }`)
    const { config } = configured(yaml)
    const daemon = await startDaemon(config, { METRICS_KEY: 'a-key-nobody-may-see' })
    await daemon.logged('delivery waits')
    const waiting = await daemon.status<StatusJson>(({ service }) => service.waiting !== undefined)
    expect(waiting.balance).toMatchObject({ due: 4, delivered: 0 })
    isDown = false
    await daemon.status<StatusJson>(allDelivered)
    expect(seen).toHaveLength(4)
    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(daemon.log.join('\n')).not.toContain('a-key-nobody-may-see')
  })

  it('keeps the old configuration when the new one is in order and cannot be started', async () => {
    const taken = await listening(createServer())
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    writeFileSync(config, hostYaml.replace('127.0.0.1:0', `127.0.0.1:${taken}`))
    process.kill(daemon.pid, 'SIGHUP')
    const refused = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refused['fault']).toContain(`${taken}`)
    const runningAgain = () => daemon.log.filter(line => line.includes('"running"'))[1]
    while (runningAgain() === undefined) await new Promise(setImmediate)
    const { page } = JSON.parse(runningAgain() ?? '{}') as { page: string }
    expect((await fetch(`${page}livez`)).status).toBe(200)
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

  it.each([
    ['starts', 0],
    ['runs', 1],
  ])('ends on SIGTERM while it %s and a collector hangs at import', async (_, importsBefore) => {
    const yaml = hostYaml.replace('use: host', 'use: ./hangs.ts').concat('collect: { deadline: 5m }\n')
    const { config } = configured(yaml, { 'hangs.ts': hangsAtImport(importsBefore) })
    const { code, stderr } = await tidegauge(['run', '--config', config])
    expect(stderr.includes('"running"')).toBe(importsBefore > 0)
    expect(code).toBe(0)
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

/** A collector that is imported well a few times; then it hangs there, and has the daemon asked to stop meanwhile. */
function hangsAtImport(importsBefore: number): string {
  return `import { appendFileSync, readFileSync } from 'node:fs'
import { defineCollector, z } from 'tidegauge'
const file = new URL('./imports', import.meta.url)
appendFileSync(file, '.')
if (readFileSync(file).length > ${importsBefore}) {
  process.kill(process.ppid, 'SIGTERM')
  await new Promise(() => {})
}
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Level: {} },
  history: true,
  collect: async () => ({ Level: 1 }),
})
`
}
