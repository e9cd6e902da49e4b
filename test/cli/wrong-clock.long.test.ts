import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hourMs } from '../../src/model/limits.ts'
import { shiftedClock } from '../support/shifted-clock.ts'
import { tidegauge } from '../support/tidegauge.ts'
import { hourBack, stage } from './stage.ts'

const given = { metrics: { TVL: { unit: 'USD' } }, values: { TVL: 5 } }

describe('a command on a machine whose clock is wrong', () => {
  const commands = [
    ['collect', []],
    ['backfill', ['--from', hourBack(9), '--to', hourBack(8)]],
    ['flush', []],
  ] as const
  it.each(commands)('%s %j says so, stores nothing, sends nothing, and ends with 1', async (command, options) => {
    const { config, env, service } = await stage(given)
    const run = (aheadMs: number) =>
      tidegauge([command, ...options, '--config', config], { ...env, ...shiftedClock(aheadMs) })
    for (const [aheadMs, words] of [
      [-130 * 60_000, '130 min behind the service'],
      [5 * hourMs, '5 h ahead of the service'],
    ] as const) {
      const { code, stderr, stdout } = await run(aheadMs)
      expect(stderr).toContain(`this machine's clock is ${words}`)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    }
    expect(service.stored).toEqual([])
    expect(existsSync(join(dirname(config), '..', 'data', 'outbox.db'))).toBe(false)
  })

  it('is warned in the same way by what this machine has written before, where no service answers', async () => {
    const { config, env, run } = await stage(given)
    expect((await run('collect')).code).toBe(0)
    const unanswered = { ...env, METRICS_KEY: '' }
    const { code, stderr } = await tidegauge(['collect', '--config', config], {
      ...unanswered,
      ...shiftedClock(-2 * hourMs),
    })
    expect(stderr).toContain('and has said')
    expect(code).toBe(1)
  })

  it('that is off by seconds goes on', async () => {
    const { config, env } = await stage(given)
    const { code } = await tidegauge(['collect', '--hour', hourBack(3), '--config', config], {
      ...env,
      ...shiftedClock(20_000),
    })
    expect(code).toBe(0)
  })
})
