import { expect, it } from 'vitest'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { hourBack } from '../cli/stage.ts'
import { configured, tidegauge } from '../support/tidegauge.ts'

const dex = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { 'TVL': { unit: 'USD' }, 'Volume-of-the-hour': { unit: 'USD', private: true, max: 1000 } },
  history: true,
  collect: ({ hour }) => ({ TVL: 5, 'Volume-of-the-hour': (hour / 3_600_000) % 2 === 0 ? 10 : 20 }),
})
`

const yaml = `service: embedded
protocols:
  - id: dex
    name: DEX
    collectors:
      - use: ./own/dex.js
      - use: derived
        options:
          values:
            Twice: { product: [Volume-of-the-hour, 2], unit: USD, private: true }
            Volume2h: { of: Volume-of-the-hour, take: sum, hours: 2, unit: USD }
            Four: { product: [Twice, 2], unit: USD }
`

const volume = 'dex___Volume-of-the-hour'

it('keeps private values for others, and sends none, whichever way an hour is collected', async () => {
  const { config } = configured(yaml, { 'own/dex.js': dex })
  const run = (...args: string[]) => tidegauge([...args, '--config', config])
  const now = hourBack(0)
  const back = (count: number) => hourText(hourAfter(parseHour(now), -count))
  const checked = await run('check')
  expect(checked.stdout).toMatch(/Volume-of-the-hour +USD +yes +no, private/)
  expect(checked.stdout).toContain('in order, 3 metrics an hour, and 2 private')
  expect(checked.stderr, 'the length of its label concerns the service').not.toContain('characters')

  const shown = await run('collect', '--dry-run', '--hour', back(1))
  expect(shown.stdout).toMatch(/Twice .* private: not sent/)
  expect(shown.stdout).toContain('2 metrics would be sent')
  expect((await run('backfill', '--from', back(3), '--to', back(2))).code).toBe(0)
  const collected = await run('collect', '--hour', back(1))
  expect(collected.stderr).toContain('3 of 3 delivered; 2 private')

  const all = JSON.parse((await run('history', volume, '--to', back(1), '--json')).stdout)
  expect(all.hours.map(({ state }: { state: string }) => state)).toEqual(['private', 'private', 'private'])
  expect((await run('explain', volume, back(1))).stdout).toContain('kept for other values, and not sent')
  const exported = (await run('export', '--from', back(3), '--to', back(1))).stdout
  expect(exported.match(/dex___Volume2h/g)).toHaveLength(2)
  expect(exported.match(/dex___Four,.*,(40|80),USD,delivered/g)).toHaveLength(3)
  expect(exported).not.toContain('Twice')
  expect((await run('export', '--all', '--from', back(3), '--to', back(1))).stdout).toContain(',USD,private')
  expect((await run('verify')).stdout).toContain('all equal')
  expect((await run('show', 'dex')).stdout).not.toMatch(/Twice|Volume-of/)
  const { balance } = JSON.parse((await run('status', '--json')).stdout)
  expect(balance).toMatchObject({ due: 0, delivered: 8, held: 0, private: 6 })
  expect((await run('gaps', '--to', back(1))).stdout).not.toContain('dex')
})
