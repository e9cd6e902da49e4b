import type { FaultRecord } from '../../src/model/fault.ts'
import { hourAfter, hourAt, hoursFrom } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import type { Scrape } from '../../src/status/observe.ts'
import type { CellState, HourCell, HourStretch, Snapshot, WeekRow, WidgetMetric } from '../../src/status/snapshot.ts'
import { Counters } from '../../src/telemetry/counters.ts'

/** The instant of both snapshots. */
export const nowMs = Date.UTC(2026, 10, 20, 13, 4, 5, 250)

const minuteMs = 60_000
/** The current hour of both snapshots. */
export const lastHour = hourAt(nowMs)
const hours = hoursFrom(hourAfter(lastHour, -47), lastHour)

/** A daemon that has just been installed: nothing configured, nothing collected, nothing pushed. */
export const emptySnapshot: Snapshot = {
  endpoints: [],
  version: '0.1.0',
  nowMs,
  startedAtMs: nowMs - 3_000,
  ready: { ok: true, reasons: [] },
  configuration: { file: '/config/tidegauge.yaml', digest: 'd1', inForceSinceMs: nowMs - 3_000 },
  service: { host: 'embedded (127.0.0.1:40123)', gates: [] },
  balance: { enqueued: 0, delivered: 0, dead: 0, held: 0, due: 0, dropped: 0, private: 0 },
  backlog: { byProtocol: [] },
  protocols: [],
  hours: { hours, rows: [] },
  week: { from: hourAfter(lastHour, -167), to: lastHour, rows: [] },
  warnings: [],
}

const reverted: FaultRecord = {
  code: 'chain-call-reverted',
  message: 'the contract refused totalAssets()',
  facts: { chain: 'ethereum', block: 23_811_402, address: '0x83F20F44975D03b1b09e64809B757c47f942BEeA' },
  fix: 'check the address and that the contract existed at that block',
}
const unreachable: FaultRecord = {
  code: 'http-unreachable',
  message: 'api.example.com does not answer',
  facts: { status: 503, attempts: 3 },
  fix: 'nothing to do while it passes; else look at the source',
}
const nowOnly: FaultRecord = {
  code: 'collector-hung',
  message: 'the hour was missed while the daemon was down, and this collector reads only the present',
  facts: {},
}
const refused: FaultRecord = {
  code: 'service-refused',
  message: 'the service refused the metric: "unit differs from earlier values"',
  facts: { metric: 'tide-dex___Price', status: 400 },
  fix: 'keep the unit of a metric id, or give it another label',
}

/** A quiet sea: slow swell, small waves, the same at each call. */
function swell(middle: number, height: number, phase: number): (number | null)[] {
  return hours.map(
    (_, index) => middle + height * (Math.sin(index / 7 + phase) + 0.25 * Math.sin(index * 1.9 + phase * 3)),
  )
}

function withHole(values: (number | null)[], from: number, to: number): (number | null)[] {
  return values.map((value, index) => (index >= from && index < to ? null : value))
}

function only(value: number): (number | null)[] {
  return hours.map((_, index) => (index === hours.length - 1 ? value : null))
}

function metric(protocolId: string, label: string, unit: string, curve: (number | null)[]): WidgetMetric {
  const at = (hoursBack: number) => curve.at(-1 - hoursBack) ?? undefined
  const [value, hourBefore, dayBefore] = [at(0), at(1), at(24)]
  return {
    id: metricId(protocolId, label),
    label,
    unit,
    curve,
    ...(value === undefined ? {} : { value, hour: lastHour }),
    ...(value === undefined || hourBefore === undefined ? {} : { change1h: value - hourBefore }),
    ...(value === undefined || dayBefore === undefined ? {} : { change24h: value - dayBefore }),
  }
}

/** A row of the week: `parts` are at hours counted from the oldest, 0 to 167; all others are delivered. */
export function weekRow(
  protocolId: string,
  ownId: string,
  parts: readonly (Omit<HourStretch, 'from'> & { readonly at: number })[] = [],
): WeekRow {
  const runs: HourStretch[] = []
  let next = 0
  const fill = (to: number) => {
    if (to > next) runs.push({ from: hourAfter(lastHour, next - 167), hours: to - next, state: 'delivered' })
  }
  for (const { at, ...run } of parts) {
    fill(at)
    runs.push({ from: hourAfter(lastHour, at - 167), ...run })
    next = at + run.hours
  }
  fill(168)
  return { collector: `${protocolId}/${ownId}`, protocolId, runs }
}

