import { describe, expect, it } from 'vitest'
import {
  type FailedPiece,
  fresh,
  type Piece,
  type SentPiece,
  smaller,
  type VerdictOf,
} from '../../../src/delivery/isolate/pieces.ts'
import { reduce } from '../../../src/delivery/isolate/reduce.ts'
import {
  type FlushAction,
  type FlushEvent,
  type FlushState,
  initialState,
  type Stop,
} from '../../../src/delivery/isolate/state.ts'
import type { Metric } from '../../../src/model/metric.ts'
import { metricKey } from '../../../src/model/metric-set.ts'
import type { DeadMetric, Verdict } from '../../../src/model/verdict.ts'
import type { DeadLetter } from '../../../src/outbox/contract/metrics.ts'
import { asBatch, batchOf } from '../../model/batches.ts'
import { anHour, metrics } from '../../support/metrics.ts'

type Transition = readonly [
  what: string,
  state: Partial<FlushState>,
  event: FlushEvent,
  actions: readonly FlushAction[],
  changes?: Partial<FlushState>,
]

const all = metrics(10)
const [good, bad, other] = [metric(0), metric(1), metric(2)]
const stop = (kind: Stop['kind'], reason: string): Stop => ({ kind, reason })
const systemic = stop('systemic', 'the service rejects every metric; all are kept: odd')

function metric(place: number): Metric {
  return all[place] ?? fail()
}

function fail(): never {
  throw new Error('there is no such metric')
}

const badOne: DeadMetric = { metric: bad, reason: 'odd', status: 200 }
const refused: Verdict = { kind: 'refused', status: 400, reason: 'odd' }
const down: FailedPiece['verdict'] = { kind: 'transient', reason: '503', status: 503 }
const isDown = stop('transient', '503')
const keyRefused: Verdict = { kind: 'key-refused', reason: '401' }
const settled = (
  delivered: readonly Metric[],
  resend: readonly Metric[] = [],
  dead: readonly DeadMetric[] = [],
): VerdictOf<'settled'> => ({ kind: 'settled', delivered, dead, resend, warnings: [] })

function sent(piece: Piece, more: Partial<SentPiece> = {}): SentPiece {
  return { piece, attempts: { attemptsMax: 5 }, sentAt: 1, acceptedBefore: 0, isCounted: false, ...more }
}

function answered(verdict: Verdict, piece: Piece, more: Partial<Extract<FlushEvent, { kind: 'answered' }>> = {}) {
  const pushed = { verdict, attempts: 1 }
  return { kind: 'answered', sent: sent(piece), pushed, isAddressProven: true, isInQuarantine: false, ...more } as const
}

const single = (of: Metric, rejectedAt = 3, attempts = 4) => {
  return { deadLetter: { metric: of, reason: 'odd', status: 400, attempts }, rejectedAt }
}
const sendFirst = (...pieces: readonly Piece[]): FlushAction => ({ kind: 'send-first', pieces })
const confirm = (of: Metric): FlushAction => ({ kind: 'confirm', deadLetter: single(of).deadLetter })
const check = (sentAt: number, why: 'rejections' | FailedPiece = 'rejections'): FlushAction => {
  return { kind: 'check', metric: good, sentAt, why }
}
/** Runs a table: the actions of each row, and what of the state it changes. */
function play(rows: readonly Transition[]): void {
  for (const [what, given, event, actions, changes = {}] of rows) {
    it(what, () => {
      const state = { ...initialState(), ...given }
      const step = reduce(state, event)
      expect(step.actions).toEqual(actions)
      expect(step.state).toMatchObject(changes)
      if (Object.keys(changes).length === 0) expect(step.state).toEqual(state)
    })
  }
}

