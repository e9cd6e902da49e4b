import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { says, startDaemon } from '../../support/tidegauge.ts'
import { untilTrue } from '../../support/until-true.ts'
import { backfillStage, hourTexts, sentHours } from '../backfill-stage.ts'

describe('backfill', () => {
  it('goes on after kill -9 and does no hour twice', async () => {
    const stage = await backfillStage(40)
    const hangsFrom = stage.hours[20] ?? 0
    stage.set('hangs-from', hangsFrom)
    const child = stage.start(...stage.range, '--concurrency', '10')
    await says(child, /^50 % 20 of 40 hours/)
    child.kill('SIGKILL')
    await once(child, 'close')
    stage.set('hangs-from', undefined)
    expect((await stage.run(...stage.range, '--concurrency', '10')).code).toBe(0)
    const [before, after] = [stage.hours.slice(0, 20), stage.hours.slice(20)]
    expect(before.map(hour => stage.reads().get(hour))).toEqual(before.map(() => 1))
    // Those under way when it was killed gave nothing.
    expect(after.every(hour => (stage.reads().get(hour) ?? 0) <= 2)).toBe(true)
    expect(new Set(sentHours(stage))).toEqual(new Set(hourTexts(stage.hours)))
  })

  it.for(['SIGINT', 'SIGTERM'] as const)('stops cleanly on %s and says how to go on', async signal => {
    const stage = await backfillStage(40)
    stage.set('hangs-from', stage.hours[20] ?? 0)
    const child = stage.start(...stage.range, '--concurrency', '10')
    let stderr = ''
    child.stderr?.on('data', text => {
      stderr += text
    })
    await says(child, /^50 % 20 of 40 hours/)
    child.kill(signal)
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(1)
    expect(stderr).toContain('20 runs of a collector for an hour left; go on with')
    expect(stderr).toContain(`60 metrics due (tidegauge flush --config ${stage.config})`)
    expect(stderr).toContain(
      `→ tidegauge backfill --config ${stage.config} ${stage.range.join(' ')} --concurrency 10\n`,
    )
    expect(stderr).not.toContain('    at ')
    stage.set('hangs-from', undefined)
    expect((await stage.run(...stage.range)).code).toBe(0)
    expect(new Set(sentHours(stage))).toEqual(new Set(hourTexts(stage.hours)))
  })

  it('prints no plan when it is stopped while it reads for one', async () => {
    const stage = await backfillStage(40)
    stage.set('hangs-from', stage.hours[0] ?? 0)
    const child = stage.start(...stage.range, '--plan')
    const ended = once(child, 'close')
    let [stdout, stderr] = ['', '']
    child.stdout?.on('data', text => {
      stdout += text
    })
    child.stderr?.on('data', text => {
      stderr += text
    })
    await untilTrue(() => stage.reads().size > 0)
    child.kill('SIGINT')
    expect([await ended, stdout, stderr]).toEqual([[1, null], '', 'tidegauge: it was asked to stop\n'])
  })

  it('delivers what it has while a chain cannot be read, however little that is', async () => {
    const supply = '{ call: "totalSupply() view returns (uint256)", decimals: 0 }'
    const options = `{ chain: dead, address: "0x${'0'.repeat(39)}1", values: { S: ${supply} } }`
    const chains = 'chains: { dead: { id: 5, rpc: ["http://127.0.0.1:1"] } }'
    const stage = await backfillStage(9, chains, `      - { use: contract-read, options: ${options} }\n`)
    const child = stage.start(...stage.range)
    await untilTrue(() => sentHours(stage).length === 9)
    expect(child.exitCode).toBeNull()
    child.kill('SIGINT')
    await once(child, 'close')
  })

  it('runs next to a live daemon, which delivers', async () => {
    const stage = await backfillStage(30)
    const daemon = await startDaemon(stage.config, stage.env)
    await daemon.logged('collected')
    const ended = await stage.run(...stage.range, '--json')
    expect(ended.stderr.match(/the running daemon [(]pid [0-9]+/g)).toEqual([`the running daemon (pid ${daemon.pid}`])
    expect(JSON.parse(ended.stdout)).toMatchObject({ left: 0, pushes: 0, due: 0 })
    expect(ended.code).toBe(0)
    expect(await daemon.kill('SIGTERM')).toBe(0)
    expect(sentHours(stage)).toEqual(expect.arrayContaining(hourTexts(stage.hours)))
    expect(sentHours(stage)).toHaveLength(new Set(sentHours(stage)).size)
  })
})
