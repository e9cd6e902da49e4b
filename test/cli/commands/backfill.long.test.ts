import { describe, expect, it } from 'vitest'
import { type Hour, hourAfter, hourText } from '../../../src/model/hour.ts'
import { backfillStage, hourTexts, metricsAnHour, sentHours } from '../backfill-stage.ts'

interface Summary {
  readonly collectors: readonly Record<string, number | string>[]
  readonly failures: readonly { readonly count: number; readonly reason: string; readonly hours: readonly object[] }[]
  readonly left: number
  readonly pushes: number
  readonly due: number
}

const summaryOf = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout) as Summary

describe('backfill', () => {
  it('collects and delivers a whole range once, in full pushes, and does nothing a second time', async () => {
    const stage = await backfillStage(70)
    const first = await stage.run(...stage.range, '--json')
    expect(first.stderr).toContain('100 % 70 of 70 hours')
    expect(first.code).toBe(0)
    expect(summaryOf(first)).toMatchObject({
      collectors: [
        { collector: 'pool/past', done: 70, there: 0, failed: 0, impossible: 0, added: 210, corrected: 0 },
        { collector: 'pool/now', done: 0, failed: 0, impossible: 70 },
      ],
      failures: [],
      left: 0,
      due: 0,
      pushes: 3,
    })
    // Four are under way at a time, and may arrive in any order.
    expect(stage.service.pushes.map(push => push.length).sort((a, b) => b - a)).toEqual([100, 100, 10])
    expect(sentHours(stage).sort()).toEqual(hourTexts(stage.hours))

    const second = await stage.run(...stage.range)
    expect(second.code).toBe(0)
    expect(second.stdout).toMatch(/pool\/past +0 +70 +0 +0 +0 +0/)
    expect([...stage.reads().values()].every(count => count === 1)).toBe(true)
    expect(stage.service.pushes).toHaveLength(3)
  })

  it('overwrites only when it is asked to, and sends again what has changed', async () => {
    const stage = await backfillStage(5)
    await stage.run(...stage.range)
    stage.set('more', 1000)
    expect(summaryOf(await stage.run(...stage.range, '--json')).collectors[0]).toMatchObject({ there: 5, done: 0 })
    const ended = await stage.run(...stage.range, '--overwrite', '--json')
    expect(summaryOf(ended).collectors[0]).toMatchObject({ done: 5, there: 0, added: 0, corrected: 5 * metricsAnHour })
    expect(stage.service.stored).toHaveLength(2 * 5 * metricsAnHour)
    const last = new Map(stage.service.stored.map(({ id, timestamp, value }) => [`${id} ${timestamp}`, value]))
    const values = stage.hours.map(hour => last.get(`pool___Count ${hourText(hour)}`))
    expect(values).toEqual(stage.hours.map(hour => hour / 3_600_000 + 1000))
  })

  it('says what failed and why, leaves it to no daemon, and tries it again the next time', async () => {
    const stage = await backfillStage(5)
    const badHour = stage.hours[2] ?? hourAfter(stage.hours[0] as Hour, 2)
    stage.set('fails-at', badHour)
    const ended = await stage.run(...stage.range)
    expect(ended.code).toBe(1)
    expect(ended.stdout).toMatch(/pool\/past +4 +0 +1 +0 +12 +0/)
    expect(ended.stdout).toContain('the well is dry')
    expect(ended.stdout).toContain(`pool/past ${hourText(badHour)}`)
    expect(ended.stderr).toContain('1 run failed for a reason that may pass: tried once more')
    expect(stage.reads().get(badHour)).toBe(2)
    stage.set('fails-at', undefined)
    const again = await stage.run(...stage.range, '--json')
    expect(summaryOf(again).collectors[0]).toMatchObject({ done: 1, there: 4, failed: 0 })
    expect(again.code).toBe(0)
  })

  it('starts with the newest hour where that is asked for', async () => {
    const stage = await backfillStage(4)
    expect((await stage.run(...stage.range, '--newest-first', '--concurrency', '1', '--only', 'past')).code).toBe(0)
    expect([...stage.reads().keys()]).toEqual(stage.hours.toReversed())
  })

  it('plans what it would do, stores and sends nothing, and does it then', async () => {
    const stage = await backfillStage(70)
    const plan = await stage.run(...stage.range, '--plan', '--json')
    expect(plan.code).toBe(0)
    const planned = JSON.parse(plan.stdout) as Record<string, unknown>
    expect(planned).toMatchObject({
      collectors: [
        { collector: 'pool/past', hours: 70, there: 0, impossible: 0, metrics: 210 },
        { collector: 'pool/now', hours: 0, impossible: 70, metrics: 0 },
      ],
      hours: 70,
      calls: {},
      requests: 0,
      pushes: 3,
      certainty: 'about',
    })
    expect([...stage.reads().keys()].sort()).toEqual([stage.hours[0], stage.hours.at(-1)])
    expect(stage.service.pushes).toHaveLength(0)
    const actual = JSON.parse((await stage.run(...stage.range, '--json')).stdout) as Record<string, unknown>
    expect(actual).toMatchObject({ calls: planned['calls'], requests: planned['requests'], pushes: planned['pushes'] })
  })

  it('says in its help what --concurrency counts, and its limit', async () => {
    const { stdout } = await (await backfillStage(1)).run('--help')
    expect(stdout.replace(/\s+/g, ' ')).toContain('hours under way together, each with all its collectors: 1 to 500')
  })

  it.for([
    [['--to', '2026-01-01T00:00:00Z'], "required option '--from <hour>'"],
    [['--from', 'yesterday', '--to', '2026-01-01T00:00:00Z'], '"yesterday" is not an hour'],
    [['--from', '2026-01-01T00:30:00Z', '--to', '2026-01-01T02:00:00Z'], 'not a full hour'],
    [['--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'], 'lies after --to'],
    [['--from', '2026-01-01T00:00:00Z', '--to', '2999-01-01T00:00:00Z'], 'lies in the future'],
    [
      ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-01T02:00:00Z', '--concurrency', '0'],
      'a whole number from 1 to 500',
    ],
    [['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-01T02:00:00Z', '--max-calls', 'few'], 'a whole number from 1'],
    [['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-01T02:00:00Z', '--only', 'absent'], 'is called "absent"'],
  ] as const)('refuses %j', async ([args, sentence]) => {
    const stage = await backfillStage(1)
    const { code, stdout, stderr } = await stage.run(...args)
    expect(stderr).toContain(sentence)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).not.toContain('    at ')
  })
})