describe('a piece that is taken', () => {
  const piece = fresh(batchOf(3))
  const two = fresh(asBatch([...metrics(1), ...metrics(1, anHour, 'other')]))
  play([
    [
      'is pushed, and its attempts count while nothing was accepted',
      { sequence: 4 },
      { kind: 'taken', piece },
      [
        {
          kind: 'push',
          sent: sent(piece, { attempts: { attemptsMax: 5, failedBefore: 0 }, sentAt: 5, isCounted: true }),
        },
      ],
      { sequence: 5, attempts: { max: 5, used: 5 } },
    ],
    [
      'has no more attempts than are left',
      { attempts: { max: 5, used: 3 } },
      { kind: 'taken', piece },
      [{ kind: 'push', sent: sent(piece, { attempts: { attemptsMax: 2, failedBefore: 3 }, isCounted: true }) }],
      { attempts: { max: 5, used: 5 } },
    ],
    [
      'is tried once while it is of several protocols',
      {},
      { kind: 'taken', piece: two },
      [{ kind: 'push', sent: sent(two, { attempts: { attemptsMax: 1, failedBefore: 0 }, isCounted: true }) }],
      { attempts: { max: 5, used: 1 } },
    ],
    [
      'has its own attempts once something was accepted',
      { knownGood: good, acceptedPushes: 7 },
      { kind: 'taken', piece },
      [{ kind: 'push', sent: sent(piece, { acceptedBefore: 7 }) }],
      { sequence: 1 },
    ],
    [
      'has its own attempts out of quarantine',
      {},
      { kind: 'taken', piece: { ...fresh([bad], 1), isProbe: true } },
      [{ kind: 'push', sent: sent({ ...fresh([bad], 1), isProbe: true }, { attempts: { attemptsMax: 1 } }) }],
      { sequence: 1 },
    ],
  ])
})

describe('a push that is accepted', () => {
  const piece = fresh(batchOf(3))
  const verdict = settled(piece.batch)
  const recorded = (of: Piece, sentAt: number, what = settled(of.batch)): FlushEvent => {
    return { kind: 'recorded', piece: of, sentAt, verdict: what }
  }
  const pair: Piece = { ...fresh([other]), pairedWith: bad }
  play([
    [
      'is recorded first, and gives its attempts back',
      { attempts: { max: 5, used: 5 } },
      answered(verdict, piece, { sent: sent(piece, { isCounted: true }) }),
      [
        { kind: 'record', verdicts: { delivered: piece.batch, dead: [], warnings: [] }, sending: 'first' },
        { kind: 'next', event: recorded({ ...piece, sent: 1 }, 1) },
      ],
      { attempts: { max: 5, used: 0 } },
    ],
    [
      'is recorded as sent again after another attempt, with what was dead in it',
      { knownGood: good },
      answered(settled([good], [], [badOne]), { ...piece, sent: 2 }),
      [
        {
          kind: 'record',
          verdicts: {
            delivered: [good],
            dead: [{ ...badOne, attempts: 3 }],
            warnings: [],
          },
          sending: 'again',
        },
        {
          kind: 'next',
          event: recorded({ ...piece, sent: 3 }, 1, settled([good], [], [badOne])),
        },
      ],
    ],
    [
      'makes its first metric the known-good one',
      { rejectionsInRow: 9, probes: 3 },
      recorded(piece, 1),
      [],
      {
        knownGood: metric(0),
        acceptedPushes: 1,
        acceptedProtocols: new Set(['vault']),
        rejectionsInRow: 0,
        probes: 0,
      },
    ],
    [
      'lets what was rejected before it was sent be sent once more',
      { rejected: [single(bad, 3), single(other, 5)] },
      recorded(piece, 4),
      [confirm(bad)],
      { rejected: [single(other, 5)] },
    ],
    [
      'lets the other half of its pair be sent once more, whenever that was rejected',
      { rejected: [single(bad, 9)] },
      recorded(pair, 4),
      [confirm(bad)],
      { rejected: [], otherOfPair: new Set([metricKey(bad)]) },
    ],
    [
      'in part sends the rest again in smaller pieces, after what it has decided',
      { rejected: [single(bad, 3)] },
      recorded(piece, 4, settled([metric(0)], [metric(1), metric(2)])),
      [confirm(bad), sendFirst(...smaller(piece, [metric(1), metric(2)]))],
      { acceptedPushes: 1 },
    ],
    [
      'in nothing, as its count shows, is sent again in smaller pieces',
      { rejectionsInRow: 1 },
      recorded(piece, 4, settled([], piece.batch)),
      [sendFirst(...smaller(piece, piece.batch))],
      { rejectionsInRow: 2, acceptedPushes: 0 },
    ],
  ])
})

