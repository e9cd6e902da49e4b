import { expect, it } from 'vitest'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { hourBack } from '../cli/stage.ts'
import { configured, tidegauge } from '../support/tidegauge.ts'

const daily = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Users: {} },
  history: true,
  collect: ({ hour }) => ({ Users: hour / 3_600_000 % 1000 }),
})
`

it('expects a daily collector once a day: nothing between is collected, a gap or late, and windows take what is there', async () => {
  const now = hourBack(0)
  const other = (Number(now.slice(11, 13)) + 5) % 24
  const yaml = `service: embedded
protocols:
  - id: app
    name: App
    collectors:
      - { use: ./own/daily.js, every: 24h, at: "${String(other).padStart(2, '0')}:00", since: "${hourText(hourAfter(parseHour(now), -60))}" }
      - { use: derived, options: { values: { Mean2d: { of: Users, take: mean, hours: 48 } } } }
`
  const { config } = configured(yaml, { 'own/daily.js': daily })
  const run = (...args: string[]) => tidegauge([...args, '--config', config])
  const from = hourText(hourAfter(parseHour(now), -100))
  const filled = await run('backfill', '--from', from, '--to', now)
  expect(filled.code, filled.stderr).toBe(0)
  const rows = (await run('export', '--from', from, '--to', now)).stdout.split('\n')
  const values = rows.flatMap(row => (row.startsWith('app___Users') ? [row.split(',')] : []))
  expect(values.map(([, hour]) => Number(hour?.slice(11, 13)))).toEqual(values.map(() => other))
  expect(values.length).toBe(4)
  const means = rows.flatMap(row => (row.startsWith('app___Mean2d') ? [Number(row.split(',')[2])] : []))
  expect(means.at(-1)).toBe((Number(values.at(-1)?.[2]) + Number(values.at(-2)?.[2])) / 2)

  const wrong = configured(yaml.replace('{ of: Users, take: mean, hours: 48 }', '{ sum: [Users, 1] }'), {
    'own/daily.js': daily,
  })
  expect((await tidegauge(['check', '--config', wrong.config])).stderr).toContain('alone, and this at other hours, too')

  const once = await run('collect')
  expect(once.stderr).toContain(`app/daily is left out: it is expected at ${String(other).padStart(2, '0')}:00 alone`)
  const up = await run('collect', '--catch-up')
  expect(up.stdout + up.stderr).not.toContain('not collected: app/daily')
  expect((await run('gaps')).stdout).not.toContain('app/daily')
  const { ready, hours } = JSON.parse((await run('status', '--json')).stdout)
  expect(JSON.stringify(ready ?? hours ?? '')).not.toContain('app/daily')
  expect((await run('verify')).stdout).toContain('all equal')
})
