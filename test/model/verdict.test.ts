import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Batch } from '../../src/model/batch.ts'
import { hourAfter, hourText } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { type Answer, isForeign, type Verdict, verdict } from '../../src/model/verdict.ts'
import { anHour, metrics } from '../support/metrics.ts'
import { asBatch, batchOf } from './batches.ts'

const answered = (status: number, body?: unknown): Answer => ({ kind: 'answered', status, body })
const result = (processed: unknown, errors: unknown = [], warnings: unknown = [], success: unknown = true) =>
  answered(200, { success, processed, errors, warnings })

/** Verdict on each metric of a batch: `+` delivered, `x` dead, `s` sent again in smaller batches, `.` due. */
function marks(found: Verdict, batch: Batch): string {
  if (found.kind !== 'settled') return found.kind
  const mark = { '+': found.delivered, x: found.dead.map(({ metric }) => metric), s: found.resend }
  return batch
    .map(metric => {
      const said = Object.entries(mark).filter(([, named]) => named.includes(metric))
      return said.map(([sign]) => sign).join('') || '.'
    })
    .join('')
}

describe('the verdict of a status', () => {
  it.each<[string, Answer, string]>([
    ['200, all processed', result(3), '+++'],
    ['201, all processed', answered(201, { success: true, processed: 3, errors: [], warnings: [] }), '+++'],
    ['299, all processed', answered(299, { success: true, processed: 3, errors: [], warnings: [] }), '+++'],
    ['a field more', answered(200, { success: true, processed: 3, errors: [], warnings: [], took: 7 }), '+++'],
    ['a body that is not understood', answered(200, 'OK'), 'transient'],
    ['no body', answered(204), 'transient'],
    ['400', answered(400, { error: 'bad' }), 'refused'],
    ['413', answered(413), 'refused'],
    ['422', answered(422), 'refused'],
    ['401', answered(401), 'key-refused'],
    ['401 with a push result', answered(401, { success: true, processed: 3, errors: [], warnings: [] }), 'key-refused'],
    ['403', answered(403), 'protocol-refused'],
    ['404', answered(404), 'protocol-refused'],
    ['408', answered(408), 'transient'],
    ['425', answered(425), 'transient'],
    ['429', answered(429), 'transient'],
    ['500', answered(500), 'transient'],
    ['500 with a push result', answered(500, { success: true, processed: 3, errors: [], warnings: [] }), 'transient'],
    ['502', answered(502), 'transient'],
    ['503', answered(503), 'transient'],
    ['504', answered(504), 'transient'],
    ['599', answered(599), 'transient'],
    ['300', answered(300), 'misdirected'],
    ['301', answered(301), 'misdirected'],
    ['302', answered(302), 'misdirected'],
    ['303', answered(303), 'misdirected'],
    ['304', answered(304), 'misdirected'],
    ['307', answered(307), 'misdirected'],
    ['308', answered(308), 'misdirected'],
    ...[402, 405, 406, 407, 409, 410, 411, 412, 414, 415, 416, 417, 418, 421, 423, 424, 426, 428, 431, 451, 499].map(
      (status): [string, Answer, string] => [`${status}`, answered(status), 'refused'],
    ),
    ...[100, 101, 103, 600, 999].map((status): [string, Answer, string] => [`${status}`, answered(status), 'refused']),
    ['no answer', { kind: 'unanswered', reason: 'no answer (ECONNRESET)' }, 'transient'],
  ])('%s', (_, answer, kind) => {
    const batch = batchOf(3)
    expect(marks(verdict(answer, batch), batch)).toBe(kind)
  })

  it('says whether a status that refuses is one that the interface names', () => {
    const isUnlisted = (status: number) => {
      const found = verdict(answered(status), batchOf(1))
      return found.kind === 'refused' && found.isUnlisted === true
    }
    expect([400, 413, 422].filter(isUnlisted)).toEqual([])
    expect([101, 402, 405, 409, 410, 418, 451, 600].filter(status => !isUnlisted(status))).toEqual([])
  })

  it('says the status and the service’s words', () => {
    const reasonOf = (answer: Answer) => {
      const found = verdict(answer, batchOf(2))
      return found.kind === 'settled' ? '' : found.reason
    }
    expect(reasonOf(answered(400, { error: 'value must be\n a number' }))).toBe('400: value must be a number')
    expect(reasonOf(answered(422, { errors: ['a', { message: 'b' }, 'a', 'left out'] }))).toBe('422: a; b')
    expect(reasonOf(answered(401))).toBe('401')
    expect(reasonOf(answered(503, 'x'.repeat(5_000))).length).toBeLessThanOrEqual(305)
    expect(reasonOf({ kind: 'unanswered', reason: 'no answer in time' })).toBe('no answer in time')
  })

  it('keeps the instant before which nothing may be sent', () => {
    for (const status of [429, 503, 500, 408, 425]) {
      const answer: Answer = { kind: 'answered', status, body: {}, notBeforeMs: 42 }
      expect(verdict(answer, batchOf(1))).toMatchObject({ kind: 'transient', status, notBeforeMs: 42 })
    }
  })
})

