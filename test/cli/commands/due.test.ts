import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseHour } from '../../../src/model/hour.ts'
import { commitRowsMax } from '../../../src/model/limits.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { flawsOf, miscounted } from '../../outbox/support/contents.ts'
import { metrics } from '../../support/metrics.ts'
import { expectHours } from '../../support/stored-hours.ts'
import { startDaemon } from '../../support/tidegauge.ts'
import { type Given, hourBack, stage } from '../stage.ts'

const one: Given = { metrics: { TVL: { unit: 'USD' } }, values: { TVL: 12.5 } }

/** Metrics of protocols that are not in the configuration, put in as another configuration had it. */
async function left(config: string, protocolId: string, count: number, hour: string): Promise<string> {
  const file = join(dirname(config), '..', 'data', 'outbox.db')
  const outbox = new SqliteOutbox(file)
  const at = parseHour(hour)
  await expectHours(outbox, `${protocolId}/c`, at)
  const accepted = metrics(count, at, protocolId).map(metric => ({ metric }))
  await outbox.intake.record({ collector: `${protocolId}/c`, hour: at, acceptedValues: accepted }, 1)
  outbox.close()
  return file
}

describe('what a removed protocol left', () => {
  it('is listed with the reason, and given up: it stays dropped, and is not sent', async () => {
    const { run, read, config, service } = await stage(one)
    const hour = hourBack(3)
    const file = await left(config, 'gone', 3, hour)
    await left(config, 'away', 2, hour)

    const listed = await run('due', 'ls')
    expect(listed.code).toBe(0)
    expect(listed.stdout).toMatch(/^protocol +metrics +oldest +newest +why it waits\n/)
    expect(listed.stdout).toMatch(/\ngone +3 +\S+Z +\S+Z +gone is no longer in the configuration\n/)
    expect(await read('due', 'ls', 'away___M1')).toEqual([
      {
        id: 'away___M1',
        protocolId: 'away',
        hour,
        value: 1,
        unit: 'USD',
        why: 'away is no longer in the configuration',
      },
    ])
    const flushed = await run('flush')
    expect(flushed.code).toBe(1)
    expect(flushed.stderr).toMatch(
      /no longer configured.*2 due of away, 3 due of gone\. .*tidegauge due drop --config \S+ away/,
    )

    const none = await run('due', 'drop')
    expect(none.code).toBe(2)
    expect(none.stderr).toContain('which due metrics? Nothing is selected')
    const dropped = await run('due', 'drop', 'gone')
    expect(dropped).toMatchObject({ code: 0, stdout: '3 metrics dropped: not sent, and not collected again\n' })
    expect((await run('due', 'drop', '--reason', 'NO LONGER IN the', '--hour', hour)).stdout).toMatch(
      /^2 metrics dropped/,
    )
    expect(await run('due')).toMatchObject({ code: 0, stdout: 'nothing is due\n' })
    expect((await run('status')).stdout).toContain('5 dropped, not counted above')
    expect(await run('flush')).toMatchObject({ code: 0, stdout: '0 delivered, 0 due\n' })
    expect(service.stored).toEqual([])
    expect(miscounted(file)).toEqual([])
    expect(flawsOf(file)).toEqual([])

    const unknown = await run('due', 'drop', 'absent')
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('nothing of absent is due')
  })

  it('is given up while a daemon runs, and dead ls points there', async () => {
    const { run, config, env } = await stage(one)
    await left(config, 'gone', commitRowsMax + 7, hourBack(2))
    const daemon = await startDaemon(config, env)
    const dead = await run('dead', 'drop', 'gone')
    expect(dead.stderr).toContain(
      `nothing of gone is dead; 1,007 metrics due: tidegauge due ls --config ${config} gone`,
    )
    expect((await run('due', 'drop', '--all')).stdout).toMatch(/^[\d,]+ metrics? dropped/)
    const status = await daemon.status<{ balance: Record<string, number> }>(({ balance }) => balance['due'] === 0)
    expect(status.balance['dropped']).toBeGreaterThanOrEqual(commitRowsMax + 7)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })
})
