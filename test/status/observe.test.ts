import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CollectorConfig, Config, ProtocolConfig } from '../../src/config/config.ts'
import { dice } from '../../src/devchain/dice.ts'
import { Fault } from '../../src/model/fault.ts'
import { type Hour, hourAfter, hourText } from '../../src/model/hour.ts'
import { hourMs, overdueMs } from '../../src/model/limits.ts'
import type { Metric } from '../../src/model/metric.ts'
import type { Accepted } from '../../src/outbox/contract/metrics.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { exposition } from '../../src/status/exposition/exposition.ts'
import { snapshotFamilies } from '../../src/status/exposition/families.ts'
import { observe, scrape } from '../../src/status/observe.ts'
import { readiness } from '../../src/status/readiness.ts'
import type { HourGrid, Snapshot } from '../../src/status/snapshot.ts'
import { type Observed, Reloads } from '../../src/status/sources.ts'
import { Counters } from '../../src/telemetry/counters.ts'
import { slowOutbox, someTurns } from '../outbox/support/slow-outbox.ts'
import { collector } from '../support/collectors.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { addCollectorNow, expectEach, markFailed } from '../support/stored-hours.ts'

const snapshotText = (scrape: Parameters<typeof snapshotFamilies>[0]) => exposition(snapshotFamilies(scrape))

const { roll: chance } = dice(10)

const place = { file: 'tidegauge.yaml', line: 1, column: 1 }

function protocol(id: string, collectors: readonly CollectorConfig[]): ProtocolConfig {
  return { id, name: `The ${id}`, register: false, collectors, place }
}

function configOf(protocols: readonly ProtocolConfig[]): Config {
  return {
    file: 'tidegauge.yaml',
    includes: [],
    digest: 'd1',
    service: { kind: 'embedded' },
    data: { kind: 'folder', folder: 'data' },
    fleet: {},
    collect: { deadlineMs: 60_000, catchUpMs: 7 * 24 * 3_600_000 },
    delivery: { timeoutMs: 10_000, inFlight: 4, pacePerSecond: 5 },
    outbox: { keepMs: 35 * 24 * 3_600_000 },
    status: { host: '127.0.0.1', port: 0, hosts: [], ready: 'late' },
    log: { level: 'info' },
    chains: [],
    prices: [],
    lists: [],
    notify: [],
    protocols,
  }
}

/** One configured collector, `vault/c`, on a real outbox that answers late; started long before `anHour` unless it says otherwise. */
class Bench {
  readonly outbox = new SqliteOutbox(join(temporaryFolder(), 'outbox.db'))
  config = configOf([protocol('vault', [collector('c')])])
  startedAtMs = anHour - 5 * hourMs
  nowMs = anHour + overdueMs
  widgets: Observed['widgets'] = new Map()
  readonly reloads = new Reloads({ file: 'tidegauge.yaml', digest: 'd1' }, this.startedAtMs)
  clock: Observed['clock']
  /** Called before each look into the outbox, and after it. */
  pause = (): Promise<void> => someTurns(chance)

  #done: Promise<unknown> = Promise.resolve()

  constructor() {
    onTestFinished(() => this.outbox.close())
    addCollectorNow(this.outbox, 'vault/c', anHour)
  }

