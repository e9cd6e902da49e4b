import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { Fault } from '../../../src/model/fault.ts'
import { parseHour } from '../../../src/model/hour.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { markGap } from '../../../src/outbox/store/recording.ts'
import { atOnce } from '../../support/stored-hours.ts'
import { hourBack, type Sent, stage } from '../stage.ts'

const hours = [hourBack(3), hourBack(2), hourBack(1)] as const
const metrics = { A: { unit: 'USD' }, B: {} }

/** Three delivered hours of two metrics at a service that shows what it has, as `show` writes it. */
async function delivered(show: (stored: readonly Sent[]) => unknown) {
  const staged = await stage({ metrics, values: { A: 1, B: 9 } })
  const { run, read, service } = staged
  service.shows = path => ({ status: path === '/api/metrics' ? 200 : 404, body: show(latestOf(service.stored)) })
  const range = ['--from', hours[0], '--to', hours[2]]
  expect(await run('backfill', ...range)).toMatchObject({ code: 0 })
  expect(service.stored).toHaveLength(6)
  const { collectors } = await read<{ collectors: object[] }>('backfill', ...range, '--plan')
  expect(collectors, 'a plan reads the outbox').toMatchObject([{ hours: 0, there: 3 }])
  return staged
}

/** Advice about one hour that another daemon has sent. */
const unknown = (config: string) =>
  `  → what is unknown here was sent from elsewhere, or before the outbox was restored: tidegauge backfill --config ${config} --from ${hours[2]} --to ${hours[2]} reads it\n`

/** The last value of each metric and hour. */
function latestOf(stored: readonly Sent[]): Sent[] {
  return [...new Map(stored.map(metric => [`${metric.id} ${metric.timestamp}`, metric])).values()]
}

it('says that all is equal, and what differs, and pushes that again, once', async () => {
  let change = (stored: readonly Sent[]): readonly Sent[] => stored
  const { run, read, service, config } = await delivered(stored => ({ data: { metrics: change(stored) } }))
  expect(await run('verify')).toEqual({ code: 0, stdout: 'pool: 6 metrics compared, all equal\n', stderr: '' })
  const lost: Sent[] = []
  const isLost = ({ id, timestamp }: Sent) => id === 'pool___A' && timestamp === hours[1] && lost.length === 0
  change = stored => [
    ...stored
      .filter(metric => !isLost(metric))
      .map(one =>
        one.id === 'pool___B' && one.timestamp === hours[2] && lost.length === 0 ? { ...one, value: 8 } : one,
      ),
    { id: 'pool___C', value: 5, timestamp: hours[2] },
  ]
  const { code, stdout, stderr } = await run('verify')
  expect(code).toBe(1)
  expect(stdout.split('\n')).toEqual([
    'pool: 6 metrics compared: 1 missing at the service, 1 other value, 1 unknown here',
    expect.stringMatching(/^difference +metric +hour +delivered +shown$/),
    expect.stringMatching(new RegExp(`^missing at the service +pool___A +${hours[1]} +1 USD +–$`)),
    expect.stringMatching(new RegExp(`^other value +pool___B +${hours[2]} +9 +8$`)),
    expect.stringMatching(new RegExp(`^unknown here +pool___C +${hours[2]} +– +5$`)),
    '',
  ])
  expect(stderr).toBe(
    `  → tidegauge verify --config ${config} --repair pushes again what is not shown, or shown otherwise\n${unknown(config)}`,
  )
  service.remarks = metric => {
    lost.push(metric)
    return []
  }
  const repaired = await run('verify', '--repair')
  expect(repaired.stderr).toContain('2 metrics pushed again\n')
  expect(repaired).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('pool: 6 metrics compared: 1 unknown here\n'),
  })
  const again = service.stored.slice(6).map(({ id, timestamp }) => [id, timestamp])
  expect(again.sort()).toEqual([
    ['pool___A', hours[1]],
    ['pool___B', hours[2]],
  ])
  expect((await run('verify', '--repair')).stderr).toBe(`${unknown(config)}nothing to push again\n`)
  expect(service.stored).toHaveLength(8)
  expect(await read('verify', '--json')).toMatchObject({
    protocols: [
      {
        protocol: 'pool',
        comparable: true,
        compared: 6,
        notShown: 0,
        edgeMetrics: 0,
        differences: [{ kind: 'unknown' }],
      },
    ],
    pushedAgain: 0,
  })
})