describe('a push that is rejected as it is', () => {
  const piece = fresh(batchOf(9))
  const once = { ...piece, sent: 1 }
  const alone = fresh([bad])
  const two = [single(good, 1), single(other, 2)]
  play([
    [
      'is sent again in thirds',
      {},
      answered(refused, piece),
      [sendFirst(...smaller(once, piece.batch))],
      { rejectionsInRow: 1 },
    ],
    [
      'the sixteenth time in a row lets the known-good metric be sent first',
      { knownGood: good, rejectionsInRow: 15, sequence: 7 },
      answered(refused, piece),
      [sendFirst(...smaller(once, piece.batch)), check(8)],
      { sequence: 8 },
    ],
    [
      'is a rejected single when it is of one metric',
      { sequence: 7 },
      answered(refused, { ...alone, sent: 3 }),
      [],
      { rejected: [single(bad, 8, 4)], sequence: 8, rejectionsInRow: 1 },
    ],
    [
      'is sent once more when the other half of its pair was accepted',
      { otherOfPair: new Set([metricKey(bad)]), sequence: 7 },
      answered(refused, { ...alone, sent: 3 }),
      [confirm(bad)],
      { rejected: [] },
    ],
    [
      'as the third single lets the known-good metric be sent',
      { knownGood: good, rejected: two, sequence: 7 },
      answered(refused, alone),
      [check(9)],
      { sequence: 9 },
    ],
    [
      'as the third single lets others be tried where nothing was accepted',
      { rejected: two },
      answered(refused, alone),
      [{ kind: 'probe-others', rejected: [good, other, bad], countMax: 3 }],
      { rejectionsInRow: 1 },
    ],
    [
      'as one of those others waits for the rest of them',
      { rejected: two, probes: 3 },
      answered(refused, alone),
      [],
      { probes: 3 },
    ],
    [
      'as the last of those others is not about the metrics',
      { rejected: [...two, single(metric(3)), single(metric(4)), single(metric(5))], probes: 3 },
      answered(refused, alone),
      [],
      { stop: systemic },
    ],
    [
      'with a status the interface does not name stops the flush where nothing was ever accepted',
      {},
      answered({ ...refused, status: 405, isUnlisted: true }, piece, { isAddressProven: false }),
      [],
      { stop: stop('misdirected', 'odd') },
    ],
    [
      'with such a status is split where something was accepted in this flush',
      { acceptedPushes: 1 },
      answered({ ...refused, status: 405, isUnlisted: true }, piece, { isAddressProven: false }),
      [sendFirst(...smaller(once, piece.batch))],
      { rejectionsInRow: 1 },
    ],
  ])
})

describe('trying others where nothing was accepted', () => {
  play([
    ['waits for them', {}, { kind: 'probing', count: 2 }, [], { probes: 2 }],
    [
      'is over where there are none: it is not the metrics',
      { rejected: [single(bad)] },
      { kind: 'probing', count: 0 },
      [],
      { stop: systemic },
    ],
  ])
})

