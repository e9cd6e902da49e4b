import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { Fault } from '../../../src/model/fault.ts'
import { hourAfter, hourAt, hoursFrom, hourText, parseHour } from '../../../src/model/hour.ts'
import { overdueMs } from '../../../src/model/limits.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { markGap, recordOutcomes } from '../../../src/outbox/store/recording.ts'
import { command } from '../../support/command.ts'
import { addCollectorNow, atOnce, expectHoursNow } from '../../support/stored-hours.ts'
import { configured } from '../../support/tidegauge.ts'
import { hourBack } from '../stage.ts'

const yaml = `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./past.js
      - use: ./now.js
      - use: ./broken.js
      - { use: derived, options: { values: { Day: { of: A, take: sum, hours: 24 }, Now: { sum: [A, 1] } } } }
`
const source = (history: boolean) => `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}), metrics: { ${history ? 'A' : 'B'}: {} }, history: ${history}, collect: () => ({ ${history ? 'A' : 'B'}: 1 }),
})
`
const past = parseHour('2026-01-05T00:00:00Z')
const at = (count: number) => hourText(hourAfter(past, count))

/** Full hours around this one, by how many back; as of when the tests began. */
const [next = '', current = '', , twoBack = '', late = ''] = [-1, 0, 1, 2, 3].map(hourBack)

interface Gap {
  readonly collector: string
  readonly from: string
  readonly to: string
  readonly hours: number
  readonly advice: string
}

/** A configuration, and how its commands are run; `fill` writes into its outbox. */
function stage(fill?: (outbox: SqliteOutbox) => void) {
  const files = { 'past.js': source(true), 'now.js': source(false), 'broken.js': 'export default 5' }
  const { folder, config } = configured(yaml, files)
  if (fill) {
    const outbox = new SqliteOutbox(join(folder, 'data', 'outbox.db'))
    fill(outbox)
    outbox.close()
  }
  const run = (...args: string[]) => command([...args, '--config', config], { METRICS_KEY: 'k' })
  return { config, run, read: async () => JSON.parse((await run('gaps', '--json')).stdout) as Found }
}

interface Found {
  readonly gaps: readonly Gap[]
  readonly notReadByBackfill: readonly Gap[]
  readonly notCollectedYet: readonly Omit<Gap, 'advice'>[]
}

function mark(outbox: SqliteOutbox, collector: string, from: number, to: number, fault: Fault): void {
  addCollectorNow(outbox, collector, past)
  for (const hour of hoursFrom(hourAfter(past, from), hourAfter(past, to)))
    atOnce(outbox, () => markGap(collector, hour, fault))
}