type Special = Readonly<Record<number, CellState | HourCell>>

function row(protocolId: string, ownId: string, special: Special = {}) {
  const cells = hours.map((_, index): HourCell => {
    const cell = special[index] ?? 'delivered'
    return typeof cell === 'string' ? { state: cell, attempts: cell === 'due' ? 0 : 1 } : cell
  })
  return { collector: `${protocolId}/${ownId}`, protocolId, cells }
}

function range(from: number, to: number, cell: CellState | HourCell): Special {
  return Object.fromEntries(Array.from({ length: to - from }, (_, index) => [from + index, cell]))
}

const fiveHoursOld: WidgetMetric = {
  ...metric('awesome-vault', 'Utilisation', '%', withHole(swell(71.2, 3.1, 1), 43, 48)),
  value: 72.75,
  hour: hourAfter(lastHour, -5),
  change24h: 1.2,
}

/** Two days of a daemon with a past: every state, small and large values, holes, a name that is an attack. */
export const richSnapshot: Snapshot = {
  fleet: {
    daemons: [
      {
        name: 'eu-1',
        version: '0.1.0',
        configuration: '0badcafe',
        lanes: ['ethereum', 'web'],
        delivers: ['service'],
        isReporting: true,
        startedAtMs: nowMs - 60 * minuteMs,
        seenAtMs: nowMs - 4_000,
      },
      {
        name: '<i>eu-2</i>',
        version: '0.1.0',
        configuration: '0badcafe',
        lanes: ['base'],
        delivers: [],
        startedAtMs: nowMs - 60 * minuteMs,
        seenAtMs: nowMs - 12 * minuteMs,
        isAway: true,
      },
    ],
    troubles: [],
    idleLanes: [
      { lane: 'base', hours: 2, oldest: hourAfter(lastHour, -1), reason: 'no living daemon works the lane base' },
    ],
    differences: ['the daemons have different versions: 0.1.0 on eu-1, 0.2.0 on eu-3; update them to the same'],
    differing: [
      {
        kind: 'version',
        reason: 'the daemons have different versions: 0.1.0 on eu-1, 0.2.0 on eu-3',
        fix: 'update them to the same',
      },
    ],
  },
  configuration: { file: '/config/tidegauge.yaml', digest: 'd1', inForceSinceMs: nowMs - 40 * minuteMs },
  endpoints: [
    {
      chain: 'ethereum',
      host: '127.0.0.1:8545',
      state: 'well',
      head: { number: 23_456_789, atMs: Date.UTC(2026, 10, 20, 13, 3, 47) },
      servesStateFrom: 23_000_000,
      batchCallsMax: 1_000,
      calls: { answered: 900, error: 2, limited: 0, unanswered: 0 },
    },
    {
      chain: 'ethereum',
      host: 'rpc.example.com',
      state: 'resting',
      trouble: 'unreachable',
      failuresInRow: 3,
      calls: { answered: 40, error: 0, limited: 5, unanswered: 12 },
      restsUntilMs: Date.UTC(2026, 10, 20, 13, 9),
      callsPerSecondMax: 12.5,
      batchCallsMax: 100,
    },
  ],
  version: '0.1.0',
  nowMs,
  startedAtMs: nowMs - 19 * 24 * 60 * minuteMs,
  ready: {
    ok: false,
    reasons: [
      'awesome-vault/utilisation is late by 4 h: the hours from 09:00 are not collected, because api.example.com does not answer.',
      'Delivery waits since 12:41: the service answers 503 Service Unavailable.',
    ],
  },
  service: {
    host: 'metrics.example.com:443',
    lastPush: { atMs: nowMs - 2 * minuteMs, verdict: 'kept, the service answered 503 Service Unavailable' },
    waiting: 'Delivery waits until 13:06: the last 5 attempts were answered with 503 Service Unavailable.',
    nextAttemptMs: Date.UTC(2026, 10, 20, 13, 6),
    gates: [
      {
        destination: 'service',
        waiting: 'the service answers 503 Service Unavailable',
        probeAtMs: Date.UTC(2026, 10, 20, 13, 6),
        failures: 5,
      },
    ],
  },
  balance: { enqueued: 12_480, delivered: 12_451, dead: 3, held: 12, due: 14, dropped: 2, private: 0 },
  backlog: {
    byProtocol: [
      { protocolId: 'tide-dex', due: 9 },
      { protocolId: 'old-farm', due: 5, isRemoved: true },
    ],
    late: { oldest: hourAfter(lastHour, -2), metrics: 9 },
  },
  protocols: [
    {
      id: 'awesome-vault',
      name: 'Awesome Vault',
      logo: 'https://logos.example.com/vault.png',
      readAtMs: nowMs - 24_000,
      metrics: [
        metric('awesome-vault', 'TVL', 'USDC', swell(12_345_678.9, 182_000, 0)),
        metric(
          'awesome-vault',
          'SharePrice',
          'USDC',
          hours.map((_, index) => 1.0412 + index * 0.0000042),
        ),
        fiveHoursOld,
        metric('awesome-vault', 'Paused', '', swell(0, 0, 0)),
      ],
    },
    {
      id: 'tide-dex',
      name: 'Tide DEX',
      readAtMs: nowMs - 24_000,
      metrics: [
        metric('tide-dex', 'Price', 'WETH/TIDE', withHole(swell(0.0000124, 0.0000011, 2), 20, 27)),
        metric('tide-dex', 'ReserveTIDE', 'TIDE', swell(884_213_406_551, 9_211_400_000, 4)),
        metric('tide-dex', 'Gas', 'wei', swell(4.2e18, 3e17, 3)),
        metric('tide-dex', 'FirstSeen', 'swaps', only(418)),
        { ...metric('tide-dex', 'Retired', 'TIDE', withHole(swell(12, 0, 0), 30, 48)), value: 12, isRemoved: true },
      ],
    },
    {
      id: 'script',
      name: '<script>document.title="owned"</script>',
      metrics: [
        metric('script', '"><img src=x>', '<b>load</b>', withHole(withHole(swell(0.42, 0.3, 5), 10, 11), 12, 13)),
        metric(
          'script',
          'NeverRead',
          '%',
          hours.map(() => null),
        ),
      ],
    },
  ],
  hours: {
    hours,
    rows: [
      row('awesome-vault', 'erc4626-vault', {
        ...range(14, 17, { state: 'gap', attempts: 1, fault: reverted }),
        47: 'collected',
      }),
      row('awesome-vault', 'utilisation', range(43, 48, { state: 'due', attempts: 9, fault: unreachable })),
      row('tide-dex', 'uniswap-v2-pool', {
        22: { state: 'dead', attempts: 2, fault: refused },
        46: 'collected',
        47: 'collected',
      }),
      row('tide-dex', 'gas', { ...range(40, 44, 'held'), 46: 'collected', 47: 'due' }),
      row('script', 'host', {
        ...range(0, 20, 'unexpected'),
        ...range(30, 33, { state: 'gap', attempts: 0, fault: nowOnly }),
        47: 'collected',
      }),
    ],
  },
  week: {
    from: hourAfter(lastHour, -167),
    to: lastHour,
    rows: [
      weekRow('awesome-vault', 'erc4626-vault', [
        { at: 134, hours: 3, state: 'gap', attempts: 1, fault: reverted },
        { at: 167, hours: 1, state: 'collected' },
      ]),
      weekRow('awesome-vault', 'utilisation', [{ at: 163, hours: 5, state: 'due', attempts: 9, fault: unreachable }]),
      weekRow('tide-dex', 'uniswap-v2-pool', [
        { at: 20, hours: 1, state: 'gap', attempts: 3, fault: unreachable },
        {
          at: 142,
          hours: 1,
          state: 'dead',
          reason: 'the service refused the metric: "unit differs from earlier values"',
        },
        { at: 166, hours: 2, state: 'collected' },
      ]),
      weekRow('tide-dex', 'gas', [
        { at: 160, hours: 4, state: 'held', reason: 'it is 412 % above the value before' },
        { at: 166, hours: 1, state: 'collected' },
        { at: 167, hours: 1, state: 'due' },
      ]),
      weekRow('script', 'host', [
        { at: 0, hours: 140, state: 'unexpected' },
        { at: 150, hours: 3, state: 'gap', attempts: 1, fault: nowOnly },
        { at: 167, hours: 1, state: 'collected' },
      ]),
      { ...weekRow('script', 'old-disk', [{ at: 100, hours: 68, state: 'unexpected' }]), isRemoved: true },
    ],
  },
  warnings: [
    {
      metricId: metricId('awesome-vault', 'UtilisationOfTheVault'),
      kind: 'label-long',
      text: 'label is longer than 16 characters',
      count: 1_204,
      firstSeenMs: nowMs - 19 * 24 * 60 * minuteMs,
      lastSeenMs: nowMs - 64 * minuteMs,
      isAcknowledged: false,
    },
    {
      kind: 'already-exists',
      text: 'metric already exists for this hour and was updated <i>twice</i>',
      count: 1,
      firstSeenMs: nowMs - 3 * minuteMs,
      lastSeenMs: nowMs - 3 * minuteMs,
      isAcknowledged: false,
    },
  ],
}

