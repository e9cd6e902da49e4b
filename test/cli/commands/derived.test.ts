import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourAt, hourText, parseHour } from '../../../src/model/hour.ts'
import { command } from '../../support/command.ts'
import { configured } from '../../support/tidegauge.ts'
import { hourBack, stage } from '../stage.ts'

/** Checks a protocol `pool` that has Supplied and Borrowed in USD, Share without a unit, and these derived values. */
async function check(values: string, more = '') {
  const { config } = configured(
    `service: embedded
outbox: { keep: 10d }
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./own/given.js
      - use: derived
        options:
          values:
${values.replaceAll(/^/gm, '            ')}
${more}`,
    {
      'own/given.js': `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Supplied: { unit: 'USD' }, Borrowed: { unit: 'USD' }, Coins: { unit: 'ETH' }, Share: {} },
  history: false,
  collect: () => ({}),
})
`,
    },
  )
  const { code, stdout, stderr } = await command(['check', '--config', config])
  return { code, stdout, mistakes: stderr.replaceAll(/^.*tidegauge\.yaml:/gm, '') }
}

describe('derived values, in check,', () => {
  it('are in order as the guide has them, over values that can be read only now, too', async () => {
    const { code, stdout, mistakes } = await check(`TVL: { difference: [Supplied, Borrowed], unit: USD }
Use: { ratio: [Borrowed, pool___Supplied] }
Fees: { product: [Borrowed, 0.003, Share], unit: USD }
Volume24h: { of: Borrowed, take: sum, hours: 24, unit: USD }
Mean7d: { of: TVL, take: mean, hours: 168, missing: 4 }
Growth: { of: Mean7d, take: annualised, hours: 168, unit: "%" }`)
    expect([code, mistakes]).toEqual([0, ''])
    expect(stdout).toMatch(/pool\/derived +pool___TVL +USD +yes/)
  })

  it('have each mistake reported at its place: inputs, circles, units, windows', async () => {
    const { code, mistakes } = await check(`A: { sum: [Suplied, Borrowed] }
B: { of: pools___Supplied, take: sum, hours: 2 }
C: { of: elsewhere___Number, take: sum, hours: 2 }
D: { of: D, take: mean, hours: 2 }
E: { sum: [F, 1] }
F: { of: G, take: max, hours: 2 }
G: { product: [E, 2] }
H: { sum: [Supplied, Coins], unit: USD }
I: { of: Coins, take: mean, hours: 2, unit: USD }
J: { of: Coins, take: growth, hours: 2, unit: ETH }
K: { of: Coins, take: sum, hours: 241 }
L: { of: pool___Hid, take: max, hours: 2 }
M: { of: elsewhere___M, take: max, hours: 2 }`)
    expect(code).toBe(78)
    const reported = (line: number, text: string) =>
      expect(mistakes).toMatch(new RegExp(`^${line}:\\d+: options\\.values\\.${text}`, 'm'))
    reported(11, 'A\\.sum\\[0\\]: no collector gives "Suplied"\n +did you mean Supplied\\?')
    reported(12, 'B\\.of: no collector gives "pools___Supplied"\n +did you mean pool___Supplied\\?')
    // Another metric of the protocol is not near by its name alone.
    reported(22, 'L\\.of: no collector gives "Hid"\n +pool has Supplied, Borrowed, Coins, Share, A')
    reported(13, 'C\\.of: no collector gives "elsewhere___Number"\n +nothing gives a metric of elsewhere')
    // Nor is it meant itself.
    reported(23, 'M\\.of: no collector gives "elsewhere___M"\n +nothing gives a metric of elsewhere')
    reported(14, 'D: needs itself: pool___D → pool___D')
    reported(15, 'E: needs itself: pool___E → pool___F → pool___G → pool___E')
    reported(
      18,
      'H\\.sum\\[1\\]: pool___Coins is in "ETH", and pool___Supplied in "USD": a sum has one unit\n +convert one by a product',
    )
    reported(19, 'I\\.unit: "USD" does not fit: pool___Coins is in "ETH", and so is its mean\n +write unit: ETH')
    reported(20, 'J\\.unit: "ETH" does not fit: growth is in percent\n +write unit: "%"')
    reported(
      21,
      'K\\.hours: values are kept for 240 h: a window of 241 h is never full\n +write outbox: \\{ keep: 12d \\}',
    )
  })

  it('have windows reported that have hours without an input, as not every hour of it is expected', async () => {
    const sixHourly = (values: string, hours = '') =>
      check(
        'A: { sum: [Supplied, 1] }',
        `      - { use: http-json, id: six, every: 6h, options: { url: "http://127.0.0.1:9/a?h={hour}", values: { Six: { pointer: /v } } } }
      - { use: derived, id: d, ${hours}options: { values: { ${values} } } }`,
      )
    const inOrder = await sixHourly('W: { of: Six, take: sum, hours: 6 }, G: { of: Six, take: mean, hours: 24 }')
    expect([inOrder.code, inOrder.mistakes]).toEqual([0, ''])
    const atInputs = await sixHourly(
      'D: { of: Six, take: sum, since: day }, C: { of: Six, take: change, hours: 6 }',
      'every: 6h, ',
    )
    expect([atInputs.code, atInputs.mistakes]).toEqual([0, ''])
    const { code, mistakes } =
      await sixHourly(`W: { of: Six, take: sum, hours: 5 }, D: { of: Six, take: sum, since: day },
        C: { of: Six, take: change, hours: 6 }, N: { of: Six, take: growth, hours: 5 }`)
    expect(code).toBe(78)
    const alone = 'pool___Six is expected at 00:00, 06:00, 12:00, 18:00 alone, and this at other hours, too'
    const atThese = 'give this collector at: ["00:00", "06:00", "12:00", "18:00"]'
    for (const [label, advice] of Object.entries({ W: atThese, D: atThese, C: atThese, N: 'write hours: 24' }))
      expect(mistakes.replaceAll(/\s+/g, ' ')).toContain(`${label}.of: ${alone} ${advice}`)
  })

  it('have each mistake of their form reported', async () => {
    const { code, mistakes } = await check(`A: { unit: USD }
B: { sum: [Share, 1], of: Share, take: sum, hours: 2 }
C: { sum: [Share, 1], hours: 24 }
D: { of: Share, take: sum }
F: { of: Share, take: sum, hours: 24, missing: 1 }
G: { of: Share, take: mean, hours: 4, missing: 4 }
H: { of: Share, take: mean, hours: 4, mising: 2 }`)
    expect(code).toBe(78)
    for (const text of [
      'A: must have one of sum, product, difference, ratio, of, and has nothing of it',
      'B: must have one of sum, product, difference, ratio, of, and has sum and of',
      'C.hours: belongs to a window with of, and this is a sum',
      'D: must have hours with of, such as hours: 24',
      'F.missing: is for mean, min, max: sum needs all of its hours',
      'G.missing: must be less than the 4 of hours',
      'unknown option "mising" of derived\n    did you mean "missing"?',
    ])
      expect(mistakes).toContain(text)
  })

  it('may have inputs of a collector that has mistakes of its own, which alone are reported', async () => {
    const { mistakes } = await check(
      'A: { sum: [Else, Other] }',
      '      - { use: price, id: p, options: { sources: 1 } }',
    )
    expect(mistakes).not.toContain('Else')
    expect(mistakes).toContain('sources')
  })
})