describe('gaps', () => {
  it('says so when nothing was collected yet, and when nothing is missing', async () => {
    const fresh = stage()
    expect(await fresh.run('gaps')).toEqual({
      code: 0,
      stdout: `no gaps yet: no collector was asked for any hour\nno daemon runs: tidegauge run --config ${fresh.config}\n`,
      stderr: '',
    })
    expect(await fresh.read()).toEqual({ gaps: [], notReadByBackfill: [], notCollectedYet: [] })
  })

  it('are ranges with their reason, and what a person can do about them', async () => {
    const { run, read, config } = stage(outbox => {
      mark(outbox, 'pool/past', 0, 30, new Fault('hour-too-old', 'older than the 7 days that are caught up'))
      mark(outbox, 'pool/past', 40, 40, new Fault('chain-before-first-block', 'before the first block'))
      mark(outbox, 'pool/past', 50, 51, new Fault('chain-state-missing', 'no endpoint has the state of then'))
      mark(outbox, 'pool/now', 3, 4, new Fault('hour-passed', 'not collected in its hour'))
      mark(outbox, 'pool/broken', 3, 4, new Fault('hour-too-old', 'too old'))
      mark(outbox, 'pool/derived', 30, 33, new Fault('window-incomplete', 'Day: pool___A has no value'))
      mark(outbox, 'gone/away', 5, 5, new Fault('hour-too-old', 'too old'))
    })
    const { gaps } = await read()
    const backfill = (from: number, to: number, only = 'past') =>
      `tidegauge backfill --config ${config} --from ${at(from)} --to ${at(to)} --only pool/${only}`
    expect(gaps.map(({ collector, hours, advice }) => [collector, hours, advice])).toEqual([
      ['gone/away', 1, 'nothing: the collector is no longer configured'],
      ['pool/broken', 2, `repair the collector: tidegauge check --config ${config}`],
      // The window of the first hour begins 23 hours before it.
      ['pool/derived', 4, backfill(7, 33, 'derived')],
      ['pool/now', 2, 'nothing: it can only read “now”'],
      ['pool/past', 31, backfill(0, 30)],
      ['pool/past', 1, 'nothing: the chain had no block yet'],
      ['pool/past', 2, `with an endpoint that has the state of then: ${backfill(50, 51)}`],
    ])
    expect(gaps[4]).toMatchObject({
      from: at(0),
      to: at(30),
      code: 'hour-too-old',
      reason: 'older than the 7 days that are caught up',
    })
    const { code, stdout } = await run('gaps', '--to', at(60))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^collector +from +to +hours +reason +what to do\n/)
    expect(stdout).toContain(backfill(0, 30))
    expect(stdout).toMatch(/\n43 hours missing\n$/)
    const { stdout: narrow } = await run('gaps', '--only', 'past', '--from', at(20), '--to', at(45))
    expect(narrow.match(/^pool\/past/gm)).toHaveLength(2)
    expect(narrow).toMatch(/\n12 hours missing\n$/)
  })

  it('name hours that a backfill was asked for and could not read, until it has them', async () => {
    const { run, read, config } = stage(outbox => {
      addCollectorNow(outbox, 'pool/past', parseHour(next))
      const fault = new Fault('chain-state-missing', 'no endpoint has the state of then')
      for (const hour of hoursFrom(past, hourAfter(past, 9))) {
        const failed = { fault, nextAttemptMs: 0 }
        const outcome = { collector: 'pool/past', hour, acceptedValues: [], failure: failed, unexpected: true }
        atOnce(outbox, () => recordOutcomes([{ outcome, nowMs: 1 }]))
      }
    })
    const { stdout, code } = await run('gaps')
    expect(code).toBe(0)
    const backfill = `tidegauge backfill --config ${config} --from ${at(0)} --to ${at(9)} --only pool/past`
    expect(stdout).toMatch(/^no gaps\n\nasked for by a backfill that could not read them:\n/)
    expect(stdout).toContain(
      `no endpoint has the state of then  with an endpoint that has the state of then: ${backfill}\n`,
    )
    expect(stdout).toMatch(/\n10 hours not read; each is listed until a backfill has it\n/)
    const range = { collector: 'pool/past', from: at(0), to: at(9), hours: 10, code: 'chain-state-missing' }
    expect(await read()).toMatchObject({ gaps: [], notReadByBackfill: [range] })
  })

  it('are distinct from hours that are still waited for', async () => {
    const { run, read, config } = stage(outbox => {
      const oldest = parseHour(late)
      expectHoursNow(outbox, 'pool/past', oldest, hourAfter(parseHour(current), 5))
      const failed = { fault: new Fault('http-unreachable', 'no answer'), nextAttemptMs: 0 }
      const outcome = { collector: 'pool/past', hour: oldest, acceptedValues: [], failure: failed }
      atOnce(outbox, () => recordOutcomes([{ outcome, nowMs: 1 }]))
    })
    const { stdout, code } = await run('gaps')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^no gaps\n\nnot collected yet:\ncollector/)
    expect(stdout).toMatch(new RegExp(`pool/past +${late} +${late} +1 +no answer\n`))
    expect(stdout).toMatch(new RegExp(`pool/past +${twoBack} .*not tried yet\n`))
    expect(stdout).toContain(`no daemon runs: tidegauge run --config ${config}\n`)
    const { gaps, notCollectedYet } = await read()
    expect(gaps).toEqual([])
    expect(notCollectedYet[0]).toEqual({
      ...{ collector: 'pool/past', from: late, to: late, hours: 1 },
      ...{ code: 'http-unreachable', reason: 'no answer' },
    })
    const last = notCollectedYet.at(-1)?.to ?? ''
    expect([twoBack < last, last <= next], 'not those of the future').toEqual([true, true])
  })

  it('do not call an hour collected that is due and not late', async () => {
    const { run } = stage(outbox => expectHoursNow(outbox, 'pool/past', parseHour(next)))
    const { stdout } = await run('gaps', '--from', next)
    expect(stdout).toMatch(/^no gaps: what is not collected yet is not late\n/)
  })

  it('have the hour that no daemon has planned, as status has', async () => {
    const { run, read } = stage(outbox => addCollectorNow(outbox, 'pool/past', past))
    const overdue = hourText(hourAt(systemTime.nowMs() - overdueMs))
    expect((await run('status')).stdout).toMatch(new RegExp(`pool/past, .* were not asked for the hour ${overdue}`))
    const { notCollectedYet } = await read()
    expect(notCollectedYet).toContainEqual({ collector: 'pool/past', from: overdue, to: overdue, hours: 1 })
  })

  it('have the hour that a backfill could not read, once, and status says why', async () => {
    const overdue = hourAt(systemTime.nowMs() - overdueMs)
    const { run, read } = stage(outbox => {
      addCollectorNow(outbox, 'pool/past', past)
      const failure = { fault: new Fault('http-unreachable', 'the source answered 404'), nextAttemptMs: 0 }
      const outcome = { collector: 'pool/past', hour: overdue, acceptedValues: [], failure, unexpected: true }
      atOnce(outbox, () => recordOutcomes([{ outcome, nowMs: 1 }]))
    })
    const { stdout } = await run('status')
    expect(stdout).toContain(`pool/past has not collected the hour ${hourText(overdue)}: the source answered 404.`)
    expect(stdout).not.toMatch(/pool\/past, .*not asked/)
    const { notReadByBackfill, notCollectedYet } = await read()
    expect(notReadByBackfill).toMatchObject([{ collector: 'pool/past', hours: 1 }])
    expect(notCollectedYet.filter(({ collector }) => collector === 'pool/past')).toEqual([])
  })

  it('name derived hours that lack an input where the collector that gives it has all of them', async () => {
    const overdue = (hourAt(systemTime.nowMs() - overdueMs) - past) / 3_600_000
    const { run, read } = stage(outbox => {
      const fail = (collector: string, count: number, fault: Fault) => {
        const failure = { fault, nextAttemptMs: 0 }
        const outcome = { collector, hour: hourAfter(past, count), acceptedValues: [], failure, unexpected: true }
        atOnce(outbox, () => recordOutcomes([{ outcome, nowMs: 1 }]))
      }
      const lack = (count: number, why: string, metric = 'pool___A') => {
        const facts = { label: 'Now', metric, hour: at(count) }
        const fault = new Fault('input-missing', `${metric} of ${at(count)} ${why}`, {
          facts,
          fix: 'give this collector at',
        })
        fail('pool/derived', count, fault)
      }
      addCollectorNow(outbox, 'pool/past', past)
      addCollectorNow(outbox, 'pool/derived', parseHour(next))
      mark(outbox, 'pool/now', 3, 30, new Fault('hour-passed', 'not collected in its hour'))
      // One hole of two hours, and one of a value that the same collector gives.
      for (const count of [1, 20, 23, overdue]) lack(count, 'has no value')
      for (const count of [2, 4, 5]) lack(count, 'is not expected')
      lack(21, 'has no value', 'pool___Now')
      for (const count of [1, 4, 20, 21]) fail('pool/past', count, new Fault('http-unreachable', 'no answer'))
    })
    const { notReadByBackfill, notCollectedYet } = await read()
    expect(notReadByBackfill).toMatchObject([
      { collector: 'pool/derived', from: at(2), hours: 1, advice: 'give this collector at' },
      { collector: 'pool/derived', from: at(4), hours: 2 },
      { collector: 'pool/derived', from: at(23), hours: 1 },
      { collector: 'pool/past', from: at(1) },
      { collector: 'pool/past', from: at(4) },
      { collector: 'pool/past', from: at(20), hours: 2 },
    ])
    expect(notCollectedYet).toContainEqual({ collector: 'pool/past', from: at(overdue), to: at(overdue), hours: 1 })
    const narrow = JSON.parse((await run('gaps', '--json', '--only', 'derived')).stdout) as Found
    expect(narrow.notReadByBackfill).toEqual(notReadByBackfill.slice(0, 3))
    expect((await run('gaps', '--only', 'past')).stdout).toMatch(/^no gaps\n\nasked for by a backfill/)
  })

  it('says of a removed collector that its hours are not tried', async () => {
    const expecting = (...names: string[]) =>
      stage(outbox => {
        for (const name of names) {
          expectHoursNow(outbox, name, parseHour(late))
        }
      })
    const gone = 'not in this configuration, and tried again only with one that has it: pool/gone\n'
    const { stdout: alone } = await expecting('pool/gone').run('gaps', '--to', late)
    expect(alone).toMatch(new RegExp(`\n\n${gone}$`))
    const { stdout: both } = await expecting('pool/gone', 'pool/past').run('gaps')
    expect(both).toContain(`\n\n${gone}no daemon runs: `)
  })

  it('refuses a range that ends before it begins, and an unknown name', async () => {
    const { run } = stage()
    const wrong = await run('gaps', '--from', at(2), '--to', at(1))
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('lies after --to') })
    expect(await run('gaps', '--only', 'absent')).toMatchObject({ code: 2 })
  })
})