describe('the verdict of a push result', () => {
  const named = (...indexes: number[]) => indexes.map(index => ({ id: `vault___M${index}`, message: 'odd' }))

  it.each<[string, Answer, string]>([
    ['all processed', result(4), '++++'],
    ['one is named and the rest adds up', result(3, named(1)), '+x++'],
    ['… also when success is false', result(3, named(1), [], false), '+x++'],
    ['two are named and the rest adds up', result(2, named(0, 3)), 'x++x'],
    ['one is named twice and the rest adds up', result(3, named(1, 1)), '+x++'],
    ['all but one are named', result(1, named(0, 1, 2)), 'xxx+'],
    ['all are named: as with a 400, it may not be the metrics', result(0, named(0, 1, 2, 3), [], false), 'refused'],
    ['… also when the count says otherwise', result(4, named(0, 1, 2, 3)), 'refused'],
    ['one is named and the rest does not add up', result(2, named(1)), 'ssss'],
    ['one is named and all were processed', result(4, named(1)), 'ssss'],
    ['an error that names none', result(3, ['something is wrong']), 'ssss'],
    ['an error that names none next to one that does', result(2, [...named(1), 'and another thing']), 'ssss'],
    ['an error about a metric of another batch', result(3, [{ id: 'vault___M9' }]), 'ssss'],
    ['errors that are null, numbers, lists and empty', result(1, [null, 7, [], {}]), 'ssss'],
    ['a count that is too small, without a word', result(3), 'ssss'],
    ['none processed, without a word', result(0), 'ssss'],
    ['a count that is too large', result(5), 'ssss'],
    ['success false without errors', result(4, [], [], false), 'transient'],
    ['a negative count', result(-1), 'transient'],
    ['a count as text', result('4'), 'transient'],
    ['a count with a fraction', result(3.5), 'transient'],
    ['no count', answered(200, { success: true, errors: [], warnings: [] }), 'transient'],
    ['errors that are missing or null', answered(200, { success: true, processed: 4, errors: null }), '++++'],
    ['errors that are an empty object or text', result(4, {}), '++++'],
    ['errors that are false', result(4, false), '++++'],
    ['errors that are words', result(3, 'one of them is odd'), 'ssss'],
    ['errors that are an object by id', result(3, { vault___M1: ['odd'] }), '+x++'],
    ['warnings that are null', result(4, [], null), '++++'],
    ['warnings that are missing', answered(200, { success: true, processed: 4, errors: [] }), '++++'],
    ['warnings that are words', result(4, [], 'two labels are long'), '++++'],
    ['nothing but errors', answered(200, { errors: [] }), 'transient'],
    ['success as text', result(4, [], [], 'true'), 'transient'],
    ['a list', answered(200, [{ success: true, processed: 4, errors: [], warnings: [] }]), 'transient'],
    ['null', answered(200, null), 'transient'],
  ])('%s', (_, answer, expected) => {
    const batch = batchOf(4)
    expect(marks(verdict(answer, batch), batch)).toBe(expected)
  })

  it.each<[string, Answer, string]>([
    ['processed', result(1), '+'],
    ['an error, whatever it is about', result(0, ['whatever'], [], false), 'refused'],
    ['not processed, without a word', result(0), 'refused'],
    ['processed twice', result(2), 'transient'],
  ])('of a single metric: %s', (_, answer, expected) => {
    const batch = batchOf(1)
    expect(marks(verdict(answer, batch), batch)).toBe(expected)
  })

  it('gives the dead the service’s words and status', () => {
    const batch = batchOf(3)
    expect(verdict(result(2, [{ id: 'vault___M1', message: 'too odd' }]), batch)).toMatchObject({
      dead: [{ metric: batch[1], reason: 'too odd', status: 200 }],
    })
    expect(verdict(result(0, ['whatever']), batchOf(1))).toMatchObject({ reason: 'whatever', status: 200 })
  })

  const bad = [0, 9, 10, 99]
  const killed = batchOf(100)
    .map((_metric, index) => (bad.includes(index) ? 'x' : '+'))
    .join('')
  const foundBy = (entry: (index: number, id: string) => unknown) => {
    const batch = batchOf(100)
    const errors = bad.map(index => entry(index, batch[index]?.id ?? ''))
    return marks(verdict(result(96, errors), batch), batch)
  }

  it.each([
    ['an id', (_: number, id: string) => ({ id, error: 'refused' })],
    ['an id of a metric', (_: number, id: string) => ({ metricId: id, error: 'refused' })],
    ['a metric', (_: number, id: string) => ({ metric: { id, value: 1 }, reasons: ['refused'] })],
    ['a key that is the id', (_: number, id: string) => ({ [id]: 'refused' })],
    ['an id, whatever the words mention', (_: number, id: string) => ({ id, error: 'differs from vault___M50' })],
    ['an id next to an index from 0', (index: number, id: string) => ({ id, index })],
    ['an id next to an index from 1', (index: number, id: string) => ({ id, index: index + 1 })],
    ['an index and words that agree', (index: number, id: string) => ({ index, message: `${id} is refused` })],
    ['a path and words that agree', (index: number, id: string) => `metrics[${index}]: ${id} is refused`],
  ])('finds the dead by %s', (_, entry) => {
    expect(foundBy(entry)).toBe(killed)
  })

  it.each([
    ['words', (_: number, id: string) => `${id} is refused`],
    ['words with another count', (index: number, id: string) => `metrics[${index + 1}] (${id}) is refused`],
    ['an index, counted from 0 or from 1', (index: number) => ({ index, message: 'refused' })],
    ['a position', (index: number) => ({ position: index, message: 'refused' })],
    ['an i', (index: number) => ({ i: index, message: 'refused' })],
    ['a path of parts', (index: number) => ({ path: ['metrics', index, 'value'], message: 'refused' })],
    ['a path as text', (index: number) => ({ path: `metrics[${index}].value`, message: 'refused' })],
    ['a pointer', (index: number) => ({ pointer: `/metrics/${index}/value`, message: 'refused' })],
    ['a list', (_: number, id: string) => [id, 'refused']],
    ['an index next to the id of another', (index: number) => ({ index, message: 'differs from vault___M50' })],
    ['an id in some other field', (_: number, id: string) => ({ collidesWith: id, message: 'refused' })],
    ['an id whose index is another’s', (index: number, id: string) => ({ id, index: index + 2 })],
  ])('does not believe %s: who is meant is found by splitting', (_, entry) => {
    expect(foundBy(entry)).toBe('s'.repeat(100))
  })

  it('tells apart ids that begin or end alike', () => {
    const ids = ['TVL', 'TVL2', 'TVL-2', 'TVL_2', 'MyTVL'].map(label => metricId('vault', label))
    const others = [metricId('my-vault', 'TVL'), metricId('vault', 'TVL.24h')]
    const batch = asBatch([...ids, ...others].map(id => ({ id, protocolId: 'vault', hour: anHour, value: 1 })))
    for (const dead of batch) {
      const found = verdict(result(batch.length - 1, [{ id: dead.id, message: `${dead.id}: bad` }]), batch)
      expect(marks(found, batch)).toBe(batch.map(metric => (metric === dead ? 'x' : '+')).join(''))
    }
  })

  it('tells several hours of one id in a batch apart by the timestamp, else sends them again', () => {
    const hours = [0, 1, 2].map(count => hourAfter(anHour, count))
    const batch = asBatch(hours.flatMap(hour => metrics(2, hour)))
    const dated = (timestamp: string) => result(5, [{ id: 'vault___M1', timestamp, message: 'odd' }])
    expect(marks(verdict(dated(hourText(hourAfter(anHour, 1))), batch), batch)).toBe('+++x++')
    expect(marks(verdict(dated('2026-11-20T15:00:00.000+00:00'), batch), batch)).toBe('+++++x')
    expect(marks(verdict(dated('2026-11-20T15:00:00+01:00'), batch), batch)).toBe('+++x++')
    expect(marks(verdict(dated('2026-11-20T14:00:00'), batch), batch)).toBe('+++x++')
    expect(marks(verdict(dated('2026-11-20T23:00:00Z'), batch), batch)).toBe('ssssss')
    expect(marks(verdict(result(5, [{ id: 'vault___M1' }]), batch), batch)).toBe('ssssss')
    expect(marks(verdict(result(5, [{ id: 'vault___M1', index: 3 }]), batch), batch)).toBe('+++x++')
  })

  it('keeps the warnings, each with its metric', () => {
    const batch = batchOf(3)
    const warnings = ['vault___M1: label is long', { id: 'vault___M2', message: 'already exists' }, 'hm']
    expect(verdict(result(3, [], warnings), batch)).toMatchObject({
      warnings: [
        { text: 'vault___M1: label is long', metric: batch[1] },
        { text: 'already exists', metric: batch[2] },
        { text: 'hm' },
      ],
    })
  })

  it('reads no more remarks than a push can have', () => {
    const batch = batchOf(2)
    const found = verdict(result(2, [], Array(200_000).fill('vault___M1 is long')), batch)
    expect(found.kind === 'settled' && found.warnings.length).toBe(500)
    expect(marks(verdict(result(1, Array(500).fill({ id: 'vault___M1' })), batch), batch)).toBe('+x')
    expect(marks(verdict(result(1, Array(501).fill({ id: 'vault___M1' })), batch), batch)).toBe('ss')
  })

  it('reads words that nest deeper than can be written again', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    const found = verdict(result(3, [], [deep]), batchOf(3))
    expect(found).toMatchObject({ kind: 'settled', warnings: [{ text: 'words nested too deeply to be read' }] })
    expect(verdict(answered(400, deep), batchOf(3))).toMatchObject({ kind: 'refused' })
  })
})

