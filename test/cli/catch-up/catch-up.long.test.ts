import { readFileSync, writeFileSync } from 'node:fs'
import { numberToHex } from 'viem'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Anvil } from '../../../src/devchain/anvil.ts'
import { hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { takeDaemonRole, takeDeliveryRole } from '../../../src/outbox/roles.ts'
import { tidegauge } from '../../support/tidegauge.ts'
import { catchUpStage } from './stage.ts'

describe('collect --catch-up', () => {
  it('asks the service for what it has where the machine keeps nothing', async () => {
    const stage = await catchUpStage()
    const { at, hoursOf, forget, arrivals } = stage
    await at(0.2)
    forget()
    const { stderr } = await at(3.1)
    expect(stderr).toContain('no outbox from before: the service says what it has of 2 collectors')
    expect(hoursOf('Hours')).toEqual([0, 1, 2, 3])
    forget()
    expect((await at(3.4)).stdout, 'it has the current hour').toContain('no hour is due')
    expect([...arrivals.values()].every(values => values.length === 1)).toBe(true)

    stage.answers('history')
    for (const key of [...arrivals.keys()].filter(key => key.includes(hourText(hourAfter(stage.start, 1))))) {
      ;(arrivals as Map<string, readonly number[]>).delete(key)
    }
    forget()
    expect((await at(4.1)).stdout).toContain('2 hours collected')
    expect(hoursOf('Hours'), 'an hour that is missing in what it lists').toEqual([0, 1, 2, 3, 4])

    stage.answers('garbage')
    forget()
    const unreadable = await at(6.1)
    expect(unreadable.stderr).toContain('it cannot be read what the service has of pool: its answer has no list')
    expect(unreadable.code).toBe(0)
    expect(hoursOf('Hours'), 'the current hour alone').toEqual([0, 1, 2, 3, 4, 6])
    stage.answers('error')
    forget()
    expect((await at(8.1)).stderr).toContain('it cannot be read what the service has of pool: it answered 500')
    expect(hoursOf('Hours')).toEqual([0, 1, 2, 3, 4, 6, 8])
  })

  it('keeps to since and to collect.catchUp', async () => {
    const since = hourText(hourAfter(hourAt(Date.now()), -1))
    const { at, hoursOf } = await catchUpStage({ since, rest: 'collect: { catchUp: 4h }' })
    await at(0.2)
    expect(hoursOf('Hours')).toEqual([-2, -1, 0])
    expect((await at(7.1)).code).toBe(0)
    expect(hoursOf('Hours'), 'not before the range').toEqual([-2, -1, 0, 3, 4, 5, 6, 7])
    const { gaps } = JSON.parse((await at(7.2, 'gaps', '--only', 'past', '--json')).stdout)
    expect(gaps).toMatchObject([{ code: 'hour-too-old', hours: 2 }])
  })

  it('ends with 1 where an hour fails, and takes it again at the next run', async () => {
    const fails = hourText(hourAfter(hourAt(Date.now()), 2))
    const { at, hoursOf, config } = await catchUpStage({ options: `fails: "${fails}"` })
    await at(0.2)
    const failed = await at(3.1)
    expect(failed.code).toBe(1)
    expect(failed.stdout).toMatch(/ {2}not collected: pool\/past: .*the well is dry/)
    expect(failed.stdout).toContain('3 hours collected, 1 of them not completely; 5 metrics delivered')
    expect(hoursOf('Hours')).toEqual([0, 2, 3])
    writeFileSync(config, readFileSync(config, 'utf8').replace(`fails: "${fails}"`, ''))
    expect((await at(3.2)).code).toBe(0)
    expect(hoursOf('Hours')).toEqual([0, 1, 2, 3])
  })

  it('leaves the work to a daemon or another command on its outbox, and says so', async () => {
    const { at, folder, config, arrivals } = await catchUpStage()
    const daemon = takeDaemonRole(`${folder}/data`, config, Date.now())
    const second = await at(0.2)
    expect(second).toMatchObject({ code: 0, stdout: '' })
    expect(second.stderr).toContain('the running daemon')
    expect(second.stderr).toContain('nothing is done here: the daemon collects what is due, too')
    daemon.release()
    const other = takeDeliveryRole(`${folder}/data`, config, Date.now())
    expect((await at(0.3)).stderr).toContain('nothing is done here: the next run takes what is due then')
    other.release()
    expect(arrivals.size).toBe(0)
    expect((await at(0.4)).code).toBe(0)
    expect(arrivals.size).toBe(3)
  })

  it('reads an hour again whose block was replaced after its values were sent', async () => {
    const seconds = hourAfter(hourAt(Date.now()), 1) / 1000
    const anvil = await Anvil.start(seconds - 3_000, ['--no-mining'])
    onTestFinished(() => anvil.stop())
    const mine = async (at: number) => {
      await anvil.rpc('evm_setNextBlockTimestamp', at)
      await anvil.rpc('evm_mine')
    }
    const account = `0x${'ab'.repeat(20)}`
    const live = async (coins: bigint) => {
      await anvil.rpc('anvil_setBalance', account, numberToHex(coins * 10n ** 18n))
      for (const after of [-10, 60]) await mine(seconds + after)
    }
    const fork = await anvil.rpc('evm_snapshot')
    await live(1n)
    const { at, start, arrivals } = await catchUpStage({
      isAlone: true,
      rest: `chains: { dev: { id: 31337, rpc: ["${anvil.url}"], settle: 1h } }`,
      more: `{ use: balances, options: { of: { dev: { owners: ["${account}"], assets: [{ native: true }] } } } }`,
    })
    expect((await at(0.2)).code).toBe(0)
    expect(arrivals.get(`pool___Balance ${hourText(start)}`)).toEqual([1])
    await anvil.rpc('evm_revert', fork)
    await live(2n)
    await mine(seconds + 3_660)
    expect((await at(1.2)).code).toBe(0)
    expect(arrivals.get(`pool___Balance ${hourText(start)}`)).toEqual([1, 2])
    expect(arrivals.get(`pool___Hours ${hourText(start)}`)).toHaveLength(1)
  })

  it('does no harm when two run at once', async () => {
    const { arrivals, config, env } = await catchUpStage({ since: hourText(hourAfter(hourAt(Date.now()), -20)) })
    const runs = [1, 2].map(() => tidegauge(['collect', '--catch-up', '--config', config], env))
    const ends = await Promise.all(runs)
    expect(ends.map(({ code }) => code)).toEqual([0, 0])
    expect(arrivals.size).toBe(2 * 21 + 1)
    expect([...arrivals.values()].every(values => values.length === 1)).toBe(true)
  })
})