describe('derived values, in collect --catch-up,', () => {
  it('follow all hours that were due, fail by a held input, and follow it once it is released', async () => {
    const now = parseHour(hourBack(0))
    const back = (count: number) => hourText(hourAfter(now, -count))
    const { folder, config } = configured(
      `service: embedded
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: ./own/count.js, id: count, since: "${back(4)}" }
      - use: derived
        since: "${back(3)}"
        options:
          values:
            Two: { of: Count, take: sum, hours: 2 }
            Least: { of: Two, take: min, hours: 3, missing: 2 }
`,
      {
        'own/count.js': `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Count: { min: 0 } },
  history: true,
  collect: ({ hour }) => ({ Count: hour === ${hourAfter(now, -2)} ? -1 : Math.max(0, (${now} - hour) / 3_600_000) }),
})
`,
      },
    )
    const run = (...args: string[]) => command([...args, '--config', config])
    const valuesOf = (label: string) => {
      const database = new Database(join(folder, 'data/embedded/outbox.db'), { readonly: true })
      const text = 'SELECT hour, value FROM metric_values WHERE metric = ? AND hour <= ? ORDER BY hour'
      const all = database.prepare(text).all(`pool___${label}`, back(0)) as { hour: string; value: number }[]
      database.close()
      return Object.fromEntries(all.map(({ hour, value }) => [(now - parseHour(hour)) / 3_600_000, value]))
    }
    const failed = await run('collect', '--catch-up')
    expect(failed.code).toBe(1)
    expect(failed.stdout).toContain(`pool/derived: Two: pool___Count of ${back(2)} is held`)
    expect(valuesOf('Two')).toEqual({ 3: 7, 0: 1 })
    expect(valuesOf('Least')).toEqual({ 3: 7, 0: 1 })
    expect((await run('held', 'release', '--all')).code).toBe(0)
    expect((await run('collect', '--catch-up')).code).toBe(0)
    expect(valuesOf('Two')).toEqual({ 3: 7, 2: 2, 1: 0, 0: 1 })
    expect(valuesOf('Least'), 'a window with a hole before, too').toEqual({ 3: 7, 2: 2, 1: 0, 0: 0 })
  })
})

