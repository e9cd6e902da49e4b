import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseHour } from '../../../src/model/hour.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { promtool, promtoolPlace } from '../../support/promtool.ts'
import { hourBack, stage } from '../stage.ts'

const [first, second, third] = [hourBack(3), hourBack(2), hourBack(1)] as const

/** Three hours of two metrics, of which one is held for its first hour. */
async function collected() {
  const metrics = { A: { unit: 'USD', max: 2 ** 40 }, B: { unit: '=1+"x"' } }
  const staged = await stage({ metrics, values: { A: 2 ** 41, B: 0.1 } })
  await staged.run('collect', '--hour', first)
  for (const [value, hour] of [
    [1e21, second],
    [5e-324, third],
  ] as const) {
    staged.give({ metrics: { ...metrics, A: { unit: 'USD' } }, values: { A: value, B: -value } })
    expect(await staged.run('collect', '--hour', hour)).toMatchObject({ code: 0 })
  }
  return staged
}

describe('export', () => {
  it('writes delivered values as CSV, metric by metric, both ends included, and all with --all', async () => {
    const { run } = await collected()
    const unit = `"'=1+""x"""`
    const rows = [
      `pool___A,${second},1e+21,USD,delivered`,
      `pool___A,${third},5e-324,USD,delivered`,
      `pool___B,${first},0.1,${unit},delivered`,
      `pool___B,${second},-1e+21,${unit},delivered`,
      `pool___B,${third},-5e-324,${unit},delivered`,
    ]
    const head = 'metric,hour,value,unit,state'
    const given = ['export', '--from', first, '--to', third]
    expect(await run(...given)).toEqual({ code: 0, stdout: `${[head, ...rows].join('\n')}\n`, stderr: '' })
    const held = `pool___A,${first},2199023255552,USD,held`
    expect((await run(...given, '--all')).stdout).toBe(`${[head, held, ...rows].join('\n')}\n`)
    // A metric all of whose values are dropped is among all.
    await run('held', 'drop', 'pool___A')
    const inFirst = ['export', '--from', first, '--to', first, '--all']
    expect((await run(...inFirst)).stdout).toContain(`pool___A,${first},2199023255552,USD,dropped\n`)
    expect((await run('export', '--from', third, '--to', third)).stdout.split('\n')).toHaveLength(4)
    const none = await run('export', '--from', hourBack(9), '--to', hourBack(8))
    expect(none).toEqual({ code: 0, stdout: `${head}\n`, stderr: `no value from ${hourBack(9)} to ${hourBack(8)}\n` })
  })

  it('refuses what is no range and no format', async () => {
    const { run } = await stage({ metrics: { A: {} }, values: { A: 1 } })
    expect(await run('export', '--from', third, '--to', first)).toMatchObject({ code: 2 })
    expect(await run('export', '--from', third)).toMatchObject({ code: 2 })
    expect(await run('export', '--from', third, '--to', third, '--format', 'xml')).toMatchObject({ code: 2 })
  })

  it.skipIf(promtoolPlace.kind === 'missing')(
    'writes what promtool makes blocks from, with the values as they are',
    async () => {
      const { run } = await collected()
      const { stdout } = await run('export', '--from', first, '--to', third, '--format', 'openmetrics')
      expect(stdout).toMatch(/^# TYPE tidegauge_metric_value gauge\n[\s\S]*\n# EOF\n$/)
      const folder = temporaryFolder()
      const file = join(folder, 'values.om')
      writeFileSync(file, stdout)
      promtool(['tsdb', 'create-blocks-from', 'openmetrics', file, folder])
      // A database that was in use has one.
      mkdirSync(join(folder, 'wal'))
      const dumped = promtool(['tsdb', 'dump', folder])
      const at = (hour: string) => parseHour(hour)
      expect(dumped).toContain(
        `{__name__="tidegauge_metric_value", metric="A", protocol="pool", unit="USD"} 1e+21 ${at(second)}`,
      )
      expect(dumped).toContain(
        `{__name__="tidegauge_metric_value", metric="B", protocol="pool", unit="=1+\\"x\\""} 0.1 ${at(first)}`,
      )
      expect(dumped.match(/__name__/g)).toHaveLength(5)
    },
  )
})