describe('the known-good metric', () => {
  const checked = (verdict?: Verdict): FlushEvent => {
    return { kind: 'checked', why: 'rejections', ...(verdict && { verdict }) }
  }
  const state = { knownGood: good, rejected: [single(bad, 3)] }
  play([
    [
      'that is accepted lets the rejected singles be sent once more',
      state,
      { kind: 'known-good-answered', verdict: settled([good]), sentAt: 4 },
      [confirm(bad)],
      { rejected: [] },
    ],
    [
      'that is accepted proves nothing about what was rejected after it was sent',
      state,
      { kind: 'known-good-answered', verdict: settled([good]), sentAt: 3 },
      [],
    ],
    ['that is rejected as well proves that it is not the metrics', state, checked(refused), [], { stop: systemic }],
    ['of which nothing is stored proves the same', state, checked(settled([])), [], { stop: systemic }],
    ['that is failed on ends the flush', state, checked(down), [], { stop: isDown }],
    ['that meets a refused key ends the flush', state, checked(keyRefused), [], { stop: stop('key-refused', '401') }],
    ['that is accepted needs nothing more', state, checked(settled([good])), []],
    ['that is not to be sent any more says nothing', state, checked(), []],
    [
      'whose protocol is rejected is not known to be good any more',
      state,
      { kind: 'known-good-answered', verdict: { kind: 'protocol-refused', status: 404, reason: '' }, sentAt: 4 },
      [],
      { rejected: state.rejected },
    ],
  ])

  it('is forgotten when it is not to be sent any more, or its protocol is rejected', () => {
    const gone: FlushEvent = { kind: 'known-good-gone' }
    const lost: Verdict = { kind: 'protocol-refused', status: 404, reason: '' }
    for (const event of [gone, { kind: 'known-good-answered', verdict: lost, sentAt: 4 } as const]) {
      expect(reduce({ ...initialState(), ...state }, event).state).not.toHaveProperty('knownGood')
    }
  })
})

describe('a rejected single that is sent once more', () => {
  const { deadLetter } = single(bad)
  const answer = (verdict: Verdict): FlushEvent => ({ kind: 'confirmed', deadLetter, pushed: { verdict, attempts: 1 } })
  const record = (delivered: readonly Metric[], dead: readonly DeadLetter[]): FlushAction => {
    return { kind: 'record', verdicts: { delivered, dead, warnings: [] }, sending: 'again' }
  }
  play([
    ['and rejected again is dead', {}, answer(refused), [record([], [{ ...deadLetter, attempts: 5 }])]],
    ['and accepted is delivered', {}, answer(settled([bad])), [record([bad], [])]],
    ['and failed on stays due', {}, answer(down), []],
    ['and not counted stays due', {}, answer(settled([], [bad])), []],
    ['meets a refused key', {}, answer(keyRefused), [], { stop: stop('key-refused', '401') }],
  ])
})

describe('the end of a flush', () => {
  const two = [single(bad, 3), single(other, 5)]
  const concluded: FlushAction = { kind: 'next', event: { kind: 'concluded' } }
  play([
    ['needs nothing where nothing was rejected', {}, { kind: 'concluding' }, []],
    [
      'asks with the known-good metric where something was',
      { knownGood: good, rejected: two, sequence: 7 },
      { kind: 'concluding' },
      [check(8), concluded],
      { sequence: 8 },
    ],
    [
      'asks with one that was delivered earlier where nothing was accepted, and one or two were rejected',
      { rejected: two, sequence: 7 },
      { kind: 'concluding' },
      [{ kind: 'check-earlier', sentAt: 8 }, concluded],
      { sequence: 8 },
    ],
    ['asks nothing where more were', { rejected: [...two, single(good)] }, { kind: 'concluding' }, [concluded]],
    ['keeps what nothing was accepted after', { rejected: two }, { kind: 'concluded' }, [], { stop: systemic }],
    ['is reached', {}, { kind: 'concluded' }, []],
    ['has nothing more to do where nothing failed', {}, { kind: 'ending' }, []],
  ])
})