describe('whatever the answer', () => {
  const batch = asBatch([0, 1, 2].flatMap(count => metrics(4, hourAfter(anHour, count))))
  const id = fc.constantFrom(...batch.map(metric => metric.id), 'vault___M', 'vault___M99', 'other___M1')
  const entry = fc.oneof(
    fc.record(
      {
        id,
        index: fc.integer({ min: -2, max: 14 }),
        timestamp: fc.constantFrom(...batch.map(({ hour }) => hourText(hour)), 'soon', null),
        message: fc.oneof(fc.string(), id),
        path: fc.array(fc.oneof(fc.constant('metrics'), fc.integer({ min: 0, max: 13 }))),
      },
      { requiredKeys: [] },
    ),
    fc.tuple(id, fc.string()).map(([one, text]) => `${one} ${text}`),
    fc.integer({ min: 0, max: 120 }).map(index => `metrics[${index}] is odd`),
    fc.anything(),
  )
  const pushResult = fc.record({
    success: fc.boolean(),
    processed: fc.integer({ min: 0, max: 14 }),
    errors: fc.array(entry, { maxLength: 14 }),
    warnings: fc.array(entry, { maxLength: 3 }),
  })

  it('each metric is at most one of delivered, dead and sent again, and nothing else is named', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(pushResult, fc.anything()), (status, body) => {
        const found = verdict({ kind: 'answered', status, body }, batch)
        if (found.kind !== 'settled') return
        const spoken = [...found.delivered, ...found.dead.map(({ metric }) => metric), ...found.resend]
        expect(new Set(spoken).size).toBe(spoken.length)
        expect(spoken.every(metric => batch.includes(metric))).toBe(true)
        for (const { metric } of found.warnings) expect(metric === undefined || batch.includes(metric)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('silence means due: only a 2xx of the right form delivers or kills, and then the count adds up', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), pushResult, (status, body) => {
        const found = verdict({ kind: 'answered', status, body }, batch)
        if (found.kind !== 'settled' || found.resend.length > 0) return
        expect(status >= 200 && status < 300).toBe(true)
        expect(found.delivered.length).toBe(body.processed)
        expect(found.delivered.length + found.dead.length).toBe(batch.length)
        expect(found.dead.length > 0).toBe(body.errors.length > 0)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('an answer that is not the service’s', () => {
  it.for<[status: number, body: unknown, described: string | undefined, isForeign: boolean]>([
    [200, undefined, undefined, false],
    [200, undefined, 'text/plain', false],
    [200, undefined, 'text/html, "Sign in"', true],
    [200, {}, 'text/html', false],
    [299, undefined, 'text/html', true],
    [199, undefined, 'text/html', false],
    [300, {}, undefined, true],
    [399, {}, undefined, true],
    [400, undefined, 'text/html', false],
  ])('%i with %o, said to be %s: %s', ([status, body, described, expected]) => {
    const answer = { kind: 'answered', status, body, ...(described !== undefined && { described }) } as const
    expect(isForeign(answer)).toBe(expected)
  })

  it('names its form where that is known', () => {
    const reasonOf = (answer: Answer) => {
      const judgement = verdict(answer, batchOf(1))
      return judgement.kind === 'transient' ? judgement.reason : judgement.kind
    }
    const words = 'the answer is not a push result'
    expect(reasonOf(answered(200, {}))).toBe(`${words}: it is unknown what was stored`)
    const described: Answer = { kind: 'answered', status: 200, body: undefined, described: 'text/plain' }
    expect(reasonOf(described)).toBe(`${words} (200: text/plain): it is unknown what was stored`)
  })
})