  /** Steps are done one after the other, before the next look. */
  #step(step: () => unknown): this {
    this.#done = this.#done.then(step)
    return this
  }

  expect(hour: Hour = anHour, name = 'vault/c'): this {
    return this.#step(() => expectEach(this.outbox, name, [hour]))
  }

  collect(accepted: readonly Accepted[], hour: Hour = anHour, name = 'vault/c'): this {
    return this.expect(hour, name).#step(() =>
      this.outbox.intake.record({ collector: name, hour, acceptedValues: accepted }, hour),
    )
  }

  fail(hour: Hour = anHour): this {
    const fault = new Fault('chain-unreachable', 'no node answers')
    return this.expect(hour).#step(() => markFailed(this.outbox, 'vault/c', hour, fault, hour + 1))
  }

  gap(hour: Hour = anHour): this {
    const fault = new Fault('chain-before-first-block', 'no block yet')
    return this.expect(hour).#step(() => this.outbox.intake.recordGap('vault/c', hour, fault))
  }

  deliver(delivered: readonly Metric[]): this {
    return this.#step(() => this.outbox.delivery.recordVerdicts({ delivered, dead: [], warnings: [] }, this.nowMs))
  }

  refuse(refused: readonly Metric[]): this {
    const dead = refused.map(metric => ({ metric, reason: 'never', attempts: 1 }))
    return this.#step(() => this.outbox.delivery.recordVerdicts({ delivered: [], dead, warnings: [] }, this.nowMs))
  }

  waits(waiting: string, skewMs?: number): this {
    const state = { notBeforeMs: 0, probeAtMs: 0, failures: 1, waiting, ...(skewMs !== undefined && { skewMs }) }
    return this.#step(() => this.outbox.delivery.saveDestination('service', state))
  }

  get observed(): Observed {
    const outbox = slowOutbox(this.outbox, () => this.pause())
    const { config, startedAtMs, nowMs, widgets, reloads, clock } = this
    return {
      config,
      outbox,
      host: 'metrics.example',
      destinations: ['service'],
      version: '1',
      startedAtMs,
      processStartedAtMs: reloads.startedAtMs,
      configuration: reloads.state,
      nowMs,
      widgets,
      endpoints: [],
      ...(clock && { clock }),
    }
  }

  async reasons(): Promise<readonly string[]> {
    await this.#done
    const { ok, reasons } = await readiness(this.observed)
    expect(ok).toBe(reasons.length === 0)
    return reasons
  }

  async snapshot() {
    await this.#done
    const snapshot = await observe(this.observed)
    // A scrape reads no values, and says the same of every hour.
    const { hours, ready, balance } = await scrape({ ...this.observed, counters: new Counters() })
    expect({ ready, balance, hours: statesOf(hours) }).toEqual({ ...pick(snapshot), hours: statesOf(snapshot.hours) })
    return snapshot
  }
}

