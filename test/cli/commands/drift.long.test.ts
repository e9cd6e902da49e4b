import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { command } from '../../support/command.ts'
import { configured, type Ended } from '../../support/tidegauge.ts'
import { hourBack } from '../stage.ts'

/** Full hours before this one, by how many; as of when the tests began. */
const hoursBack = [0, 1, 2, 3, 4].map(hourBack)
const at = (back: number) => hoursBack[back] ?? ''

const head = `service: embedded
protocols:
  - id: pool
    name: Pool
    collectors:
`

/** A collector of two metrics; `values` is code that may use `hour`. */
const collector = (label: string, values: string, history = true) => `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}), metrics: { ${label}1: {}, ${label}2: {} }, history: ${history},
  collect: ({ hour }) => { const [a, b] = ${values}; return { ${label}1: a, ${label}2: b } },
})
`

const steady = collector('Steady', '[hour / 7, -0]')

interface Drifted {
  readonly seed: number
  readonly deliveredHours: number
  readonly hours: number
  readonly compared: number
  readonly differences: readonly {
    metric: string
    hour: string
    stored: number
    again: number
    changed: readonly string[]
  }[]
  readonly notRead: readonly { of: string; hour?: string; reason: string }[]
  readonly leftOut: readonly string[]
}

interface Stage {
  readonly folder: string
  run(...args: string[]): Promise<Ended>
  drift(...args: string[]): Promise<Drifted & { code: number | null }>
  /** Writes another collector in the place of one. */
  write(name: string, text: string): void
}

/** Collects hours of the collectors, against the embedded service; each file is one. */
async function collected(files: Readonly<Record<string, string>>, hours: number): Promise<Stage> {
  const uses = Object.keys(files).map(file => `      - use: ./${file}\n`)
  const { folder, config } = configured(head + uses.join(''), files)
  const run = (...args: string[]) => command([...args, '--config', config])
  if (hours > 0) await run('backfill', '--from', at(hours), '--to', at(1))
  return {
    folder,
    run,
    async drift(...args) {
      const { stdout, code } = await run('drift', ...args, '--json')
      return { ...(JSON.parse(stdout) as Drifted), code }
    },
    write: (name, text) => writeFileSync(join(folder, 'config', name), text),
  }
}

describe('drift', () => {
  it('finds none in values of which each is a matter of its hour, and stores nothing', async () => {
    const { run, folder } = await collected({ 'steady.js': steady }, 2)
    const file = join(folder, 'data', 'embedded', 'outbox.db')
    const before = readFileSync(file)
    const { code, stdout } = await run('drift', '--seed', '7')
    expect(stdout).toBe(
      'seed 7: 2 of 2 delivered hours read again, 4 values compared\n' +
        'no difference: every value compared is the one that was stored, bit for bit\n',
    )
    expect(code).toBe(0)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('catches a collector that does not give the same twice, be it in the last bit', async () => {
    const stage = await collected(
      {
        'steady.js': steady,
        'chance.js': collector('Chance', '[Math.random(), 1]'),
        'sum.js': collector('Sum', '[0.3, 5]'),
      },
      2,
    )
    stage.write('sum.js', collector('Sum', '[0.1 + 0.2, 5]'))
    const { code, compared, differences, notRead } = await stage.drift()
    expect([code, compared, notRead]).toEqual([1, 12, []])
    const found = differences.map(({ metric, hour }) => `${metric} ${hour}`).sort()
    const expected = [1, 2].flatMap(back => [`pool___Chance1 ${at(back)}`, `pool___Sum1 ${at(back)}`])
    expect(found).toEqual(expected.sort())
    expect(differences.find(({ metric }) => metric === 'pool___Sum1')).toMatchObject({ stored: 0.3, again: 0.1 + 0.2 })
    const { stdout, code: again } = await stage.run('drift', '--only', 'sum')
    expect(again).toBe(1)
    expect(stdout).toMatch(/metric +hour +stored +read again\n/)
    expect(stdout).toMatch(/pool___Sum1 +\S+ +0\.3 +0\.30000000000000004\n/)
    expect(stdout).toMatch(/\n2 of 4 values differ: /)
    const sum = differences.filter(({ changed }) => changed.length > 0)
    expect(sum).toMatchObject([{ collector: 'pool/sum', changed: ['code'] }, { metric: 'pool___Sum1' }])
    expect(stdout).toContain(
      'pool/sum has other code now than when 2 of these values were collected, which may be why\n',
    )
    expect(stdout).toMatch(/\nWhy\? tidegauge explain --config \S+ pool___Sum1 20\S+Z\n$/)
    expect((await stage.run('drift')).stdout).toMatch(/\nWhy\? tidegauge explain --config \S+ pool___Chance1 20/)
  })

  it('draws as many hours as are asked for, the same ones by the same seed', async () => {
    const { drift } = await collected({ 'chance.js': collector('Chance', '[Math.random(), 1]') }, 4)
    const hoursOf = async (...args: string[]) => (await drift(...args)).differences.map(({ hour }) => hour)
    const first = await drift('--sample', '2')
    expect(first).toMatchObject({ deliveredHours: 4, hours: 2, compared: 4 })
    expect(await hoursOf('--sample', '2', '--seed', String(first.seed))).toEqual(
      first.differences.map(({ hour }) => hour),
    )
    const range = ['--from', at(3), '--to', at(2)]
    expect(new Set(await hoursOf(...range))).toEqual(new Set([at(3), at(2)]))
  })

  it('says what cannot be read again, and leaves out what only reads “now”', async () => {
    const files = {
      'steady.js': steady,
      'other.js': collector('Other', '[1, 2]'),
      'gone.js': collector('Gone', '[1, 2]'),
    }
    const stage = await collected({ ...files, 'now.js': collector('Now', '[1, 2]', false) }, 1)
    stage.write('other.js', collector('Other', '[1, Number.NaN]'))
    stage.write('gone.js', 'export default 5')
    const found = await stage.drift()
    expect(found).toMatchObject({ code: 0, compared: 3, differences: [], leftOut: ['pool/now'] })
    expect(found.notRead.map(({ of, hour }) => [of, hour])).toEqual([
      ['pool/gone', undefined],
      ['pool___Other2', at(1)],
    ])
    const { stdout, stderr, code } = await stage.run('drift')
    expect(code).toBe(0)
    expect(stderr).toContain('left out, as they only read “now”: pool/now\n')
    expect(stdout).toMatch(/\nnot read again:\nmetric or collector +hour +why\npool\/gone/)
  })

  it('ends with 1 when nothing could be compared', async () => {
    const stage = await collected({ 'steady.js': steady }, 0)
    expect(await stage.run('drift')).toMatchObject({
      code: 1,
      stdout: 'no delivered hour that could be read again\n',
    })
    await stage.run('collect', '--hour', at(1))
    stage.write('steady.js', collector('Steady', '(() => { throw new Error("down") })()'))
    const { code, stdout } = await stage.run('drift')
    expect(code).toBe(1)
    expect(stdout).toContain('down')
    expect(stdout).toMatch(/\nnothing could be compared\n$/)
  })

  it('refuses a sample that is not a number', async () => {
    const stage = await collected({ 'steady.js': steady }, 0)
    expect(await stage.run('drift', '--sample', '0')).toMatchObject({ code: 2 })
    expect(await stage.run('drift', '--seed', 'x')).toMatchObject({ code: 2 })
  })
})
