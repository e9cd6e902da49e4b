import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { temporaryFolder } from '../support/folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'docs/deploy/monitoring')
const documentOf = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'))

const compose = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      volumes: z.array(z.string()),
      ports: z.array(z.string()).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.strictObject({})),
})

/** Files that the user brings, and those of the repository that are copied next to the others. */
const brought = ['config', 'secrets', 'dashboards', 'alerts.yaml']

describe('the files for a daemon with its monitoring:', () => {
  const { services, volumes } = compose.parse(documentOf('compose.yaml'))

  it('Compose mounts what lies there, what the user brings, and volumes that it makes', () => {
    const sources = Object.values(services).flatMap(service => service.volumes.map(mount => mount.split(':')[0] ?? ''))
    const files = sources.filter(source => source.startsWith('./')).map(source => source.slice(2))
    expect(files.filter(file => !brought.includes(file) && !existsSync(join(folder, file)))).toEqual([])
    expect(new Set(sources.filter(source => !source.startsWith('.')))).toEqual(new Set(Object.keys(volumes)))
    // The folder, as a single file that is mounted stays the old one when it is replaced by rename.
    expect(services['tidegauge']?.volumes).toContain('./secrets:/run/secrets:ro')
  })

  it('nothing is published beyond this machine, and no password is written', () => {
    const ports = Object.values(services).flatMap(service => service.ports ?? [])
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).not.toMatch(/password\s*[:=]/i)
  })

  it('Grafana reads the dashboards where they are mounted', () => {
    const { providers } = z
      .looseObject({ providers: z.array(z.looseObject({ options: z.object({ path: z.string() }) })) })
      .parse(documentOf('grafana-dashboards.yaml'))
    const mounts = services['grafana']?.volumes.map(mount => mount.split(':')[1])
    for (const { options } of providers) expect(mounts).toContain(options.path)
  })

  it.runIf(existsSync('/usr/bin/promtool'))('Prometheus takes what an OpenTelemetry collector is to scrape', () => {
    const page = readFileSync(join(root, 'docs/status.md'), 'utf8')
    const [, block = ''] = /## OpenTelemetry[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page) ?? []
    const { receivers, exporters, service } = parse(block)
    const file = join(temporaryFolder(), 'prometheus.yml')
    writeFileSync(file, stringify(receivers.prometheus.config))
    expect(execFileSync('promtool', ['check', 'config', file], { encoding: 'utf8' })).toContain('SUCCESS')
    const { receivers: from, exporters: to } = service.pipelines.metrics
    expect([from, to]).toEqual([Object.keys(receivers), Object.keys(exporters)])
  })

  it.runIf(existsSync('/usr/bin/promtool'))('Prometheus takes its configuration, with the alerts', () => {
    const place = temporaryFolder()
    copyFileSync(join(folder, 'prometheus.yaml'), join(place, 'prometheus.yml'))
    copyFileSync(join(root, 'config/prometheus/alerts.yaml'), join(place, 'alerts.yaml'))
    const said = execFileSync('promtool', ['check', 'config', join(place, 'prometheus.yml')], { encoding: 'utf8' })
    expect(said).toMatch(/SUCCESS: 1 rule files found[\s\S]*SUCCESS: \d+ rules found/)
  })
})