describe('a push that the service fails on', () => {
  const piece = fresh(batchOf(9))
  const failed: FailedPiece = { piece: { ...piece, sent: 1 }, verdict: down, isSlow: false }
  const wish = { ...down, status: 429 }
  const ofTwo = fresh(asBatch([...metrics(1), ...metrics(1, anHour, 'other')]))
  const undecided: FailedPiece = { piece: { ...fresh([bad]), sent: 1 }, verdict: down, isSlow: false }
  play([
    ['that asks to wait ends the flush', { knownGood: good }, answered(wish, piece), [], { stop: isDown }],
    [
      'that asks to wait until an instant ends the flush',
      { knownGood: good },
      answered({ ...down, notBeforeMs: 5 }, piece),
      [],
      { stop: isDown },
    ],
    [
      'while it accepted another is narrowed down',
      { knownGood: good, acceptedPushes: 1 },
      answered(down, piece),
      [{ kind: 'narrow', failed }],
    ],
    [
      'out of quarantine is narrowed down, whatever else it takes',
      {},
      answered(down, { ...piece, isProbe: true }),
      [{ kind: 'narrow', failed: { ...failed, piece: { ...failed.piece, isProbe: true } } }],
    ],
    [
      'after it accepted another lets the known-good metric be sent',
      { knownGood: good, acceptedPushes: 1, sequence: 7 },
      answered(down, piece, { sent: sent(piece, { acceptedBefore: 1 }) }),
      [check(8, failed)],
      { sequence: 8 },
    ],
    [
      'is narrowed down when the known-good metric is accepted',
      { knownGood: good },
      { kind: 'checked', why: failed, verdict: settled([good]) },
      [{ kind: 'narrow', failed }],
    ],
    [
      'ends the flush when the known-good metric is failed on, too',
      { knownGood: good },
      { kind: 'checked', why: failed, verdict: down },
      [],
      { stop: isDown },
    ],
    [
      'before anything was accepted is tried apart, once',
      {},
      answered(down, ofTwo),
      [
        {
          kind: 'send-separately',
          pieces: ['vault', 'other'].map(id => ({ batch: asBatch(metrics(1, anHour, id)), sent: 1, attemptsMax: 1 })),
        },
      ],
      { isSplit: true },
    ],
    [
      'of one protocol before anything was accepted counts against it',
      { isSplit: true },
      answered(down, piece),
      [{ kind: 'count-failure', protocolId: 'vault' }],
      { undecided: [failed] },
    ],
    [
      'with all attempts is decided when something else was accepted',
      { attempts: { max: 5, used: 5 } },
      answered(down, piece),
      [{ kind: 'count-failure', protocolId: 'vault' }],
      { undecided: [failed] },
    ],
    ['needs nothing more when nothing is undecided', {}, { kind: 'drained' }, []],
    [
      'is sent again when something was accepted since',
      { undecided: [undecided, failed], knownGood: good },
      { kind: 'drained' },
      [{ kind: 'send-last', pieces: [{ ...undecided.piece, attemptsMax: 2 }] }],
      { undecided: [failed] },
    ],
    ['ends the flush when nothing was accepted', { undecided: [undecided] }, { kind: 'drained' }, [], { stop: isDown }],
  ])
})

