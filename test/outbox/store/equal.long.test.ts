import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Dice, dice } from '../../../src/devchain/dice.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { type Metric, metricId } from '../../../src/model/metric.ts'
import type { CollectionOutcome } from '../../../src/outbox/contract/hours.ts'
import type { Accepted, MetricState } from '../../../src/outbox/contract/metrics.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import type { PostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openReadOnly } from '../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { postgresOutboxPlace } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { repetitions } from '../../support/soak.ts'
import { aPin } from '../support/blocks.ts'

const protocols = ['vault', 'market'] as const
const collectors = ['vault/a', 'vault/b', 'market/a'] as const
const steps = repetitions({ test: 150, soak: 2_000 })
/** Steps after which the rows of both stores are compared. */
const compared = 50

type Step = (outbox: Outbox) => Promise<unknown>

const fault = (dice: Dice) => new Fault('http-unreachable', `no answer in ${dice.whole(1, 9)} s`)

function oneOf<T>(dice: Dice, all: readonly [T, ...T[]]): T {
  return all[dice.whole(0, all.length - 1)] ?? all[0]
}

function anyHour(dice: Dice): Hour {
  return hourAfter(anHour, -dice.whole(0, 12))
}

function accepted(dice: Dice, collector: string, hour: Hour): Accepted[] {
  const [protocolId = ''] = collector.split('/')
  return Array.from({ length: dice.whole(0, 6) }, (): Accepted => {
    const unit = oneOf(dice, ['USD', 'USD', 'USD', undefined])
    const metric: Metric = {
      ...{ id: metricId(protocolId, `M${dice.whole(0, 7)}`), protocolId, hour },
      value: oneOf(dice, [0, -0, 0.1 + 0.2, dice.between(-1e300, 1e300), 5e-324, dice.whole(-3, 3)]),
      ...(unit !== undefined && { unit }),
      ...(dice.roll() < 0.1 && { module: 'tvl' }),
    }
    return dice.roll() < 0.15 ? { metric, hold: { kind: 'jump', reason: `${metric.value} is ‘odd’` } } : { metric }
  })
}

function outcome(dice: Dice): CollectionOutcome {
  const [collector, hour] = [oneOf(dice, collectors), anyHour(dice)]
  const isFailed = dice.roll() < 0.2
  return {
    ...{ collector, hour, acceptedValues: accepted(dice, collector, hour) },
    ...(dice.roll() < 0.5 && { mode: 'correct' as const }),
    ...(dice.roll() < 0.3 && { pins: [aPin(dice.whole(1, 3))] }),
    ...(dice.roll() < 0.3 && {
      provenance: { version: '1', code: `c${dice.whole(1, 3)}`, options: 'o', hosts: { 1: 'node' } },
    }),
    ...(isFailed && { failure: { fault: fault(dice), nextAttemptMs: dice.whole(1, 99) } }),
    ...(dice.roll() < 0.3 && { unexpected: true }),
  }
}

/** Things that may happen to an outbox, each the same for both stores. */
function stepOf(dice: Dice, nowMs: number): Step {
  const [collector, hour, share] = [oneOf(dice, collectors), anyHour(dice), dice.roll()]
  const selection = { state: oneOf(dice, ['dead', 'held'] as const), hour }
  const own = outcome(dice)
  const delivered: Step = ({ delivery }) => deliver(delivery, share, nowMs)
  const all: readonly [Step, ...Step[]] = [
    ({ intake }) => intake.record(own, nowMs),
    ({ intake }) => intake.planHours({ collector, current: anHour, oldest: hour, since: hour, gapReason: fault(dice) }),
    ({ intake }) => intake.recordGap(collector, hour, new Fault('chain-before-first-block', 'no block yet')),
    ({ intake }) => intake.endRetryWaits([collector]),
    ({ operators }) => operators.origin(collector, hour),
    ({ intake }) => intake.confirmPin(1, { collector, hour, block: aPin(1).block }),
    ({ operators }) => operators.expectHour(collector, hour, anHour),
    ({ operators }) => operators.release(selection, oneOf(dice, ['locked', 'changed'])),
    ({ operators }) => operators.drop(selection),
    ({ operators }) => operators.dropDue({ hour, ids: [metricId('vault', 'M1'), 'market'] }),
    ({ operators }) => operators.changeUnit({ id: metricId('vault', 'M2'), hour, unit: 'EUR' }),
    ({ operators }) => operators.resend(own.acceptedValues.map(({ metric }) => metric)),
    delivered,
    ({ delivery }) =>
      delivery.saveDestination('service', {
        ...{ notBeforeMs: nowMs, probeAtMs: 0, failures: 2, waiting: `it answers 50${dice.whole(1, 4)}` },
        lastPush: { atMs: nowMs, verdict: 'transient' },
      }),
  ]
  // Values come in and go out as often as all else happens.
  return dice.roll() < 0.6 ? oneOf(dice, [all[0], all[0], delivered]) : oneOf(dice, all)
}