/** A collector that reads the past. @param value of an hour, as an expression of `hour` */
const past = (value: string) => `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Past: {} },
  history: true,
  collect: ({ hour }) => ({ Past: ${value} }),
})
`

describe('derived values, in backfill,', () => {
  it('are there after the command that their failure prints, and none of their hours is left over', async () => {
    const now = parseHour(hourBack(0))
    const { folder, config } = configured(
      `service: embedded
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: ./own/past.js, id: past }
      - { use: derived, options: { values: { Mean5h: { of: Past, take: mean, hours: 5 }, Twice: { product: [Past, 2] } } } }
`,
      { 'own/past.js': past(`((${now} - hour) / 3_600_000) ** 2`) },
    )
    const failed = await command(['collect', '--config', config])
    const printed = /tidegauge (backfill .*?--from \S+)/.exec(failed.stdout + failed.stderr)?.[1] ?? failed.stdout
    expect(printed).toBe(`backfill --config ${config} --from ${hourText(hourAfter(now, -4))}`)
    const filled = await command(printed.split(' '))
    expect([filled.code, filled.stderr], filled.stdout).toEqual([
      0,
      expect.stringContaining('not in this backfill: 4 runs'),
    ])
    expect(filled.stdout).not.toContain('to do')
    const database = new Database(join(folder, 'data/embedded/outbox.db'), { readonly: true })
    const values = database.prepare('SELECT metric, value FROM metric_values WHERE hour = ?').all(hourText(now))
    expect(values).toContainEqual({ metric: 'pool___Mean5h', value: (0 + 1 + 4 + 9 + 16) / 5 })
    expect(database.prepare("SELECT count(*) AS n FROM metric_values WHERE metric = 'pool___Twice'").get()).toEqual({
      n: 5,
    })
    database.close()
    expect((await command(['gaps', '--config', config])).stdout).toMatch(
      /^no gaps: every expected hour is collected\n$/,
    )
    // An earlier backfill completes the windows of the first.
    const earlier = ['--from', hourText(hourAfter(now, -8)), '--to', hourText(hourAfter(now, -5))]
    expect((await command(['backfill', ...earlier, '--config', config])).code).toBe(0)
    const means = new Database(join(folder, 'data/embedded/outbox.db'), { readonly: true })
    expect(means.prepare("SELECT count(*) AS n FROM metric_values WHERE metric = 'pool___Mean5h'").get()).toEqual({
      n: 5,
    })
    means.close()
  })
})

describe('derived values, in explain,', () => {
  it.each([
    ['of which one hour is collected', 0],
    ['without any hour', 24],
  ])('have advice that leads to a value: a day %s', async (_, hoursBefore) => {
    const day = Math.floor(parseHour(hourBack(0)) / 86_400_000) * 86_400_000
    const collectedAt = hourAfter(hourAt(day), -9)
    const { config } = configured(
      `service: embedded
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: ./own/past.js, id: past }
      - { use: derived, id: rates, options: { values: { Rate: { of: Past, take: change, hours: 1 } } } }
      - { use: derived, id: days, options: { values: { Day: { of: Rate, take: sum, since: day } } } }
`,
      { 'own/past.js': past('2 * hour / 3_600_000') },
    )
    await command(['collect', '--hour', hourText(collectedAt), '--config', config])
    const hour = hourText(hourAfter(collectedAt, -hoursBefore))
    const explain = ['explain', 'pool___Day', hour, '--config', config]
    const { stdout: first } = await command(explain)
    const [advice = first] = first.match(/(?<=tidegauge )backfill --config \S+ --from \S+/) ?? []
    await command(advice.split(' '))
    expect((await command(explain)).stdout, first).toMatch(`pool___Day of ${hour}: 30, delivered`)
  })

  it('and of an hour that was never expected the command that stores it', async () => {
    const { run } = await stage({ metrics: { A: {} }, values: { A: 5 } })
    await run('collect')
    const { stdout } = await run('explain', 'pool___A', hourBack(3))
    const [, advice = stdout] = stdout.match(/read again now: 5 → tidegauge (.*)/) ?? []
    await run(...advice.replace(/ --config \S+/, '').split(' '))
    expect((await run('explain', 'pool___A', hourBack(3))).stdout).toContain(`of ${hourBack(3)}: 5, delivered`)
  })
})