/** The same as a scrape sees it. */
export const emptyScrape: Scrape = {
  ...emptySnapshot,
  late: [],
  gaps: [],
  values: [],
  gates: [{ destination: 'service', state: 'open', failures: 0 }],
  disk: { isFull: false, room: { freeBytes: 5e9, sizeBytes: 2e10 } },
  isClockBelieved: true,
  counters: new Counters(),
  ages: { oldest: { due: undefined, collected: undefined, held: undefined }, newestDelivered: new Map() },
}

/** As `richSnapshot`; one collector was last delivered three weeks ago. */
export const richScrape: Scrape = {
  ...richSnapshot,
  service: { ...richSnapshot.service, skewMs: -2_000 },
  late: [{ collector: 'awesome-vault/utilisation', hours: 5, oldest: hourAfter(lastHour, -4), fault: unreachable }],
  gaps: [
    { collector: 'awesome-vault/erc4626-vault', code: 'chain-state-missing', hours: 2 },
    { collector: 'awesome-vault/erc4626-vault', code: 'hour-too-old', hours: 1 },
  ],
  values: [
    {
      id: metricId('awesome-vault', 'TVL'),
      protocolId: 'awesome-vault',
      hour: lastHour,
      value: 12_345_678.9,
      unit: 'USDC',
    },
    { id: metricId('awesome-vault', 'Paused'), protocolId: 'awesome-vault', hour: lastHour, value: 0 },
  ],
  gates: [
    { destination: 'service', state: 'unavailable', failures: 4 },
    { destination: 'env:OTHER_KEY', state: 'open', failures: 0 },
  ],
  disk: { isFull: false, room: { freeBytes: 5e9, sizeBytes: 2e10 } },
  isClockBelieved: true,
  counters: busyCounters(),
  ages: {
    oldest: { due: hourAfter(lastHour, -4), collected: undefined, held: hourAfter(lastHour, -70) },
    newestDelivered: new Map([
      ['awesome-vault/utilisation', hourAfter(lastHour, -5)],
      ['awesome-vault/erc4626-vault', hourAfter(lastHour, -21 * 24)],
    ]),
  },
}

function busyCounters(): Counters {
  const counters = new Counters()
  const accepted = [1, 2]
  counters.ran('awesome-vault/erc4626-vault', 1.25, { acceptedValues: accepted })
  counters.ran('awesome-vault/erc4626-vault', 0.75, { acceptedValues: accepted })
  counters.ran('awesome-vault/utilisation', 30, { acceptedValues: [], fault: { code: 'http-unreachable' } })
  counters.pushes.settled = 120
  counters.pushes.transient = 4
  counters.reported('slack BAD', 'it answered 410')
  counters.collected = 480
  counters.delivered = 466
  return counters
}