describe('narrowing down what the service fails on', () => {
  const failure = (piece: Piece, isSlow = false): FailedPiece => ({ piece, verdict: down, isSlow })
  const narrowing = (
    failed: FailedPiece,
    dueMetrics: readonly Metric[] = [...failed.piece.batch],
    isInQuarantine = false,
  ) => {
    return { kind: 'narrowing', failed, dueMetrics, isInQuarantine } as const
  }
  const four = asBatch(['a', 'b', 'c', 'd'].flatMap(id => metrics(1, anHour, id)))
  const ten = fresh(batchOf(10))
  const halves = (of: readonly Metric[]) => {
    const at = Math.ceil(of.length / 2)
    return [of.slice(0, at), of.slice(at)].map(batch => ({ batch, sent: 0, attemptsMax: 2 }))
  }
  const sendLast = (
    pieces: readonly { batch: readonly Metric[]; sent: number; attemptsMax: number }[],
  ): FlushAction => {
    return { kind: 'send-last', pieces: pieces.map(piece => ({ ...piece, batch: asBatch([...piece.batch]) })) }
  }
  const alone = (isProtocol = false) => ({ metric: bad, reason: '503', isProtocol, failedAt: 1 })
  const accepted = { acceptedProtocols: new Set(['vault']) }
  const withoutSample = all.filter((_, place) => place !== 5)
  const sample = (piece: Piece): Piece => ({ ...piece, isSample: true })
  play([
    ['halves the protocols first', {}, narrowing(failure(fresh(four))), [sendLast(halves(four))]],
    [
      'cuts what failed slowly into more pieces',
      {},
      narrowing(failure(fresh(four), true)),
      [sendLast(four.map(one => ({ batch: [one], sent: 0, attemptsMax: 2 })))],
    ],
    [
      'tries one metric of one protocol before the rest',
      {},
      narrowing(failure(ten)),
      [
        {
          kind: 'sample',
          sample: sample(fresh([metric(5)], 1)),
          otherPieces: halves(withoutSample).map(piece => ({ ...piece, batch: asBatch([...piece.batch]) })),
        },
      ],
    ],
    [
      'sends the rest when that was accepted',
      {},
      { kind: 'sampled', otherPieces: [ten], isInQuarantine: false },
      [sendLast([ten])],
    ],
    [
      'leaves the rest when the protocol is in quarantine by then',
      {},
      { kind: 'sampled', otherPieces: [ten], isInQuarantine: true },
      [],
    ],
    ...(
      [
        ['leaves the rest when the service fails on the whole protocol', alone(true), []],
        ['sends the rest when it fails on one metric', alone(), [sendLast([ten])]],
        [
          'sends the rest when it fails on another protocol',
          { ...alone(true), metric: { ...bad, protocolId: 'other' } },
          [sendLast([ten])],
        ],
      ] as const
    ).map(([title, failing, actions]): Transition => {
      return [title, { failing: [failing] }, { kind: 'sampled', otherPieces: [ten], isInQuarantine: false }, actions]
    }),
    ['halves a protocol of which something was accepted', accepted, narrowing(failure(ten)), [sendLast(halves(all))]],
    ['ends at a metric', accepted, narrowing(failure(fresh([bad]))), [], { failing: [alone()] }],
    [
      'ends at the protocol when nothing of it was accepted, that metric neither',
      {},
      narrowing(failure(sample(fresh([bad], 1)))),
      [],
      { failing: [alone(true)] },
    ],
    [
      'ends at the metric that was tried when others of its protocol were accepted since',
      accepted,
      narrowing(failure(sample(fresh([bad], 1)))),
      [],
      { failing: [alone()] },
    ],
    [
      'keeps a protocol in quarantine that was tried with one metric',
      accepted,
      narrowing(failure({ ...fresh([bad], 1), isProbe: true }), [], true),
      [{ kind: 'quarantine-protocol', metric: bad, reason: '503' }],
    ],
    ['is over when all of it was dropped meanwhile', {}, narrowing(failure(ten), []), []],
    ['looks only at what is still due', {}, narrowing(failure(ten), [bad]), [], { failing: [alone()] }],
    [
      'blames those that failed alone at the end',
      { failing: [alone(true), alone()] },
      { kind: 'ending' },
      [
        { kind: 'quarantine-protocol', metric: bad, reason: '503' },
        { kind: 'quarantine-metric', metric: bad, reason: '503' },
      ],
      { failing: [] },
    ],
    [
      'blames none when the service fails, and has others tried next',
      { failing: [alone()], undecided: [failure(fresh([good])), failure(ten)], stop: isDown },
      { kind: 'ending' },
      [{ kind: 'suspect', metrics: [bad, good] }],
    ],
    [
      'has others tried after one that failed alone',
      { failing: [alone()], stop: isDown },
      { kind: 'ending' },
      [{ kind: 'suspect', metrics: [bad] }],
    ],
    ['suspects none where none failed alone', { undecided: [failure(ten)], stop: isDown }, { kind: 'ending' }, []],
    [
      'blames the service after six in a row',
      { ...accepted, failing: Array.from({ length: 5 }, () => alone()) },
      narrowing(failure(fresh([bad]))),
      [],
      { stop: isDown },
    ],
    [
      'blames no service that took metrics of another protocol',
      { acceptedProtocols: new Set(['vault', 'other']), failing: Array.from({ length: 5 }, () => alone()) },
      narrowing(failure(fresh([bad]))),
      [],
      { failing: Array.from({ length: 6 }, () => alone()) },
    ],
  ])
})

