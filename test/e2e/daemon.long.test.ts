import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseHour } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { hourBack } from '../cli/stage.ts'
import { freePort } from '../support/free-port.ts'
import { allAccepted, answering, listening } from '../support/listening.ts'
import { addCollectorNow } from '../support/stored-hours.ts'
import { allDelivered, configured, hostYaml, levelCollector, startDaemon, tidegauge } from '../support/tidegauge.ts'

describe('the daemon', () => {
  it('takes a changed file automatically', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    writeFileSync(config, hostYaml.replace('id: this-machine', 'id: [this-machine'))
    await daemon.logged('the new configuration is refused, the old one stays in force')
    writeFileSync(config, hostYaml.replace('name: This machine', 'name: Renamed'))
    await daemon.logged('reloading')
    const { page } = await daemon.logged('running', 2)
    expect(await (await fetch(String(page))).text()).toContain('Renamed')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('takes an included file that appears, is mended, and vanishes', async () => {
    const { config } = configured(`${hostYaml}include: ["./p/**/*.yaml"]\n`)
    mkdirSync(join(dirname(config), 'p'))
    const daemon = await startDaemon(config)
    mkdirSync(join(dirname(config), 'p', 'sub'))
    const added = join(dirname(config), 'p', 'sub', 'b.yaml')
    writeFileSync(added, 'protocols: [{ id: b, nmae: B, collectors: [{ use: host }] }]')
    const { mistakes } = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(mistakes).toMatch(/p\/sub\/b\.yaml:1:22: unknown key "nmae"/)
    writeFileSync(added, 'protocols: [{ id: b, name: B, collectors: [{ use: host }] }]')
    const changes = (times: number) => daemon.logged('the new configuration is in force', times)
    expect((await changes(1))['changes']).toEqual(['protocol b added', 'collector b/host added'])
    rmSync(added)
    expect((await changes(2))['changes']).toEqual(['protocol b removed', 'collector b/host removed'])
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('does not start with a collector that check refuses, and tells of one that is broken or mended while it runs', async () => {
    const { config } = configured(hostYaml.replace('use: host', 'use: ./own.ts'))
    const file = join(dirname(config), 'own.ts')
    writeFileSync(file, 'export default {')
    const checked = await tidegauge(['check', '--config', config])
    const refused = await tidegauge(['run', '--config', config])
    expect([checked.code, refused.code]).toEqual([78, 78])
    expect(refused.stderr).toContain(checked.stderr.split('\n').find(line => line.includes('own.ts')) ?? 'nothing')

    writeFileSync(file, levelCollector)
    const daemon = await startDaemon(config)
    writeFileSync(file, `${levelCollector} }`)
    const refusal = await daemon.logged('the new configuration is refused, the old one stays in force')
    expect(refusal['mistakes']).toMatch(/tidegauge\.yaml:\d+:\d+: .*own\.ts cannot be loaded/)
    writeFileSync(
      file,
      levelCollector.replace('Level: {}', 'Level: {}, Other: {}').replace('Level: 1', 'Level: 1, Other: 2'),
    )
    await daemon.logged('reloading')
    await daemon.logged('running', 2)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('says that its outbox is gone, where it was moved away while it was stopped', async () => {
    const { folder, config } = configured(hostYaml)
    const first = await startDaemon(config)
    await first.status<StatusJson>(allDelivered)
    expect((await tidegauge(['doctor', '--config', config])).stdout).toMatch(
      /outbox: all of its (?!4\.0 KiB)[\d.]+ [KM]iB are sound/,
    )
    expect(await first.kill('SIGTERM')).toBe(0)
    expect(first.log.join('\n')).not.toContain('is gone')
    const data = join(folder, 'data', 'embedded')
    // As a crash leaves it that interrupts a salvage: nothing is gone.
    renameSync(join(data, 'outbox.db'), join(data, 'outbox.db.salvaged-20261120T130000Z'))
    const resumed = await startDaemon(config)
    expect(await resumed.kill('SIGTERM')).toBe(0)
    expect(resumed.log.join('\n')).not.toContain('is gone')
    for (const name of readdirSync(data)) if (name.startsWith('outbox.db')) rmSync(join(data, name))
    const second = await startDaemon(config)
    expect(await second.logged(/^the outbox that was here is gone/)).toMatchObject({ level: 'warn' })
    expect(await second.kill('SIGTERM')).toBe(0)
  })

  it('that has just started is ready in every place, however late a value is that it is about to deliver', async () => {
    // A push that takes for ever is no failure yet.
    const url = await listening(({ method }, response) => void (method === 'GET' && response.writeHead(404).end('{}')))
    const yaml = hostYaml.replace('embedded', `{ url: "${url}", key: { env: METRICS_KEY } }`)
    const { folder, config } = configured(
      yaml.replace('127.0.0.1:0', `127.0.0.1:${await freePort()}`).replace('use: host', 'use: ./level.js'),
      { 'level.js': levelCollector.replace('history: false', 'history: true') },
    )
    mkdirSync(join(folder, 'data'), { mode: 0o700 })
    const outbox = new SqliteOutbox(join(folder, 'data', 'outbox.db'))
    const hour = parseHour(hourBack(3))
    addCollectorNow(outbox, 'this-machine/level', hour)
    const metric = { id: metricId('this-machine', 'Level'), protocolId: 'this-machine', hour, value: 1 }
    await outbox.intake.record({ collector: 'this-machine/level', hour, acceptedValues: [{ metric }] }, Date.now())
    outbox.close()
    const env = { METRICS_KEY: 'a-key-nobody-may-see' }
    const status = async () =>
      JSON.parse((await tidegauge(['status', '--json', '--config', config], env)).stdout) as StatusJson
    const { ready, ...before } = await status()
    expect(ready.ok).toBe(false)
    expect(before).not.toHaveProperty('startedAt')
    const daemon = await startDaemon(config, env)
    const now = await status()
    expect([(await fetch(`${daemon.url}/readyz`)).status, now.ready.ok]).toEqual([200, true])
    const served = (await (await fetch(`${daemon.url}/status.json`)).json()) as StatusJson
    expect(Object.keys(now).sort()).toEqual(Object.keys(served).sort())
    expect([now.service.host, now.endpoints]).toEqual([served.service.host, served.endpoints])
    await daemon.kill('SIGKILL')
  })

  it('delivers what a command next to it puts into the outbox', async () => {
    const { config } = configured(hostYaml)
    const daemon = await startDaemon(config)
    await daemon.status<StatusJson>(allDelivered)
    const collected = await tidegauge(['collect', '--config', config])
    expect(collected.stderr).toContain(`the running daemon (pid ${daemon.pid}, configuration ${config}) delivers`)
    expect(collected.code).toBe(0)
  })

  it('keeps everything while the service is down, and delivers when it is back', async () => {
    const seen: unknown[] = []
    let isDown = true
    const url = await answering((_, body) => {
      if (isDown) return { status: 503, body: {} }
      const { metrics } = JSON.parse(body || '{"metrics":[]}') as { metrics: unknown[] }
      seen.push(...metrics)
      return allAccepted(metrics)
    })
    const yaml = hostYaml.replace('embedded', `{ url: "${url}", key: { env: METRICS_KEY } }`)
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
})
