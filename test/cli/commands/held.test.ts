import { describe, expect, it } from 'vitest'
import { type Given, hourBack, stage } from '../stage.ts'

describe('a value held back', () => {
  const bounded: Given = {
    metrics: { TVL: { unit: 'USD', min: 0 }, Price: { unit: 'USD', maxJump: '20%' }, Rate: { unit: '%' } },
    values: { TVL: 10, Price: 100, Rate: 5 },
  }

  it('for its bounds, a jump or its unit is listed, and released or dropped by a person', async () => {
    const { service, run, read, give, config } = await stage(bounded)
    const [first, second] = [hourBack(4), hourBack(3)]
    expect(await run('collect', '--hour', first)).toMatchObject({ code: 0 })
    const { metrics } = bounded
    give({ metrics: { ...metrics, Rate: { unit: 'bp' } }, values: { TVL: -1, Price: 121, Rate: 500 } })
    expect((await run('collect', '--hour', second, '--dry-run')).code).toBe(1)
    const collected = await run('collect', '--hour', second)
    expect(collected.stderr).toContain(`0 of 3 delivered, 3 held (tidegauge held ls --config ${config})`)
    expect((await run('held', 'ls')).stdout).toMatch(/^metric +hour +value +unit +since +why\n/)
    expect(await read('held')).toMatchObject([
      { id: 'pool___TVL', hour: second, value: -1, kind: 'bounds', reason: '−1 is below the declared minimum of 0' },
      { id: 'pool___Price', value: 121, kind: 'jump', reason: expect.stringContaining('121 after 100') },
      { id: 'pool___Rate', value: 500, unit: 'bp', kind: 'unit', reason: expect.stringContaining('was % so far') },
    ])
    expect((await run('held', 'show', 'pool___TVL')).stdout).toMatch(
      /^ {2}held +−1 is below the declared minimum of 0\n/m,
    )
    expect((await run('held', 'show', 'pool___Rate')).stdout).toMatch(
      /held release --config \S+ pool___Rate --allow-unit-change/,
    )
    for (const words of ['explain', 'history', 'held', 'held show', 'dead ls', 'due ls']) {
      const { code, stderr } = await run(...words.split(' '), 'pool___TLV')
      expect([words, code === 0, stderr]).toEqual([
        words,
        false,
        expect.stringMatching(/: did you mean|→ did you mean/),
      ])
      expect(stderr).toMatch(/pool___TVL\?/)
    }
    const status = (await run('status')).stdout
    expect(status).toContain(`  3 held: tidegauge held ls --config ${config}\n`)
    expect(status).toMatch(/^pool___TVL +−1 +USD +\S+Z +held$/m)

    expect(await run('held', 'drop', 'pool___TVL')).toMatchObject({ code: 0 })
    const released = await run('held', 'release', 'pool')
    expect(released.code).toBe(1)
    expect(released.stdout).toMatch(/^1 metric due: /)
    expect(released.stderr).toContain('1 metric stays held, because the unit changes:\n')
    expect(released.stderr).toContain(`  pool___Rate: from % to bp, from ${second} on\n`)
    expect(released.stderr).toContain(`tidegauge held release --config ${config} pool___Rate --allow-unit-change`)
    expect(await run('held', 'release', '--all', '--allow-unit-change')).toMatchObject({ code: 0 })
    expect(await run('flush')).toMatchObject({ code: 0, stdout: '2 delivered, 0 due\n' })
    expect(service.stored.filter(({ timestamp }) => timestamp === second)).toEqual([
      expect.objectContaining({ id: 'pool___Price', value: 121, unit: 'USD' }),
      expect.objectContaining({ id: 'pool___Rate', value: 500, unit: 'bp' }),
    ])
    expect(await run('collect', '--hour', hourBack(2), '--dry-run')).toMatchObject({
      stdout: expect.stringMatching(/pool___Rate +500 +bp\n/),
    })
  })

  it('for a mistaken unit is sent once its hours are read again from the repaired collector, as its advice says', async () => {
    const { service, run, read, give, config } = await stage(bounded)
    const [first, from, to] = [hourBack(4), hourBack(3), hourBack(2)]
    await run('collect', '--hour', first)
    give({ ...bounded, metrics: { ...bounded.metrics, Rate: { unit: '%%' } } })
    for (const hour of [from, to]) await run('collect', '--hour', hour)
    const words = (last: string) =>
      `backfill --config ${config} --from ${from} --to ${last} --only pool/given --overwrite`.replaceAll('/', '\\/')
    expect((await run('held', 'show', 'pool___Rate', '--hour', from)).stdout).toMatch(new RegExp(words(from)))
    expect((await run('held', 'release', '--all')).stderr).toMatch(new RegExp(words(to)))
    give(bounded)
    const advised = ['backfill', '--from', from, '--to', to, '--only', 'pool/given', '--overwrite']
    expect(await run(...advised)).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 2\n/) })
    expect(await read('held')).toEqual([])
    const rates = service.stored.filter(({ id }) => id === 'pool___Rate')
    expect(rates.map(({ timestamp, unit }) => [timestamp, unit]).toSorted()).toEqual(
      [first, from, to].map(hour => [hour, '%']),
    )
  })

  it('for its bounds stays held when its hours are read again from the mended collector, which says so', async () => {
    const { run, read, give } = await stage(bounded)
    const hour = hourBack(3)
    give({ ...bounded, values: { ...bounded.values, TVL: -1 } })
    await run('collect', '--hour', hour)
    const { stdout } = await run('held', 'show', 'pool___TVL')
    expect(stdout).toMatch(/ once the collector is repaired, before it is released: tidegauge backfill /)
    give(bounded)
    const again = ['backfill', '--from', hour, '--to', hour, '--overwrite']
    for (const _ of ['corrected', 'the same']) {
      const { code, stderr } = await run(...again)
      expect(code).toBe(0)
      expect(stderr).toMatch(/→ 1 value of these hours stays held: tidegauge held ls .*, and tidegauge held release /)
    }
    expect(await read('held')).toMatchObject([{ value: 10, reason: expect.stringContaining('its value was -1') }])
    await run('held', 'release', 'pool___TVL')
    expect((await run(...again)).stderr).not.toContain('held')
  })

  it('is foreseen by a dry run, which ends as the run itself: what stands from before counts', async () => {
    const { run, give } = await stage(bounded)
    const implausible = { ...bounded, values: { ...bounded.values, TVL: -1 } }
    const codes = async (hour: string) => {
      const words = ['collect', '--hour', hour]
      return [(await run(...words, '--dry-run')).code, (await run(...words)).code]
    }
    const [first, second] = [hourBack(3), hourBack(2)]
    expect(await codes(first)).toEqual([0, 0])
    give(implausible)
    expect([await codes(first), await codes(second)]).toEqual([
      [0, 0],
      [1, 1],
    ])
    give(bounded)
    expect(await codes(second)).toEqual([1, 1])
  })

  it('for its unit alone goes with collect --allow-unit-change, at first or the second time', async () => {
    const { service, run, read, give } = await stage(bounded)
    await run('collect', '--hour', hourBack(4))
    give({ ...bounded, metrics: { ...bounded.metrics, Rate: { unit: 'bp' } } })
    await run('collect', '--hour', hourBack(3))
    expect(await read('held')).toMatchObject([{ id: 'pool___Rate' }])
    expect(await run('collect', '--hour', hourBack(3), '--allow-unit-change')).toMatchObject({ code: 0 })
    give({ ...bounded, metrics: { ...bounded.metrics, TVL: { unit: 'EUR', min: 0 }, Rate: { unit: 'bp' } } })
    expect(await run('collect', '--hour', hourBack(2), '--allow-unit-change')).toMatchObject({ code: 0 })
    expect(await run('collect', '--hour', hourBack(1))).toMatchObject({ code: 0 })
    const units = (id: string) => service.stored.filter(metric => metric.id === id).map(({ unit }) => unit)
    expect(units('pool___Rate')).toEqual(['%', 'bp', 'bp', 'bp'])
    expect(units('pool___TVL')).toEqual(['USD', 'USD', 'EUR', 'EUR'])
    expect(await read('held')).toEqual([])
  })

  it('for more than its unit stays held with its own unit', async () => {
    const { run, read, give } = await stage(bounded)
    await run('collect', '--hour', hourBack(4))
    give({ ...bounded, metrics: { ...bounded.metrics, TVL: { unit: 'EUR', min: 50 } } })
    const { stderr } = await run('collect', '--hour', hourBack(3), '--allow-unit-change')
    expect(stderr).toContain('2 of 3 delivered, 1 held')
    expect(await read('held')).toMatchObject([
      {
        id: 'pool___TVL',
        unit: 'EUR',
        kind: 'unit',
        reason: expect.stringMatching(/^10 is below .* 50; the unit is EUR/),
      },
    ])
  })

  it('no more: a unit that is allowed counts from the next hour on, where this one has its value', async () => {
    const { run, give, read } = await stage(bounded)
    expect(await run('collect')).toMatchObject({ code: 0 })
    give({ ...bounded, metrics: { ...bounded.metrics, Rate: { unit: 'bp' } } })
    type Check = { warnings: { metric: string; kind: string }[] }
    expect((await read<Check>('check')).warnings).toMatchObject([{ metric: 'pool___Rate', kind: 'unit-changed' }])
    expect(await run('collect', '--allow-unit-change')).toMatchObject({ code: 0 })
    expect((await read<Check>('check')).warnings).toEqual([])
  })
})