it('knows that it lacks an hour that is a gap: that is no difference, and needs nothing', async () => {
  const { run, read, service, config } = await stage({ metrics, values: { A: 1, B: 9 } })
  for (const hour of [hours[0], hours[2]]) await run('backfill', '--from', hour, '--to', hour)
  const outbox = new SqliteOutbox(join(dirname(config), '../data/outbox.db'))
  atOnce(outbox, () => markGap('pool/given', parseHour(hours[1]), new Fault('hour-passed', 'it was not read in time')))
  outbox.close()
  const before = { id: 'pool___A', value: 5, timestamp: hours[1] }
  service.shows = () => ({ status: 200, body: { data: { metrics: [...service.stored, before] } } })
  const stdout = 'pool: 4 metrics compared, all equal; 1 metric shown of hours that are gaps here\n'
  expect(await run('verify')).toEqual({ code: 0, stdout, stderr: '' })
  expect(await read('verify', '--json')).toMatchObject({ protocols: [{ ofGaps: 1, differences: [] }] })
})

it('never says that all is equal where the answer cannot be read, or shows the latest alone', async () => {
  const { run, read, service } = await delivered(() => undefined)
  service.shows = () => ({ status: 200, body: { success: true, note: 'hello' } })
  expect(await run('verify', '--repair')).toEqual({
    code: 1,
    stdout: 'pool: cannot be compared: its answer has no list of metrics with timestamps\n',
    stderr: "nothing is pushed while the service's answer about pool cannot be read\n",
  })
  // A part of the answer that cannot be read would count as missing.
  const pushed = service.stored.length
  for (const timestamp of ['yesterday', null, {}]) {
    service.shows = () => ({
      status: 200,
      body: [
        { id: 'pool___A', value: 1, timestamp: hours[1] },
        { id: 'pool___B', timestamp },
      ],
    })
    expect((await run('verify', '--repair')).stderr).toMatch(/^nothing is pushed/)
  }
  expect(service.stored).toHaveLength(pushed)
  expect(await read('verify', '--json')).toMatchObject({ protocols: [{ protocol: 'pool', comparable: false }] })
  const latest = () => service.stored.filter(({ timestamp }) => timestamp === hours[2])
  service.shows = path => (path === '/api/metrics' ? { status: 404, body: {} } : { status: 200, body: latest() })
  expect(await run('verify')).toEqual({
    code: 0,
    stdout: 'pool: 2 metrics compared, all equal; 4 metrics not compared: the service does not show those hours\n',
    stderr: '',
  })
})

it('takes nothing for missing where a list of limited length ends within an hour, and pushes it again', async () => {
  const limited = (stored: readonly Sent[]) =>
    stored.toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : -1)).slice(0, 5)
  const { run, service, config } = await delivered(limited)
  const stdout = `pool: 5 metrics compared, all equal; 1 metric of ${hours[0]} not shown, where the service's list may end\n`
  const advice = `  → tidegauge verify --config ${config} --repair pushes again what is not shown, or shown otherwise\n`
  expect(await run('verify')).toEqual({ code: 0, stdout, stderr: advice })
  expect(await run('verify', '--repair')).toMatchObject({
    code: 0,
    stdout,
    stderr: expect.stringContaining('1 metric pushed again\n'),
  })
  expect(service.stored).toHaveLength(7)
})

it('pushes all again in one run, where the service has lost all but the newest', async () => {
  const { run, service } = await delivered(stored => stored)
  const isNewest = ({ id, timestamp }: Sent) => id === 'pool___A' && timestamp === hours[2]
  service.stored.push(...service.stored.splice(0).filter(isNewest))
  expect(await run('verify', '--repair')).toMatchObject({ code: 0, stdout: 'pool: 6 metrics compared, all equal\n' })
  expect(latestOf(service.stored)).toHaveLength(6)
})

it('pushes hours again that the service does not show, where the first one is named', async () => {
  const { run, service, config } = await delivered(stored => stored.filter(({ timestamp }) => timestamp === hours[2]))
  const advice = `  → where the service has lost hours that it does not show: tidegauge verify --config ${config} --repair --from HOUR pushes them again, too\n`
  expect((await run('verify', '--repair')).stderr).toBe(`${advice}nothing to push again\n`)
  expect(await run('verify', '--repair', '--from', hours[1])).toMatchObject({
    code: 0,
    stderr: '2 metrics pushed again\n',
  })
  expect(service.stored.slice(6).map(({ timestamp }) => timestamp)).toEqual([hours[1], hours[1]])
})

it('repairs the oldest hour that is shown, where only another metric of it is', async () => {
  let lost: Sent | undefined
  const { run, service } = await delivered(stored => stored.filter(metric => metric !== lost))
  lost = service.stored.find(({ id, timestamp }) => id === 'pool___A' && timestamp === hours[0])
  const { code, stdout } = await run('verify', '--repair')
  expect([code, stdout]).toEqual([0, 'pool: 6 metrics compared, all equal\n'])
  expect(service.stored.slice(6)).toMatchObject([{ id: 'pool___A', timestamp: hours[0] }])
})

it('refuses an unknown protocol', async () => {
  const { run } = await stage({ metrics, values: { A: 1, B: 9 } })
  expect(await run('verify', 'other')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no protocol is called "other"'),
  })
})
