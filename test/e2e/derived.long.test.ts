import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourText, parseHour } from '../../src/model/hour.ts'
import { hourBack } from '../cli/stage.ts'
import { configured, startDaemon, tidegauge, untilNextLook } from '../support/tidegauge.ts'

const marketCollector = `import { readFileSync } from 'node:fs'
import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Volume: { unit: 'USD' }, Price: { unit: 'USD' } },
  history: true,
  collect({ hour }) {
    const [changed, by] = JSON.parse(readFileSync(new URL('changed.json', import.meta.url), 'utf8'))
    const n = hour / 3_600_000
    return { Volume: (n % 7) + 0.5 + (hour === changed ? by : 0), Price: 1 + (n % 5_000) / 65_536 }
  },
})
`

const yaml = `service: embedded
status: { listen: "127.0.0.1:0" }
protocols:
  - id: market
    name: Market
    collectors: [{ use: ./own/market.js }]
  - id: sums
    name: Sums
    collectors:
      - use: derived
        options:
          values:
            Volume24h: { of: market___Volume, take: sum, hours: 24, unit: USD }
            Mean3h: { of: Volume24h, take: mean, hours: 3, unit: USD }
            APY7d: { of: market___Price, take: annualised, hours: 168, unit: "%" }
`

const number = (hour: string) => parseHour(hour) / 3_600_000
const volume = (n: number) => (n % 7) + 0.5
const price = (n: number) => 1 + (n % 5_000) / 65_536

/** By the doubles of the collector, whose sums are exact. */
function expected(hour: string, changed = 0, by = 0) {
  const volume24 = (last: number) =>
    Array.from({ length: 24 }, (_, back) => volume(last - back) + (last - back === changed ? by : 0)).reduce(
      (a, b) => a + b,
    )
  const n = number(hour)
  return {
    Volume24h: volume24(n),
    Mean3h: (volume24(n) + volume24(n - 1) + volume24(n - 2)) / 3,
    APY7d: 100 * Math.expm1((8_760 / 168) * Math.log(price(n) / price(n - 168))),
  }
}

const outboxFile = 'data/embedded/outbox.db'

interface Derived {
  readonly [metric: string]: number
}

describe('derived values', () => {
  it('follow their inputs in a backfill, in the daemon and in collect, and every correction of one', async () => {
    const { folder, config } = configured(yaml, { 'own/market.js': marketCollector, 'own/changed.json': '[0, 0]' })
    const run = async (...args: string[]) => tidegauge([...args, '--config', config])
    // A full hour may pass meanwhile.
    const now = hourBack(0)
    const back = (count: number) => hourText(hourAfter(parseHour(now), -count))
    const valuesOf = (hour: string): Derived => {
      const database = new Database(join(folder, outboxFile), { readonly: true })
      const rows = database.prepare("SELECT metric, value FROM metric_values WHERE hour = ? AND metric LIKE 'sums%'")
      const all = rows.all(hour) as { readonly metric: string; readonly value: number }[]
      database.close()
      return Object.fromEntries(all.map(({ metric, value }) => [metric.slice(7), value]))
    }

    const [first, last] = [back(172), back(2)]
    const filled = await run('backfill', '--from', first, '--to', last, '--only', 'sums')
    expect(filled.stderr).toContain('brought first, as values are derived from it: market/market')
    expect([filled.code, filled.stdout], 'a window that begins before --from is no failure').toEqual([
      0,
      expect.any(String),
    ])
    expect(filled.stderr).toMatch(/not in this backfill: \d+ runs/)
    const { APY7d, ...exact } = expected(last)
    expect(valuesOf(last)).toMatchObject(exact)
    const apy = valuesOf(last)['APY7d'] ?? 0
    expect(Math.abs(apy / APY7d - 1)).toBeLessThan(1e-12)
    expect(valuesOf(back(160))).toEqual({})

    const dry = JSON.parse((await run('collect', '--dry-run', '--hour', last, '--json')).stdout) as {
      readonly metrics: readonly { readonly metricId?: string; readonly id?: string; readonly value: number }[]
    }
    const again = new Map(dry.metrics.map(({ metricId, id, value }) => [metricId ?? id ?? '', value]))
    expect(again.get('sums___APY7d'), 'bit for bit').toBe(apy)
    expect(again.get('sums___Mean3h')).toBe(exact.Mean3h)

    const daemon = await startDaemon(config)
    const until = async (hour: string, fits: (values: Derived) => boolean) => {
      for (;;) {
        const values = valuesOf(hour)
        if (fits(values)) return values
        await untilNextLook()
      }
    }
    // The hour before was in no backfill: windows up to now fail until it is brought.
    expect((await run('backfill', '--from', back(1), '--to', now, '--only', 'sums')).code).toBe(0)
    const { APY7d: _, ...current } = expected(now)
    expect(await until(now, ({ Mean3h }) => Mean3h !== undefined)).toMatchObject(current)

    const corrected = back(20)
    writeFileSync(join(dirname(config), 'own/changed.json'), JSON.stringify([parseHour(corrected), 1_000]))
    expect(
      (await run('backfill', '--from', corrected, '--to', corrected, '--only', 'market', '--overwrite')).code,
    ).toBe(0)
    const { APY7d: __, ...after } = expected(now, number(corrected), 1_000)
    expect(await until(now, ({ Mean3h }) => Mean3h === after.Mean3h)).toMatchObject(after)
    const { APY7d: ___, ...later } = expected(last, number(corrected), 1_000)
    expect(await until(last, ({ Mean3h }) => Mean3h === later.Mean3h)).toMatchObject(later)
    expect((await run('diff', '--only', 'sums', '--sample', '20')).stdout).toContain('no difference')
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
