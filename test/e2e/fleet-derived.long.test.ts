import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { hourBack } from '../cli/stage.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const meterCollector = `import { readFileSync } from 'node:fs'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Volume: {} },
  history: true,
  collect: ({ hour }) => {
    const by = JSON.parse(readFileSync(new URL('by.json', import.meta.url), 'utf8'))
    return { Volume: by + ((hour / 3_600_000) % 7) }
  },
})
`

describe.skipIf(postgresPlace.kind === 'missing')('derived values of a fleet', () => {
  const databases = useTestDatabases()

  it('are computed by one of its daemons after their inputs, and corrected with them', async () => {
    const now = parseHour(hourBack(0))
    const back = (count: number) => hourText(hourAfter(now, -count))
    const yaml = (name: string) => `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
protocols:
  - id: market
    name: Market
    collectors: [{ use: ./own/meter.js, since: ${back(4)} }]
  - id: sums
    name: Sums
    collectors:
      - use: derived
        since: ${back(3)}
        options:
          values:
            Two: { of: market___Volume, take: sum, hours: 2 }
            Most: { of: Two, take: max, hours: 1 }
`
    const address = await databases.empty()
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address }
    const places = ['one', 'two'].map(name =>
      configured(yaml(name), { 'own/meter.js': meterCollector, 'own/by.json': '0' }),
    )
    const daemons = await Promise.all(places.map(({ config }) => startDaemon(config, env)))
    const valuesOf = async () => {
      const database = new URL(address).pathname.slice(1)
      const text = `SELECT metric, hour, value FROM tidegauge.metric_values WHERE metric LIKE 'sums%' AND hour <= '${back(0)}' ORDER BY metric, hour`
      const rows = await databases.server.query(text, [], database)
      return rows.map(({ metric, hour, value }) => [metric, hour, Number(value)] as const)
    }
    const until = async (expected: unknown) => {
      for (;;) {
        const found = await valuesOf().catch(() => [])
        if (JSON.stringify(found) === JSON.stringify(expected)) return
        await untilNextLook()
      }
    }
    const expected = (by: (count: number) => number) => {
      const volume = (count: number) => ((now / 3_600_000 - count) % 7) + by(count)
      const two = [3, 2, 1, 0].map(count => [back(count), volume(count) + volume(count + 1)] as const)
      return ['sums___Most', 'sums___Two'].flatMap(metric => two.map(([hour, value]) => [metric, hour, value] as const))
    }
    await until(expected(() => 0))
    for (const { folder } of places) writeFileSync(join(folder, 'config/own/by.json'), '100')
    const [{ config } = { config: '' }] = places
    const range = ['--from', back(2), '--to', back(2), '--only', 'market', '--overwrite']
    const ended = await tidegauge(['backfill', ...range, '--json', '--config', config], env)
    expect(JSON.parse(ended.stdout)).toMatchObject({ collectors: [{ done: 1, corrected: 1 }] })
    await until(expected(count => (count === 2 ? 100 : 0)))
    for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