describe('a push that is rejected for a protocol', () => {
  const lost: Verdict = { kind: 'protocol-refused', status: 404, reason: 'unknown' }
  const foreign: Verdict = { kind: 'protocol-refused', status: 403, reason: 'not yours' }
  const two = fresh(asBatch([...metrics(2), ...metrics(3, anHour, 'other')]))
  const one = fresh(batchOf(2))
  const once = { ...one, sent: 1 }
  const registrable = { registrable: new Set(['vault']) }
  const quarantine = (status: number, reason: string, isNew = true): FlushAction => {
    return { kind: 'quarantine-rejected', metric: one.batch[0], status, reason, isNew }
  }
  play([
    [
      'is sent again by protocol',
      registrable,
      answered(lost, two),
      [
        sendFirst(
          ...['vault', 'other'].map((id, at) => ({ ...two, sent: 1, batch: asBatch(metrics(2 + at, anHour, id)) })),
        ),
      ],
    ],
    ['quarantines it', {}, answered(lost, one), [quarantine(404, 'unknown')]],
    ['quarantines it once', {}, answered(lost, one, { isInQuarantine: true }), [quarantine(404, 'unknown', false)]],
    [
      'quarantines it for longer when it was tried out of quarantine',
      {},
      answered(lost, { ...one, isProbe: true }, { isInQuarantine: true }),
      [quarantine(404, 'unknown')],
    ],
    ['registers it where that is wanted', registrable, answered(lost, one), [{ kind: 'register', piece: once }]],
    [
      'does not register one that another key owns',
      registrable,
      answered(foreign, one),
      [quarantine(403, 'not yours')],
    ],
    [
      'sends again what was registered',
      registrable,
      { kind: 'registered', piece: once, isInQuarantine: false },
      [sendFirst({ ...once, isRegistered: true })],
    ],
    [
      'quarantines what could not be registered',
      registrable,
      { kind: 'registered', piece: once, refusal: { kind: 'refused', reason: 'taken' }, isInQuarantine: false },
      [quarantine(404, 'taken')],
    ],
    [
      'quarantines what is unknown even after it was registered',
      registrable,
      answered(lost, { ...once, isRegistered: true }),
      [quarantine(404, 'unknown')],
    ],
  ])
})

describe('a flush', () => {
  const redirect: Verdict = { kind: 'misdirected', status: 302, reason: '302' }
  play([
    ['is stopped by a refused key', {}, answered(keyRefused, fresh([bad])), [], { stop: stop('key-refused', '401') }],
    [
      'is stopped by a redirect',
      {},
      answered(redirect, fresh([bad])),
      [],
      { stop: { kind: 'misdirected', reason: '302' } },
    ],
    [
      'is stopped once, whatever happens later',
      { stop: systemic },
      { kind: 'broken', stop: stop('stopped', 'it threw') },
      [],
    ],
  ])
})