/** Lines of the exposition that give an age, in hours, by name and labels. */
async function agesOf(observed: Observed): Promise<Record<string, number>> {
  const lines =
    snapshotText(await scrape({ ...observed, counters: new Counters() })).match(/^.*_age_seconds{.*$/gm) ?? []
  return Object.fromEntries(lines.map(line => [line.split(' ')[0], Number(line.split(' ')[1]) / 3_600]))
}

const deliveredAge = 'tidegauge_collector_delivered_age_seconds{protocol="vault",collector="vault/c"}'
const oldestAge = (state: string) => `tidegauge_oldest_hour_age_seconds{state="${state}"}`

const pick = ({ ready, balance }: Snapshot) => ({ ready, balance })
const statesOf = ({ hours, rows }: HourGrid) => ({
  hours,
  rows: rows.map(({ cells, ...row }) => ({ ...row, cells: cells.map(({ state }) => state) })),
})

const odd = { kind: 'bounds', reason: 'odd' } as const

const accept = (count: number, hour?: Hour, protocolId?: string): Accepted[] =>
  metrics(count, hour, protocolId).map(metric => ({ metric }))

describe('readiness', () => {
  it('is green when the newest late hour is collected and delivered', async () => {
    const bench = new Bench().collect(accept(2)).deliver(metrics(2))
    expect(await bench.reasons()).toEqual([])
  })

  it('is red while a changed configuration is refused, until one is taken', async () => {
    const bench = new Bench().collect(accept(2)).deliver(metrics(2))
    bench.reloads.refused('tidegauge.yaml:6:5: "colectors" is not a key here', Date.UTC(2026, 10, 20, 13, 1))
    expect(await bench.reasons()).toEqual([
      'tidegauge.yaml was changed and has been refused since 2026-11-20T13:01:00Z. The previous configuration stays in force until it is mended: tidegauge.yaml:6:5: "colectors" is not a key here',
    ])
    bench.reloads.taken({ file: 'tidegauge.yaml', digest: 'd2' }, Date.UTC(2026, 10, 20, 13, 2))
    expect(await bench.reasons()).toEqual([])
  })

  it('is red for an hour that is not collected a quarter of an hour after its turn, not before', async () => {
    const bench = new Bench().collect([], hourAfter(anHour, -1)).fail()
    bench.nowMs = anHour + overdueMs - 1
    expect(await bench.reasons()).toEqual([])
    bench.nowMs += 1
    expect(await bench.reasons()).toEqual([
      `vault/c has not collected the hour ${hourText(anHour)}: no node answers. Next try within 10 min.`,
    ])
  })

  it('is red for a metric that is not delivered by then, and says why delivery waits', async () => {
    const bench = new Bench().collect(accept(2)).deliver(metrics(1))
    bench.nowMs = anHour + overdueMs - 1
    await expectEach(bench.outbox, 'vault/c', [hourAfter(anHour, -1)])
    await bench.outbox.intake.record({ collector: 'vault/c', hour: hourAfter(anHour, -1), acceptedValues: [] }, 1)
    expect(await bench.reasons()).toEqual([])
    bench.nowMs += 1
    const sentence = `1 metric is not delivered to metrics.example, the oldest of ${hourText(anHour)}.`
    expect(await bench.reasons()).toEqual([`${sentence} Nothing is lost; delivery goes on.`])
    bench.waits('503')
    expect(await bench.reasons()).toEqual([`${sentence} 503. Nothing is lost, and it is tried again.`])
  })

  it('is red for an hour that is no row at all', async () => {
    const bench = new Bench().collect([], hourAfter(anHour, -1))
    expect(await bench.reasons()).toEqual([
      expect.stringMatching(/^vault\/c was not asked for the hour .* not even planned/),
    ])
    bench.nowMs = anHour + overdueMs - 1
    expect(await bench.reasons()).toEqual([])
  })

  it('tells only of the clock where none is watched and the service was asked', async () => {
    const bench = new Bench().collect([], hourAfter(anHour, -1)).waits('', -3 * hourMs)
    expect(await bench.reasons()).toEqual([expect.stringMatching(/^This machine's clock is 3 h ahead/)])
  })

  it('expects nothing of a collector that starts later', async () => {
    const bench = new Bench()
    bench.config = configOf([protocol('vault', [collector('late', { since: hourAfter(anHour, 1) })])])
    expect(await bench.reasons()).toEqual([])
    bench.nowMs += hourMs
    expect(await bench.reasons()).toEqual([expect.stringContaining('vault/late')])
  })

  it('is red for a gap of the newest late hour, not for older ones', async () => {
    const bench = new Bench().gap()
    expect(await bench.reasons()).toEqual([
      expect.stringMatching(/can no longer be collected: no block yet\. What can be mended\? tidegauge gaps$/),
    ])
    bench.collect([], hourAfter(anHour, 1))
    bench.nowMs += hourMs
    expect(await bench.reasons()).toEqual([])
  })

  it.each([
    {
      what: 'dead metrics',
      cause: 'dead',
      bench: () => new Bench().collect(accept(3)).deliver(metrics(1)).refuse(metrics(3).slice(1)),
      sentence: `metrics.example refused 2 metrics of ${hourText(anHour)} for good. Decide: tidegauge dead ls`,
    },
    {
      what: 'held values',
      cause: 'held',
      bench: () => new Bench().collect(accept(1).map(({ metric }) => ({ metric, hold: odd }))),
      sentence: `1 value of ${hourText(anHour)} looks wrong and was not sent. Decide: tidegauge held ls`,
    },
  ])(
    'warns of $what of the newest late hour, and is red for them only when it is strict',
    async ({ bench: make, cause, sentence }) => {
      const bench = make()
      expect(await bench.reasons()).toEqual([])
      expect(await readiness(bench.observed)).toEqual({ ok: true, reasons: [], warnings: [sentence] })
      bench.config = { ...bench.config, status: { ...bench.config.status, ready: 'strict' } }
      expect(await readiness(bench.observed)).toEqual({ ok: false, reasons: [sentence], causes: [cause] })
      bench.collect([], hourAfter(anHour, 1))
      bench.nowMs += hourMs
      expect(await bench.reasons()).toEqual([])
    },
  )
})

describe('readiness after a start', () => {
  function justStarted(): Bench {
    const bench = new Bench()
    bench.startedAtMs = bench.nowMs - overdueMs + 1
    return bench
  }

  it('is green while hours are merely caught up, and red when they still are a quarter of an hour later', async () => {
    const bench = justStarted().collect(accept(1), hourAfter(anHour, -1)).expect()
    addCollectorNow(bench.outbox, 'vault/d', anHour)
    bench.config = configOf([protocol('vault', [collector('c'), collector('d')])])
    expect(await bench.reasons()).toEqual([])
    bench.nowMs += 1
    expect(await bench.reasons()).toEqual([
      expect.stringContaining('vault/c has not collected'),
      expect.stringContaining('vault/d was not asked for the hour'),
      expect.stringContaining('1 metric is not delivered'),
    ])
  })
})

describe('readiness of a protocol that is no longer configured', () => {
  it.each([
    ['an hour that is not collected', (bench: Bench) => bench.fail()],
    ['an hour that was not planned', (bench: Bench) => bench],
    ['a gap', (bench: Bench) => bench.gap()],
    ['a metric that is not delivered', (bench: Bench) => bench.collect(accept(1))],
  ])('is not red for %s', async (_, happens) => {
    const bench = happens(new Bench())
    expect(await bench.reasons()).toHaveLength(1)
    addCollectorNow(bench.outbox, 'other/c', anHour)
    bench.collect([], anHour, 'other/c')
    bench.config = configOf([protocol('other', [collector('c', { protocolId: 'other' })])])
    expect(await bench.reasons()).toEqual([])
  })
})

describe('the hours of a snapshot', () => {
  const only = ([metric]: readonly Metric[]) => (metric ? [metric] : [])

  it.each([
    ['unexpected', (bench: Bench) => bench, 0],
    ['due', (bench: Bench) => bench.expect(), 0],
    ['due', (bench: Bench) => bench.fail(), 1],
    ['gap', (bench: Bench) => bench.gap(), 1],
    ['collected', (bench: Bench) => bench.collect(accept(2)).deliver(only(metrics(2))), 1],
    ['delivered', (bench: Bench) => bench.collect(accept(2)).deliver(metrics(2)), 1],
    ['dead', (bench: Bench) => bench.collect(accept(3)).refuse(only(metrics(3))), 1],
    ['held', (bench: Bench) => bench.collect(accept(2).map(entry => ({ ...entry, hold: odd }))), 1],
    ['delivered', (bench: Bench) => bench.collect([]), 1],
  ])('have a cell that is %s', async (state, happens, attempts) => {
    const { hours } = await happens(new Bench()).snapshot()
    expect(hours.hours).toHaveLength(48)
    expect(hours.hours.at(-1)).toBe(anHour)
    expect(hours.rows[0]?.cells.at(-1)).toMatchObject({ state, attempts })
    expect(hours.rows[0]?.cells.slice(0, -1).every(cell => cell.state === 'unexpected')).toBe(true)
  })

  it('say the worst that is true: dead before held before due', async () => {
    const [a, b, c] = metrics(3)
    if (!a || !b || !c) throw new Error('three')
    const bench = new Bench().collect([{ metric: a }, { metric: b, hold: odd }, { metric: c }])
    const last = async () => (await bench.snapshot()).hours.rows[0]?.cells.at(-1)?.state
    expect(await last()).toBe('held')
    bench.refuse([a])
    expect(await last()).toBe('dead')
  })

  it('keep the fault of an hour that failed', async () => {
    const { hours } = await new Bench().fail().snapshot()
    expect(hours.rows[0]?.cells.at(-1)?.fault).toMatchObject({ code: 'chain-unreachable', message: 'no node answers' })
  })
})

describe('the widget of a snapshot', () => {
  it('has the outbox’s values while the service was not read, and a curve with holes', async () => {
    const bench = new Bench().collect(accept(2)).collect(accept(2, hourAfter(anHour, -2)), hourAfter(anHour, -2))
    const [state] = (await bench.snapshot()).protocols
    expect(state).toMatchObject({ id: 'vault', name: 'The vault' })
    expect(state?.readAtMs).toBeUndefined()
    const second = state?.metrics.find(({ id }) => id === 'vault___M1')
    expect(second).toMatchObject({ label: 'M1', value: 1, unit: 'USD', hour: anHour })
    expect(second?.curve).toHaveLength(48)
    expect(second?.curve.slice(-4)).toEqual([null, 1, null, 1])
    expect(second?.curve.slice(0, -4).every(value => value === null)).toBe(true)
    expect(second, 'the hour before is a hole').not.toHaveProperty('change1h')
  })

  it('has a hole in the curve where a value is held', async () => {
    const hour = hourAfter(anHour, -1)
    const bench = new Bench().collect(accept(1, hour)).collect(accept(1).map(entry => ({ ...entry, hold: odd })))
    const [metric] = (await bench.snapshot()).protocols[0]?.metrics ?? []
    expect(metric).toMatchObject({ state: 'held', value: 0 })
    expect(metric?.curve.slice(-3)).toEqual([null, 0, null])
  })

  it('has changes of the outbox’s values while the service was not read', async () => {
    const bench = new Bench()
    for (const [back, value] of [
      [0, 7],
      [1, 5],
      [24, 10],
    ] as const) {
      const hour = hourAfter(anHour, -back)
      bench.collect(
        accept(1, hour).map(({ metric }) => ({ metric: { ...metric, value } })),
        hour,
      )
    }
    const [state] = (await bench.snapshot()).protocols
    expect(state?.metrics).toMatchObject([{ id: 'vault___M0', value: 7, change1h: 2, change24h: -3 }])
  })

  it('has the service’s values and changes once it was read, also of metrics the outbox does not know', async () => {
    const bench = new Bench().collect(accept(1))
    const timestamp = hourText(hourAfter(anHour, -1))
    const read = [
      { id: 'vault___M0', value: 42, unit: 'EUR', change1h: 1.5, change24h: null, timestamp },
      { id: 'vault___Elsewhere', value: 7, timestamp },
    ]
    bench.widgets = new Map([['vault', { atMs: 5, metrics: read }]])
    const [state] = (await bench.snapshot()).protocols
    expect(state?.readAtMs).toBe(5)
    const [own, elsewhere] = state?.metrics ?? []
    expect(own).toMatchObject({ id: 'vault___M0', value: 42, unit: 'EUR', change1h: 1.5, hour: hourAfter(anHour, -1) })
    expect(own).not.toHaveProperty('change24h')
    expect(own?.curve.at(-1)).toBe(0)
    expect(elsewhere).toMatchObject({ id: 'vault___Elsewhere', label: 'Elsewhere', value: 7 })
    expect(elsewhere?.curve).toEqual(Array.from({ length: 48 }, () => null))
  })
})

describe('a collector without a value', () => {
  const why = async (bench: Bench) => {
    const [state] = (await bench.snapshot()).protocols
    return state?.withoutValue?.map(({ reason }) => reason)
  }

  it('says why, as far as that is known now', async () => {
    const bench = new Bench()
    const first = hourAfter(anHour, 30)
    bench.config = configOf([protocol('vault', [collector('c'), { ...collector('later'), since: first }])])
    const none = 'None of its hours is due yet'
    expect(await why(bench)).toEqual([`${none}.`, `${none}: the first is ${hourText(first)}.`])
    expect((await why(bench.expect()))?.[0]).toBe('Its hour is due, and not collected yet.')
    bench.clock = { kind: 'doubted', why: 'unconfirmed', reason: 'this clock is unconfirmed' }
    expect(await why(bench)).toEqual(Array(2).fill('This clock is unconfirmed.'))
    vi.spyOn(bench.outbox.health, 'fullSentence', 'get').mockReturnValue('the disk is full')
    expect(await why(bench)).toEqual(Array(2).fill('The disk is full.'))
    expect((await why(bench.fail()))?.[0], 'what it met itself is the first').toBe('no node answers')
  })

  it('says what the service has answered about a protocol’s widget', async () => {
    const bench = new Bench()
    bench.widgets = new Map([['vault', { unread: 'metrics.example knows no protocol "vault"' }]])
    const [state] = (await bench.snapshot()).protocols
    expect(state).toMatchObject({ unread: 'metrics.example knows no protocol "vault"' })
    expect(state).not.toHaveProperty('readAtMs')
  })
})

describe('the balance of a snapshot', () => {
  it('adds up at every step, also with metrics of protocols that are gone', async () => {
    const bench = new Bench()
    const steps: (() => unknown)[] = [
      () => bench.collect(accept(5)),
      () =>
        bench.collect(
          accept(1, hourAfter(anHour, -1)).map(entry => ({ ...entry, hold: odd })),
          hourAfter(anHour, -1),
        ),
      () => bench.deliver(metrics(2)),
      () => bench.refuse(metrics(3)),
      () => bench.deliver(metrics(5)),
      () => {
        bench.config = configOf([])
      },
    ]
    for (const step of steps) {
      step()
      const { enqueued, delivered, dead, held, due } = (await bench.snapshot()).balance
      expect(delivered + dead + held + due).toBe(enqueued)
    }
    const { balance } = await bench.snapshot()
    expect(balance).toMatchObject({ enqueued: 6, delivered: 4, dead: 1, held: 1, due: 0, dropped: 0 })
  })
})

describe('a snapshot', () => {
  it.each([
    { when: 'before', pause: 1, seen: { isReady: true, due: 0 } },
    { when: 'after', pause: 2, seen: { isReady: false, due: 2 } },
  ])(
    'has readiness and counts of one instant when metrics are delivered right $when the look',
    async ({ pause, seen }) => {
      const bench = new Bench().collect(accept(2))
      await bench.reasons()
      let pauses = 0
      bench.pause = async () => {
        pauses += 1
        if (pauses === pause) await bench.deliver(metrics(2)).reasons()
      }
      const { ready, balance } = await observe(bench.observed)
      expect({ isReady: ready.ok, due: balance.due }).toEqual(seen)
      expect(pauses).toBeGreaterThanOrEqual(2)
    },
  )
})

describe('the week', () => {
  it('joins hours of one state and reason, whatever the numbers in it, and says why', async () => {
    const bench = new Bench()
    bench.nowMs = hourAfter(anHour, 5)
    bench.collect(accept(2)).deliver(metrics(2))
    bench.gap(hourAfter(anHour, 1)).gap(hourAfter(anHour, 2)).fail(hourAfter(anHour, 3))
    const next = hourAfter(anHour, 4)
    bench.collect(
      metrics(1, next).map(metric => ({ metric, hold: odd })),
      next,
    )
    const { week } = await bench.snapshot()
    expect(week).toMatchObject({ from: hourAfter(anHour, -162), to: hourAfter(anHour, 5) })
    expect(week.rows).toHaveLength(1)
    expect(week.rows[0]?.runs).toEqual([
      { from: week.from, hours: 162, state: 'unexpected' },
      { from: anHour, hours: 1, state: 'delivered' },
      {
        from: hourAfter(anHour, 1),
        hours: 2,
        state: 'gap',
        attempts: 1,
        fault: expect.objectContaining({ code: 'chain-before-first-block' }),
      },
      {
        from: hourAfter(anHour, 3),
        hours: 1,
        state: 'due',
        attempts: 1,
        fault: expect.objectContaining({ code: 'chain-unreachable' }),
      },
      { from: next, hours: 1, state: 'held', reason: odd.reason },
      { from: hourAfter(anHour, 5), hours: 1, state: 'unexpected' },
    ])
  })

  it('marks a collector, its metrics and a protocol that were removed, and what they left due', async () => {
    const bench = new Bench().collect(accept(2)).deliver(metrics(1))
    bench.config = configOf([protocol('vault', [collector('other')]), protocol('market', [])])
    const kept = await bench.snapshot()
    expect(kept.week.rows.map(({ collector, isRemoved }) => [collector, isRemoved])).toEqual([
      ['vault/other', undefined],
      ['vault/c', true],
    ])
    expect(kept.protocols.map(({ id, isRemoved }) => [id, isRemoved])).toEqual([
      ['vault', undefined],
      ['market', undefined],
    ])
    expect(kept.protocols[0]?.metrics.map(({ isRemoved }) => isRemoved)).toEqual([true, true])
    bench.config = configOf([protocol('market', [])])
    const gone = await bench.snapshot()
    expect(gone.protocols.map(({ id, isRemoved }) => [id, isRemoved])).toEqual([
      ['market', undefined],
      ['vault', true],
    ])
    expect(gone.backlog.byProtocol).toEqual([{ protocolId: 'vault', due: 1, isRemoved: true }])
    bench.nowMs = hourAfter(anHour, 24 * 8)
    expect((await bench.snapshot()).week.rows).toEqual([])
  })
})

it('a gate says until when it holds pushes back', async () => {
  const bench = new Bench()
  const state = {
    notBeforeMs: bench.nowMs + 9,
    probeAtMs: bench.nowMs - 1,
    failures: 2,
    waiting: 'the service is down',
  }
  await bench.outbox.delivery.saveDestination('service', state)
  const { gates } = (await bench.snapshot()).service
  const gate = {
    destination: 'service',
    waiting: 'The service is down. Nothing is lost, and it is tried again.',
    retryAfterUntilMs: bench.nowMs + 9,
    failures: 2,
  }
  expect(gates).toEqual([gate])
  bench.nowMs += 9
  await bench.outbox.delivery.saveDestination('service', { notBeforeMs: 0, probeAtMs: 0, failures: 0 })
  expect((await bench.snapshot()).service.gates).toEqual([])
})

it.each([
  ['key-missing', { failures: 1, cure: 'key', lastPush: { atMs: 1, verdict: 'transient' } }],
  ['key-refused', { failures: 1, cure: 'new-key', lastPush: { atMs: 1, verdict: 'key-refused' } }],
  ['unavailable', { failures: 2, lastPush: { atMs: 1, verdict: 'transient' } }],
  ['open', { failures: 0, lastPush: { atMs: 1, verdict: 'key-refused' } }],
] as const)('a gate is %s by what was stored last, of whichever daemon', async (state, stored) => {
  const bench = new Bench()
  await bench.outbox.delivery.saveDestination('service', { notBeforeMs: 0, probeAtMs: 0, waiting: 'why', ...stored })
  const { gates } = await scrape({ ...bench.observed, counters: new Counters() })
  expect(gates).toEqual([{ destination: 'service', state, failures: stored.failures }])
})

describe('ages', () => {
  const later = (bench: Bench, hours: number) => ({ ...bench.observed, nowMs: hourAfter(anHour, hours) })

  it('of the last delivery never go, however long nothing is delivered', async () => {
    const bench = new Bench().collect(accept(2)).deliver(metrics(2))
    bench.collect(accept(1, hourAfter(anHour, 1)), hourAfter(anHour, 1)).gap(hourAfter(anHour, 2))
    await bench.snapshot()
    expect(await agesOf(later(bench, 10))).toMatchObject({ [deliveredAge]: 10 })
    expect(await agesOf(later(bench, 60))).toMatchObject({ [deliveredAge]: 60 })
    expect(await agesOf(later(bench, 24 * 365))).toMatchObject({ [deliveredAge]: 24 * 365 })
    bench.deliver(metrics(1, hourAfter(anHour, 1)))
    await bench.snapshot()
    expect(await agesOf(later(bench, 24 * 365 + 1))).toMatchObject({ [deliveredAge]: 24 * 365 })
  })

  it('of a collector of which nothing was ever delivered count from its first hour', async () => {
    const bench = new Bench().collect(accept(1))
    await bench.snapshot()
    expect(await agesOf(later(bench, 10))).toMatchObject({ [deliveredAge]: 10 })
    expect(await agesOf(later(bench, 100))).toMatchObject({ [deliveredAge]: 100 })
    bench.config = configOf([protocol('vault', [collector('c'), collector('never-planned')])])
    bench.startedAtMs = anHour + 5
    const ages = await agesOf(later(bench, 100))
    expect(ages[deliveredAge.replace('vault/c', 'vault/never-planned')]).toBe(100)
  })

  it('of the oldest hours that should pass do not stop at those that are shown', async () => {
    const bench = new Bench().fail().collect(accept(1, hourAfter(anHour, 1)), hourAfter(anHour, 1))
    const held = metrics(1, hourAfter(anHour, 2)).map(metric => ({ metric, hold: odd }))
    bench.collect(held, hourAfter(anHour, 2))
    await bench.snapshot()
    const ages = await agesOf(later(bench, 500))
    expect(ages).toMatchObject({ [oldestAge('due')]: 500, [oldestAge('collected')]: 499, [oldestAge('held')]: 498 })
  })
})
