import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { StatusJson } from '../../src/status/json.ts'
import { allAccepted, answering } from '../support/listening.ts'
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
