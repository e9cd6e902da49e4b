import { describe, expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { configured } from '../../support/tidegauge.ts'

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
K: { of: Coins, take: sum, hours: 241 }`)
    expect(code).toBe(78)
    const reported = (line: number, text: string) =>
      expect(mistakes).toMatch(new RegExp(`^${line}:\\d+: options\\.values\\.${text}`, 'm'))
    reported(11, 'A\\.sum\\[0\\]: no collector gives "Suplied"\n +did you mean Supplied\\?')
    reported(12, 'B\\.of: no collector gives "pools___Supplied"\n +did you mean pool___Supplied\\?')
    reported(13, 'C\\.of: no collector gives "elsewhere___Number"\n +nothing gives a metric of elsewhere')
    reported(14, 'D: needs itself: pool___D → pool___D')
    reported(15, 'E: needs itself: pool___E → pool___F → pool___G → pool___E')
    reported(18, 'H\\.sum\\[1\\]: pool___Coins is in "ETH", and pool___Supplied in "USD": a sum has one unit')
    reported(19, 'I\\.unit: "USD" does not fit: pool___Coins is in "ETH", and so is its mean\n +write unit: ETH')
    reported(20, 'J\\.unit: "ETH" does not fit: growth is in percent\n +write unit: "%"')
    reported(
      21,
      'K\\.hours: values are kept for 240 h: a window of 241 h is never full\n +write outbox: \\{ keep: 12d \\}',
    )
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
      'F.missing: is for mean, min, max: a sum needs all of its hours',
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
