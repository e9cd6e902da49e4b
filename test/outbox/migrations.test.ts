import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hourFromNumber, hourNumber } from '../../src/model/hour.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { migrations } from '../../src/outbox/schema/migrations.ts'
import { version1 } from '../../src/outbox/schema/version-1.ts'
import { version2 } from '../../src/outbox/schema/version-2.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour } from '../support/metrics.ts'
import { aBlock, aPin } from './support/blocks.ts'
import { contentsOf, flawsOf } from './support/contents.ts'

const first = hourNumber(anHour) - 3

/** A file as the first version left it: three protocols, every state, two units, a destination and warnings. */
function fileOfVersion1(): string {
  const file = join(temporaryFolder(), 'outbox.db')
  const database = openDatabase(file, [version1])
  database.exec(`
    INSERT INTO collector (id, name, since) VALUES (1, 'vault/a', ${first}), (2, 'market/b', ${first}), (3, 'idle/c', ${first});
    INSERT INTO metric (id, name, protocol, collector, unit, module) VALUES
      (1, 'vault___TVL', 'vault', 1, 'USD', NULL), (2, 'vault___Users', 'vault', 1, NULL, 'people'), (5, 'market___Price', 'market', 2, 'EUR', NULL);
    INSERT INTO collection (hour, collector, state, attempts, next_attempt_ms, fault) VALUES
      (${first}, 1, 1, 1, 0, NULL), (${first}, 2, 1, 2, 0, NULL),
      (${first + 1}, 1, 2, 0, 0, '{"code":"hour-passed","message":"passed","facts":{}}'), (${first + 2}, 1, 0, 3, 77, NULL);
    INSERT INTO outbox (hour, metric, state, value) VALUES
      (${first}, 1, 1, 1.5), (${first}, 2, 2, -2), (${first}, 5, 3, 3.25), (${first + 1}, 1, 0, 4), (${first + 1}, 5, 0, 0), (${first + 2}, 5, 1, 6);
    INSERT INTO detained (hour, metric, reason, at_ms) VALUES (${first}, 2, 'refused it', 11), (${first}, 5, 'odd', 12);
    INSERT INTO destination (name, failures, waiting, last_push_ms, last_verdict) VALUES ('service', 4, 'it is down', 9, 'transient');
    INSERT INTO warning (metric, text, count, first_ms, last_ms) VALUES ('vault___TVL', 'label is long', 3, 1, 2), ('', 'odd', 1, 5, 5);
  `)
  database.close()
  return file
}

describe('an outbox of the first version', () => {
  it('is brought forward with everything in it', () => {
    const file = fileOfVersion1()
    const outbox = new Outbox(file)
    onTestFinished(() => outbox.close())
    expect(outbox.tally.balance()).toEqual({ queued: 6, delivered: 2, due: 2, dead: 1, held: 1, dropped: 0 })
    const at = (count: number) => hourFromNumber(first + count)
    const due = outbox.due.read({ protocolIds: ['vault', 'market'], fresh: anHour, latest: anHour }, 10)
    expect(due).toEqual([
      { id: 'vault___TVL', protocolId: 'vault', hour: at(1), value: 4, unit: 'USD' },
      { id: 'market___Price', protocolId: 'market', hour: at(1), value: 0, unit: 'EUR' },
    ])
    expect(outbox.detained.list({ state: 'dead' })).toMatchObject([
      { id: 'vault___Users', kind: 'refused', reason: 'refused it', module: 'people', value: -2, sinceMs: 11 },
    ])
    expect(outbox.detained.list({ state: 'held' })).toMatchObject([
      { id: 'market___Price', reason: 'odd', unit: 'EUR' },
    ])
    expect(outbox.destinations.get('service')).toEqual({
      ...{ notBeforeMs: 0, probeAtMs: 0, failures: 4, waiting: 'it is down' },
      lastPush: { atMs: 9, verdict: 'transient' },
    })
    expect(outbox.warnings.all().map(({ metricId, count }) => [metricId, count])).toEqual([
      [undefined, 1],
      ['vault___TVL', 3],
    ])
    expect(
      outbox.collections.between(at(0), at(2)).map(({ collector, state, attempts }) => [collector, state, attempts]),
    ).toEqual([
      ['market/b', 'collected', 2],
      ['vault/a', 'collected', 1],
      ['vault/a', 'gap', 0],
      ['vault/a', 'due', 3],
    ])
  })

  it('is sound afterwards, and goes on: its units stay pinned, its rows are settled', async () => {
    const file = fileOfVersion1()
    const outbox = new Outbox(file)
    expect(outbox.metrics.past('market___Price', anHour)).toEqual({ unit: 'EUR', previous: 6 })
    const due = outbox.due.read({ protocolIds: ['vault', 'market'], fresh: anHour, latest: anHour }, 10)
    outbox.settle({ delivered: due, dead: [], warnings: [] }, 20)
    expect(await outbox.detained.release({ state: 'held' }, 'pinned')).toBe(1)
    outbox.close()
    expect(flawsOf(file)).toEqual([])
    expect([...contentsOf(file).rows.values()].filter(({ state }) => state === 1)).toHaveLength(4)
  })

  it('is left whole when it cannot be brought forward', () => {
    const file = fileOfVersion1()
    const broken = { name: 'broken', sql: 'DROP TABLE detained; DROP TABLE outbox; SELECT 1 FROM nowhere;' }
    const before = dump(file)
    expect(() => openDatabase(file, [version1, broken])).toThrow(/nowhere/)
    expect(dump(file)).toEqual(before)
    new Outbox(file).close()
    expect(contentsOf(file).rows.size).toBe(6)
  })
})

