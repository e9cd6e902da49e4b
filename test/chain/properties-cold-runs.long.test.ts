import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { Backfill } from '../../src/intake/backfill/backfill.ts'
import { type HourOrder, workOf } from '../../src/intake/backfill/work.ts'
import { hourAfter, hourAt, hoursFrom, parseHour } from '../../src/model/hour.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { contentsOf } from '../outbox/support/contents.ts'
import { collector, pipelineOn } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { repetitions } from '../support/soak.ts'
import { node } from './support/readers.ts'
import { syntheticArchive } from './support/synthetic-archive.ts'
import { syntheticKinds } from './support/synthetic-kinds.ts'
import { openSyntheticReader } from './support/synthetic-reader.ts'
import { labels, PlainRunner } from './support/synthetic-runner.ts'

const days = repetitions({ test: 3, soak: 30 })
const from = parseHour('2024-05-10T00:00:00Z')
const to = hourAfter(from, days * 24 - 1)
const collectors = [collector('five-0'), collector('five-1', { protocolId: 'other' })]

/** A value by the bits of its number. */
function bits(value: number): string {
  return Buffer.from(new Float64Array([value]).buffer).toString('hex')
}

/** A fresh outbox filled over the days by a reader that knows nothing. */
async function coldRun(url: string, order: HourOrder, concurrency: number) {
  const file = join(temporaryFolder(), 'outbox.db')
  const outbox = new SqliteOutbox(file)
  onTestFinished(() => outbox.close())
  const reader = openSyntheticReader(url, systemTime, outbox.intake.finalBlocks(1))
  onTestFinished(() => reader.close())
  const runner = new PlainRunner(reader)
  const asked = { from, to, current: hourAt(systemTime.nowMs()), what: 'missing', daemon: 'none' } as const
  const description = await runner.describe()
  if (description.kind !== 'usable') throw new Error('the collectors cannot be used')
  const end = await new Backfill({
    outbox,
    pipeline: pipelineOn(runner, systemTime, { chains: [{ id: 1, settleMs: 0 }] }),
    time: systemTime,
    works: collectors.map(each => workOf(each, description, asked, new Map())),
    asked,
    order,
    concurrency,
    signal: new AbortController().signal,
    report: () => {},
  }).run()
  expect(end).toMatchObject({ left: 0, failures: [] })
  const rows = [...contentsOf(file).rows.values()].map(({ hour, id, value }) => `${hour} ${id} ${bits(value)}`)
  const finalBlocks = outbox.intake.finalBlocks(1)
  return { rows: rows.sort(), blocks: await Promise.all(hoursFrom(from, to).map(hour => finalBlocks.of(hour))) }
}

describe(`two cold runs over ${days} days`, () => {
  it('give the same bytes and the same blocks, in whatever order and however many hours together', async () => {
    const archive = syntheticArchive(syntheticKinds.bumpy())
    archive.head = archive.chain.asOf(systemTime.nowMs() / 1_000)
    const { url } = await node(archive.behaviour)
    const one = await coldRun(url, 'oldest-first', 200)
    const other = await coldRun(url, 'newest-first', 37)
    expect(one.rows).toHaveLength(days * 24 * collectors.length * labels.length)
    expect(other.rows).toEqual(one.rows)
    expect(other.blocks).toEqual(one.blocks)
    const truth = hoursFrom(from, to).map(hour => archive.chain.asOf(hour / 1_000))
    expect(one.blocks.map(block => Number(block?.number))).toEqual(truth)
  })
})
