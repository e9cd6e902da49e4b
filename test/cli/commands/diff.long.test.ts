import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { configured } from '../../support/tidegauge.ts'
import { hourBack } from '../stage.ts'

const hoursBack = [0, 1, 2, 3].map(hourBack)
const at = (back: number) => hoursBack[back] ?? ''

const yaml = `service: embedded
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./level.js
      - use: ./other.js
`

/** A collector of some labels; each value is code that may use `n`, the number of the hour. */
function collector(values: Readonly<Record<string, string>>, history = true): string {
  const labels = Object.keys(values)
  return `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}), metrics: { ${labels.map(label => `${label}: {}`).join(', ')} }, history: ${history},
  collect: ({ hour }) => { const n = (hour / 3_600_000) % 24; return { ${labels.map(label => `${label}: ${values[label]}`).join(', ')} } },
})
`
}

/** Three delivered hours of two collectors, and a way to compare the text of a changed one. */
async function stage() {
  const files = {
    'level.js': collector({ High: '100 + n', Low: '0', Old: '7' }),
    'other.js': collector({ Other: 'n' }),
  }
  const { folder, config } = configured(yaml, files)
  const run = (...args: string[]) => command([...args, '--config', config])
  await run('backfill', '--from', at(3), '--to', at(1))
  const file = join(folder, 'level.js')
  const diff = (text: string, ...args: string[]) => {
    writeFileSync(file, text)
    return run('diff', '--collector', file, ...args)
  }
  return { folder, run, diff }
}

describe('diff', () => {
  it('finds no difference where a rewritten collector gives the same', async () => {
    const { diff } = await stage()
    const { code, stdout } = await diff(collector({ Old: '14 / 2', Low: '0', High: 'n + 100' }))
    expect(stdout).toBe(`3 delivered hours of pool/level, ${at(3)} to ${at(1)}: 9 values, all the same, bit for bit\n`)
    expect(code).toBe(0)
  })

  it('shows what differs, what is new and what is gone, hour by hour', async () => {
    const { diff, run } = await stage()
    const { code, stdout } = await diff(collector({ High: '(100 + n) * 1.1', Low: '-3', New: '1' }), '--hours', '2')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^metric +hour +stored +changed +difference$/m)
    expect(stdout).toMatch(/^pool___High +\S+ +1\d\d +1\d\d\S* +\+10 %$/m)
    expect(stdout).toMatch(/^pool___Low +\S+ +0 +−3 +−3$/m)
    expect(stdout).toMatch(/^pool___Old +\S+ +7 +none: the changed collector does not return it$/m)
    expect(stdout).toMatch(/^pool___New +\S+ +none +1$/m)
    expect(stdout).toMatch(/2 delivered hours of pool\/level, .*: 0 values the same, 8 values not\n$/)
    const json = JSON.parse((await diff(collector({ High: '100 + n', Low: '0', Old: '8' }), '--json')).stdout)
    expect(json).toMatchObject({ collector: 'pool/level', hours: [at(3), at(2), at(1)], equal: 6 })
    expect(json.changes).toHaveLength(3)
    expect(json.changes[0]).toEqual({ metric: 'pool___Old', hour: at(3), stored: 7, changed: 8 })
    // Nothing was stored.
    expect((await run('diff', '--sample', '50')).stdout).toContain('no difference')
  })

  it('compares with the collector that is named, and asks for its name where none fits', async () => {
    const { folder, run } = await stage()
    const file = join(folder, 'changed.js')
    writeFileSync(file, collector({ Other: 'n' }))
    expect(await run('diff', '--collector', file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no configured collector is called changed\n.*--only: pool\/level, pool\/other/),
    })
    expect(await run('diff', '--collector', file, '--only', 'other')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 delivered hours of pool/other'),
    })
    expect(await run('diff', '--collector', file, '--only', 'pool')).toMatchObject({ code: 2 })
  })

  it.each([
    [['--sample', '3', '--hours', '4'], '--hours is for --collector'],
    [['--collector', 'a.js', '--seed', '5'], '--seed is for --sample'],
    [['--collector', 'a.js', '--from', '2026-11-20T13:00:00Z'], '--from is for --sample'],
    [['--collector', 'a.js', '--sample', '3'], 'with the code of today, and both are named'],
  ])('refuses %j', async (args, message) => {
    const { run } = await stage()
    expect(await run('diff', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })

  it('says why a changed collector cannot be compared', async () => {
    const { diff, run } = await stage()
    const now = await diff(collector({ High: '1' }, false))
    expect(now).toMatchObject({ code: 1, stdout: expect.stringContaining('cannot be compared: it only reads “now”') })
    const broken = await diff('export default 5')
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringMatching(/cannot be compared: .*is not a collector/) })
    const options = 'z.strictObject({ pool: z.string(), days: z.int() })'
    const strict = collector({ High: '1' }).replace('z.strictObject({})', options)
    const other = await diff(strict)
    expect(other.code).toBe(1)
    expect(other.stdout).toContain('level.js takes other options than the entry gives: missing: options.')
    expect(other.stdout).toMatch(/options\.pool of level\.js .*options\.days of level\.js .*by --config/)
    expect(other.stdout).not.toContain('tidegauge check')
    const gone = await run('diff', '--collector', '/no/such/level.js')
    expect(gone).toMatchObject({ code: 1, stdout: expect.stringContaining('there is no file /no/such/level.js') })
  })
})
