import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Devchain } from '../../src/devchain/devchain.ts'
import { hourAt, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { allAccepted, answering } from '../support/listening.ts'
import { shiftedClock } from '../support/shifted-clock.ts'
import { configured, levelCollector, tidegauge } from '../support/tidegauge.ts'
import { hourBack, stage } from './stage.ts'

/** A service by whose clock it is that much earlier than by this machine's. */
const serviceBehind = (clock: { aheadMs: number; behindMs: number }) =>
  answering(({ method }, body) => {
    const headers = { date: new Date(Date.now() + clock.aheadMs - clock.behindMs).toUTCString() }
    if (method === 'GET') return { body: [], headers }
    const { metrics = [] } = JSON.parse(body) as { metrics?: readonly unknown[] }
    return { ...allAccepted(metrics), headers }
  })

describe('a block that is final by this machine’s clock, and not by that of the service', () => {
  it.each(['collect', 'backfill', 'catch-up'])('is looked at again after %s', async way => {
    // Half past an hour, so that both clocks are in the same one.
    const minuteMs = 60_000
    const aheadMs = 30 * minuteMs - (Date.now() % hourMs)
    const nowMs = Date.now() + aheadMs
    const hour = hourAt(nowMs - 3 * hourMs)
    const scene = await Devchain.build({ nowMs: Date.now(), hours: 6 })
    onTestFinished(() => scene.stop())
    const clock = { aheadMs, behindMs: 20 * minuteMs }
    const settleMinutes = Math.floor((nowMs - 10 * minuteMs - hour) / minuteMs)
    const { config } = configured(`service: { url: "${await serviceBehind(clock)}", key: { env: METRICS_KEY } }
data: ./data
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, rpc: [${scene.url}], settle: ${settleMinutes}m } }
protocols:
  - id: tide
    name: Tide
    collectors:
      - use: contract-read
        since: ${hourText(hour)}
        options: { chain: local, address: "${scene.addresses.tide}", values: { Cap: { call: "totalSupply() view returns (uint256)", decimals: 18 } } }
`)
    const env = { METRICS_KEY: 'a-key-of-a-test', ...shiftedClock(aheadMs) }
    const run = (...args: string[]) => tidegauge([...args, '--config', config], env)
    const words = {
      collect: ['collect', '--hour', hourText(hour)],
      backfill: ['backfill', '--from', hourText(hour), '--to', hourText(hour), '--overwrite'],
      'catch-up': ['collect', '--catch-up'],
    }[way] as string[]
    expect(await run(...words)).toMatchObject({ code: 0 })
    const explained = async () => (await run('explain', 'tide___Cap', hourText(hour))).stdout
    expect(await explained()).toContain('not final yet')
    clock.behindMs = 0
    expect(await run('collect', '--catch-up')).toMatchObject({ code: 0 })
    expect(await explained()).toMatch(/, final/)
  })
})

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

  it('that is off by seconds goes on', async () => {
    const { config, env } = await stage(given)
    const { code } = await tidegauge(['collect', '--hour', hourBack(3), '--config', config], {
      ...env,
      ...shiftedClock(20_000),
    })
    expect(code).toBe(0)
  })
})

describe('a machine whose clock was three days ahead once', () => {
  it('is warned by each command of what was written then, and stopped by none; doctor says the same', async () => {
    const { config } = configured(
      `service: embedded
status: { listen: "127.0.0.1:0" }
protocols:
  - { id: pool, name: Pool, collectors: [{ use: ./level.js }] }
`,
      { 'level.js': levelCollector.replace('history: false', 'history: true') },
    )
    const run = (...args: string[]) => tidegauge([...args, '--config', config])
    const ahead = shiftedClock(3 * 24 * hourMs)
    await tidegauge(['collect', '--config', config], ahead)
    // The embedded service has a clock that is right here, and took nothing.
    expect(await run('due', 'drop', '--all')).toMatchObject({ code: 0 })
    const warned = /warning: this machine's clock says \S+Z, and has said \S+Z before: nothing else contradicts it/
    const commands = [
      ['collect'],
      ['collect', '--dry-run'],
      ['collect', '--catch-up'],
      ['backfill', '--from', hourBack(3), '--to', hourBack(2)],
      ['flush'],
    ]
    for (const words of commands)
      expect([words, await run(...words)]).toEqual([
        words,
        expect.objectContaining({ code: 0, stderr: expect.stringMatching(warned) }),
      ])
    expect((await run('history', 'pool___Level')).stdout.match(/ delivered /g)).toHaveLength(3)
    const { code, stdout } = await run('doctor')
    expect([code, stdout.match(/^.*clock.*$/gm)]).toEqual([
      0,
      [expect.stringMatching(/^! clock: this machine's clock says .* has said .* before → .*believes it after 10 min/)],
    ])
  })

  it('that no service answers to is warned, too', async () => {
    const { config, env, run, read } = await stage(given)
    expect((await run('collect')).code).toBe(0)
    const { stderr } = await tidegauge(['collect', '--config', config], {
      ...{ ...env, METRICS_KEY: '' },
      ...shiftedClock(-2 * hourMs),
    })
    expect(stderr).toContain('and has said')
    expect(await read('history', 'pool___TVL')).toMatchObject({
      hours: [{ hour: hourBack(2), state: 'due' }, {}, { hour: hourBack(0), state: 'delivered' }],
    })
  })
})