/** A file as the second version left it: an hour counted, one pruned but for a dead metric, a gap. */
function fileOfVersion2(): string {
  const file = join(temporaryFolder(), 'outbox.db')
  const database = openDatabase(file, [version1, version2])
  database.exec(`
    INSERT INTO collector (id, name, since) VALUES (1, 'vault/a', ${first});
    INSERT INTO protocol (id, name) VALUES (1, 'vault');
    INSERT INTO metric (id, name, protocol, collector) VALUES (1, 'vault___TVL', 1, 1), (2, 'vault___Users', 1, 1);
    INSERT INTO description (metric, since, unit) VALUES (1, ${first}, 'USD'), (2, ${first}, NULL);
    INSERT INTO collection (hour, collector, state, attempts, fault, metrics, digest) VALUES
      (${first}, 1, 1, 1, NULL, 2, 77), (${first + 1}, 1, 2, 1, '{"code":"hour-passed","message":"passed","facts":{}}', 0, 0),
      (${first + 2}, 1, 0, 0, NULL, 0, 0);
    INSERT INTO outbox (hour, metric, protocol, state, value) VALUES (${first}, 1, 1, 1, 1.5), (${first}, 2, 1, 0, 2);
    INSERT INTO tally (protocol, state, metrics) VALUES (1, 0, 1), (1, 1, 1);
  `)
  database.close()
  return file
}

describe('an outbox of the second version', () => {
  it('is brought forward with everything in it, and takes pins, final blocks and corrections', async () => {
    const file = fileOfVersion2()
    const outbox = new Outbox(file)
    const hour = hourFromNumber(first)
    expect(outbox.tally.balance()).toMatchObject({ queued: 2, delivered: 1, due: 1 })
    expect([...outbox.collections.states('vault/a', hour, anHour).values()]).toEqual(['collected', 'gap', 'due'])
    expect(outbox.collections.gaps()).toMatchObject([{ hours: 1, fault: { code: 'hour-passed' } }])
    expect([outbox.pins.count(), outbox.finalBlocks(1).of(hour)]).toEqual([0, undefined])
    const metric = { id: 'vault___TVL', protocolId: 'vault', hour, value: 9, unit: 'USD' } as const
    const outcome = { collector: 'vault/a', hour, accepted: [{ metric }], pins: [aPin(3)], mode: 'correct' } as const
    expect(await outbox.recordCollection(outcome, 1)).toEqual({ corrected: 1, added: 0 })
    outbox.finalBlocks(1).keep([{ hour, block: aBlock(3) }])
    expect([outbox.pins.count(), outbox.isCorrection(metric)]).toEqual([1, true])
    outbox.close()
    expect(flawsOf(file)).toEqual([])
    expect(contentsOf(file).rows.get(`${first} vault___TVL`)).toMatchObject({ state: 0, value: 9, unit: 'USD' })
  })
})

it('an outbox of a newer version is refused, and not touched', () => {
  const file = join(temporaryFolder(), 'outbox.db')
  new Outbox(file).close()
  const database = openDatabase(file, migrations)
  database.pragma(`user_version = ${migrations.length + 1}`)
  database.close()
  const before = readFileSync(file)
  expect(() => new Outbox(file)).toThrow(
    expect.objectContaining({
      code: 'outbox-unusable',
      fix: 'run the version of tidegauge that wrote it, or a newer one',
    }),
  )
  expect(readFileSync(file).equals(before)).toBe(true)
})

/** Every row of a file of the first version, by table. */
function dump(file: string): unknown {
  const database = openDatabase(file, [version1])
  const tables = ['collector', 'metric', 'collection', 'outbox', 'detained', 'destination', 'warning']
  const rows = tables.map(table => database.prepare(`SELECT * FROM ${table}`).all())
  database.close()
  return rows
}