async function deliver(delivery: Outbox['delivery'], share: number, nowMs: number): Promise<unknown> {
  const wanted = { protocolIds: protocols, newestFirstFrom: hourAfter(anHour, -2), latest: anHour }
  const due = await delivery.due(wanted, 15)
  const isDead = (place: number) => (place * share * 10) % 1 < 0.3
  await delivery.recordVerdicts(
    {
      delivered: due.filter((_, place) => !isDead(place)),
      dead: due
        .filter((_, place) => isDead(place))
        .map(metric => ({ metric, reason: 'no\0way', status: 400, attempts: 2 })),
      warnings: due.slice(0, 2).map(metric => ({ metric, text: 'the label is long' })),
    },
    nowMs,
  )
  return due
}

const tables = [
  ...['collector', 'provenance', 'collection', 'planned', 'backfill_failure', 'protocol', 'metric', 'description'],
  ...[
    'outbox',
    'tally',
    'detained',
    'correction',
    'earlier_value',
    'destination',
    'unsuccessful_flush',
    'warning',
    'pin',
  ],
  'metric_values',
]

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Columns that PostgreSQL alone has. */
const sharedOnly = ['lane', 'pace_tat']

function comparable(all: Rows): readonly string[] {
  const plain = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)
  return all
    .map(row => {
      const entries = Object.entries(row).filter(([name]) => !sharedOnly.includes(name))
      return JSON.stringify(entries.map(([name, value]) => [name, plain(value)]).sort())
    })
    .sort()
}

describe.skipIf(postgresPlace.kind === 'missing')('both stores (needs the program initdb)', () => {
  const databases = useTestDatabases()

  async function opened() {
    const file = join(temporaryFolder(), 'outbox.db')
    const [sqlite, place] = [new SqliteOutbox(file), await postgresOutboxPlace(databases)]
    const postgres = await place.open()
    onTestFinished(async () => {
      await sqlite.close()
      await postgres.close()
    })
    return { file, sqlite, postgres }
  }

  async function expectEqualRows(file: string, postgres: PostgresOutbox, when: string): Promise<void> {
    const database = openReadOnly(file)
    try {
      for (const table of tables) {
        const inFile = database.prepare<[], Readonly<Record<string, unknown>>>(`SELECT * FROM ${table}`).all()
        const inDatabase = await postgres.database.read(reading => reading.query(`SELECT * FROM tidegauge.${table}`))
        expect(comparable(inDatabase), `${table} ${when}`).toEqual(comparable(inFile))
      }
    } finally {
      database.close()
    }
  }

  it('answer the same and hold the same rows, whatever happens', async () => {
    const { file, sqlite, postgres } = await opened()
    const seed = Number(process.env['SEED'] ?? 1)
    for (const collector of collectors) {
      const plan = { collector, current: anHour, oldest: anHour, gapReason: new Fault('hour-too-old', 'old') }
      for (const outbox of [sqlite, postgres]) await outbox.intake.planHours(plan)
    }
    const met = new Set<MetricState>()
    for (let step = 1; step <= steps; step += 1) {
      const nowMs = anHour + step
      const answers: unknown[] = []
      for (const outbox of [sqlite, postgres]) answers.push(await stepOf(dice(seed * 10_000 + step), nowMs)(outbox))
      expect(answers[1], `step ${step} of seed ${seed}`).toEqual(answers[0])
      for (const { state } of await sqlite.operators.metrics(hourAfter(anHour, -12), anHour)) met.add(state)
      if (step % compared === 0 || step === steps)
        await expectEqualRows(file, postgres, `after step ${step} of seed ${seed}`)
    }
    expect([...met].sort(), 'all states were met').toEqual(['dead', 'delivered', 'due', 'held'])
  })

  it('show each value to a person in the view metric_values', async () => {
    const { file, sqlite, postgres } = await opened()
    const [one, other] = [
      { id: metricId('vault', 'TVL'), protocolId: 'vault', hour: anHour, value: 0.1 + 0.2, unit: 'USD' },
      { id: metricId('vault', 'Price'), protocolId: 'vault', hour: anHour, value: 7 },
    ]
    for (const { intake, delivery } of [sqlite, postgres]) {
      await intake.planHours({
        collector: 'vault/a',
        current: anHour,
        oldest: anHour,
        gapReason: new Fault('hour-too-old', ''),
      })
      const hold = { kind: 'bounds', reason: '7 is above 5' } as const
      await intake.record(
        { collector: 'vault/a', hour: anHour, acceptedValues: [{ metric: one }, { metric: other, hold }] },
        anHour + 61_000,
      )
      await delivery.recordVerdicts({ delivered: [one], dead: [], warnings: [] }, anHour + hourMs)
    }
    const database = openReadOnly(file)
    onTestFinished(() => void database.close())
    const shown = [
      {
        ...{ metric: 'vault___Price', hour: '2026-11-20T13:00:00Z', value: 7, unit: null, state: 'held' },
        ...{ collected_at: '2026-11-20T13:01:01Z', delivered_at: null, reason: '7 is above 5' },
      },
      {
        ...{ metric: 'vault___TVL', hour: '2026-11-20T13:00:00Z', value: 0.1 + 0.2, unit: 'USD', state: 'delivered' },
        ...{ collected_at: '2026-11-20T13:01:01Z', delivered_at: '2026-11-20T14:00:00Z', reason: null },
      },
    ]
    expect(database.prepare('SELECT * FROM metric_values ORDER BY metric').all()).toEqual(shown)
    const text = 'SELECT * FROM tidegauge.metric_values ORDER BY metric COLLATE "C"'
    expect(await postgres.database.read(reading => reading.query(text))).toEqual(shown)
  })
})
