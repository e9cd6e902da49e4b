import { describe, expect, it } from 'vitest'
import { startDaemon } from '../../support/tidegauge.ts'
import { type Given, hourBack, stage } from '../stage.ts'

const twoMetrics: Given = { metrics: { TVL: { unit: 'USD' }, Fee: {} }, values: { TVL: 12.5, Fee: 1 } }
type DeadAndHeld = Record<string, unknown>

describe('a metric the service refuses', () => {
  it('is listed with its words, shown in full, and delivered after a retry once the service takes it', async () => {
    const { service, run, read, config } = await stage(twoMetrics)
    service.refuses = ({ id }) => (id === 'pool___TVL' ? 'the value is\nnot plausible in a tidegauge run' : undefined)
    const hour = hourBack(3)
    const collected = await run('collect', '--hour', hour)
    expect(collected.code).toBe(1)
    expect(collected.stderr).toContain(`1 of 2 delivered, 1 dead (tidegauge dead ls --config ${config})`)

    const { code, stdout } = await run('dead', 'ls')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^metric +hour +value +unit +status +attempts +since +the service’s words\n/)
    expect(stdout).toMatch(
      /\npool___TVL +\S+Z +12\.5 +USD +400 +\d+ +\S+Z +the value is not plausible in a tidegauge run/,
    )
    expect(stdout).toContain(hour)
    const [dead, ...others] = await read<DeadAndHeld[]>('dead', 'ls')
    expect(others).toEqual([])
    expect(dead).toEqual({
      id: 'pool___TVL',
      protocolId: 'pool',
      hour,
      value: 12.5,
      unit: 'USD',
      kind: 'refused',
      reason: '400: the value is not plausible in a tidegauge run',
      status: 400,
      attempts: expect.any(Number),
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      collector: 'pool/given',
    })

    const shown = (await run('dead', 'show', 'pool')).stdout
    for (const fact of [
      '12.5 USD',
      '400',
      'pool/given',
      'not plausible',
      `dead retry --config ${config} pool___TVL --hour ${hour}`,
    ]) {
      expect(shown).toContain(fact)
    }
    expect(await read('dead', 'show', 'pool___TVL')).toEqual([dead])

    service.refuses = () => undefined
    const retried = await run('dead', 'retry', '--reason', 'PLAUSIBLE IN A TIDEGAUGE RUN')
    expect(retried).toMatchObject({
      code: 0,
      stdout: `1 metric due: no daemon runs; push with tidegauge flush --config ${config}\n`,
    })
    expect(await run('flush')).toMatchObject({ code: 0, stdout: '1 delivered, 0 due\n' })
    expect(service.stored.filter(({ id }) => id === 'pool___TVL')).toMatchObject([{ value: 12.5, timestamp: hour }])
    expect(await run('dead')).toMatchObject({ code: 0, stdout: 'nothing is dead\n' })
  })

  it('is pushed again by the daemon that runs', async () => {
    const { service, run, config, env } = await stage(twoMetrics)
    service.refuses = ({ id }) => (id === 'pool___TVL' ? 'no' : undefined)
    const hour = hourBack(3)
    await run('collect', '--hour', hour)
    service.refuses = () => undefined
    expect((await run('status')).stdout).toContain(
      `daemon  none runs on this outbox (tidegauge run --config ${config})\n`,
    )
    const daemon = await startDaemon(config, env)
    expect((await run('status')).stdout).toMatch(new RegExp(`^daemon {2}pid ${daemon.pid}, since \\S+Z$`, 'm'))
    const { stdout } = await run('dead', 'retry', '--all')
    expect(stdout).toMatch(
      new RegExp(`^1 metric due: the running daemon \\(pid ${daemon.pid}, since \\S+Z\\) pushes\\n$`),
    )
    await daemon.status<{ balance: { dead: number; due: number } }>(({ balance }) => balance.dead + balance.due === 0)
    expect(service.stored.filter(({ id, timestamp }) => id === 'pool___TVL' && timestamp === hour)).toHaveLength(1)
    expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('never comes back once it is dropped', async () => {
    const { service, run, read } = await stage(twoMetrics)
    service.refuses = ({ id }) => (id === 'pool___TVL' ? 'no' : undefined)
    const hour = hourBack(3)
    await run('collect', '--hour', hour)
    expect(await run('dead', 'drop', 'pool___TVL', '--hour', hour)).toMatchObject({
      code: 0,
      stdout: '1 metric dropped: not sent, and not collected again\n',
    })
    service.refuses = () => undefined
    const again = await run('collect', '--hour', hour)
    expect(again.code).toBe(0)
    expect(again.stdout).toMatch(/pool___TVL +12\.5 +USD +dropped by a person\n/)
    await run('flush')
    expect(service.stored.map(({ id }) => id)).toEqual(['pool___Fee'])
    expect(await read('status')).toMatchObject({ balance: { enqueued: 1, delivered: 1, dead: 0, due: 0, dropped: 1 } })
    expect((await run('status')).stdout).toContain('1 dropped, not counted above')
  })
})

describe('a selection', () => {
  it('must be made for what changes something, and says how', async () => {
    const { run, config } = await stage(twoMetrics)
    for (const args of [
      ['dead', 'retry'],
      ['held', 'drop'],
      ['warnings', 'ack'],
    ]) {
      const { code, stderr } = await run(...args)
      expect(code).toBe(2)
      expect(stderr).toContain('Nothing is selected')
      expect(stderr).toContain(`tidegauge ${args.join(' ')} --config ${config} --all`)
    }
    expect(await run('dead', 'retry', '--reason', '')).toMatchObject({ code: 2 })
    expect(await run('dead', 'ls', '--hour', 'noon')).toMatchObject({ code: 2 })
  })

  it('of all is fine where there is nothing, also before anything was collected', async () => {
    const { run, read } = await stage(twoMetrics)
    expect(await run('dead', 'retry', '--all')).toMatchObject({ code: 0, stdout: 'nothing is dead\n' })
    expect(await run('warnings')).toMatchObject({ code: 0, stdout: 'no warnings\n' })
    expect(await read('held')).toEqual([])
  })

  it('that fits nothing is said, and ends with 1; what fits is done all the same', async () => {
    const { service, run, config } = await stage({
      metrics: { TVL: { min: 20 }, Fee: {}, Odd: {} },
      values: { TVL: 1, Fee: 1, Odd: 1 },
    })
    service.refuses = ({ id }) => (id === 'pool___Odd' ? 'no' : undefined)
    await run('collect', '--hour', hourBack(3))
    const none = await run('dead', 'retry', 'absent', 'pool___Fee', 'pool___TVL')
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(none.stderr).toContain('no metric or protocol is called "absent"\n')
    expect(none.stderr).toContain('nothing of pool___Fee is dead\n')
    expect(none.stderr).toContain(
      `nothing of pool___TVL is dead; 1 metric held: tidegauge held ls --config ${config} pool___TVL`,
    )
    expect(await run('dead', 'ls', '--hour', hourBack(4))).toMatchObject({ code: 1, stdout: '' })
    const some = await run('dead', 'retry', 'pool___Odd', 'pool___Fee')
    expect(some.code).toBe(1)
    expect(some.stdout).toMatch(/^1 metric due: /)
    expect(some.stderr).toContain('nothing of pool___Fee is dead\n')
  })
})