describe('another unit', () => {
  it('changes nothing of a delivered hour, and every command says so', async () => {
    const { run, give } = await stage({ metrics: { A: { unit: 'USD' } }, values: { A: 2 } })
    await run('collect', '--hour', hourBack(2))
    give({ metrics: { A: { unit: 'EUR' } }, values: { A: 2 } })
    for (const more of [[], ['--allow-unit-change'], []]) {
      const { code, stdout, stderr } = await run('collect', '--hour', hourBack(2), ...more)
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/A +2 +EUR +collected before in another unit: 2 stands\n/),
      ])
      expect(stderr).toContain('the unit changes from USD to EUR after this hour')
      expect(stderr).not.toMatch(/held|collect once/)
    }
    const explained = await run('explain', 'pool___A', hourBack(2))
    expect([explained.code, explained.stdout]).toEqual([
      1,
      expect.stringContaining('\nread again now: 2 EUR, not the stored 2 USD\n'),
    ])
    await run('collect', '--hour', hourBack(1))
    expect((await run('explain', 'pool___A', hourBack(1))).stdout).toMatch(/: 2 EUR, held\n[\s\S]*, the same value\n/)
    expect((await run('status')).stdout).toMatch(/^pool___A +2 +EUR +\S+Z +held$/m)
  })
})

describe('a list too long for a terminal', () => {
  it('shows the newest, says how many there are and why, and is whole as JSON', async () => {
    const labels = Array.from({ length: 60 }, (_, index) => `M${index}`)
    const { run, read } = await stage({
      metrics: Object.fromEntries(labels.map((label, index) => [label, { max: index < 20 ? 5 : -5 }])),
      values: Object.fromEntries(labels.map(label => [label, label === 'M0' ? 7 : 8])),
    })
    await run('collect', '--hour', hourBack(3))
    const { stdout } = await run('held', 'ls')
    expect(stdout.match(/^pool___M/gm)).toHaveLength(50)
    expect(stdout).toContain('60 metrics held, the newest 50 shown; --json has all. Why:')
    expect(stdout).toContain('60× … is above the declared maximum of … (')
    expect(stdout).toMatch(/held ls --config \S+ --reason 'is above the declared maximum of'/)
    expect(await read<unknown[]>('held', 'ls')).toHaveLength(60)
    expect(await read<unknown[]>('held', '--reason', 'maximum of -5')).toHaveLength(40)
    expect((await run('held', 'show', 'pool')).stderr).toContain('40 older ones not shown')
  })
})
