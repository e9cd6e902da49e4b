import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  agreedHour,
  type ClockEvidence,
  clockAgreeMs,
  clockPatienceLongMs,
  clockPatienceMs,
  judgeClock,
} from '../../src/model/clock.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { anHour } from '../support/metrics.ts'

const minuteMs = 60_000
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs
/** The true time. */
const trueMs = anHour + 11 * minuteMs

type Parts = Partial<Omit<ClockEvidence, 'wallMs'>>

/** A clock that is off, just started, where a service could say more and does not. */
const judged = (offMs: number, parts: Parts = {}) =>
  judgeClock({ wallMs: trueMs + offMs, evenMs: 0, witness: 'silent', ...parts })

const head = (lagMs = 12_000) => ({ chain: 'ethereum', nowMs: trueMs - lagMs })
const expected = (offMs: number, isConfirmed = true) => ({
  nowMs: trueMs,
  isConfirmed,
  isMet: Math.abs(offMs) <= 10_000,
})

const wrong: readonly (readonly [string, number])[] = [
  ['an hour behind', -hourMs],
  ['an hour ahead', hourMs],
  ['5 h behind', -5 * hourMs],
  ['5 h ahead', 5 * hourMs],
  ['30 days behind', -30 * dayMs],
  ['30 days ahead', 30 * dayMs],
  ['50 years behind', -50 * yearMs],
  ['50 years ahead', 50 * yearMs],
]

describe('a clock that is right', () => {
  it.each<[string, Parts]>([
    ['the service agrees', { serviceMs: trueMs }],
    ['a chain agrees', { head: head() }],
    ['a chain agrees and the service does not', { head: head(), serviceMs: trueMs + 3 * hourMs }],
    ['the service agrees, and a chain is ahead of it', { head: head(-hourMs), serviceMs: trueMs }],
    [
      'it is what it should be, whatever the service says',
      { expectedTime: expected(0), serviceMs: trueMs - 3 * hourMs },
    ],
  ])('is confirmed where %s', (_, parts) => {
    expect(judged(0, parts)).toMatchObject({ kind: 'trusted', isConfirmed: true })
  })

  it.each<[string, Parts]>([
    [
      'the service is in this process, and the configuration was written within the hour',
      { witness: 'none', configuredMs: trueMs - 50 * minuteMs },
    ],
    ['so it is at a start soon after', { witness: 'none', storedMs: trueMs - 50 * minuteMs }],
    ['the configuration was written just now', { configuredMs: trueMs - minuteMs }],
    ['it has gone evenly for long enough', { evenMs: clockPatienceMs, storedMs: trueMs - 30 * dayMs }],
    ['it is what it should be', { expectedTime: expected(0, false) }],
    [
      'what is stored says otherwise, and no witness for long',
      { storedMs: trueMs + dayMs, evenMs: clockPatienceLongMs },
    ],
  ])('is believed without a witness where %s', (_, parts) => {
    expect(judged(0, parts)).toMatchObject({ kind: 'trusted', isConfirmed: false })
  })

  it.each<[string, Parts]>([
    ['no witness has answered yet', { witness: 'awaited', configuredMs: trueMs - minuteMs }],
    ['no witness answers', {}],
    ['it is the first start of an old configuration', { witness: 'none', configuredMs: trueMs - hourMs }],
    ['nothing was written within the hour', { witness: 'none', storedMs: trueMs - hourMs }],
    ['the last hour is long ago', { witness: 'none', storedMs: trueMs - 3 * hourMs }],
    ['the last block is old', { head: head(3 * hourMs) }],
  ])('is not believed at once where %s', (_, parts) => {
    expect(judged(0, parts)).toMatchObject({ kind: 'doubted', why: 'unconfirmed' })
  })
})

describe('a clock that is wrong', () => {
  const evidence: readonly (readonly [string, (offMs: number) => Parts])[] = [
    ['the service', () => ({ serviceMs: trueMs })],
    ['the service, however long it has gone evenly', () => ({ serviceMs: trueMs, evenMs: dayMs })],
    ['the service, although the configuration is new', offMs => ({ serviceMs: trueMs, configuredMs: trueMs + offMs })],
    [
      'the service, although it was believed',
      () => ({ serviceMs: trueMs, expectedTime: { nowMs: trueMs, isConfirmed: false, isMet: true } }),
    ],
    ['what it should be', offMs => ({ expectedTime: expected(offMs) })],
    ['what it should be, and the service', offMs => ({ expectedTime: expected(offMs), serviceMs: trueMs })],
    ['what it should be, and a chain', offMs => ({ expectedTime: expected(offMs), head: head() })],
    ['nothing yet', () => ({ storedMs: trueMs - hourMs })],
    ['nothing, before there is an outbox', () => ({})],
  ]
  it.each(evidence.flatMap(([who, parts]) => wrong.map(([what, offMs]) => [what, who, offMs, parts] as const)))(
    '%s is not believed against %s',
    (_what, _who, offMs, parts) => {
      const verdict = judged(offMs, parts(offMs))
      expect(verdict.kind).toBe('doubted')
      expect(agreedHour(verdict)).toBeUndefined()
    },
  )

  it.each(wrong.filter(([, offMs]) => offMs < 0))('%s is not believed against a chain’s last block', (_, offMs) => {
    expect(judged(offMs, { head: head(), evenMs: dayMs })).toMatchObject({ kind: 'doubted', why: 'contradicted' })
  })

  it.each(wrong.filter(([, offMs]) => offMs < 0))('%s is not believed soon against what is stored', (_, offMs) => {
    for (const parts of [{ storedMs: trueMs - minuteMs }, { configuredMs: trueMs }] as const)
      expect(judged(offMs, { ...parts, evenMs: clockPatienceMs, witness: 'none' }).kind).toBe('doubted')
  })

  it.each(wrong.slice(-2))('%s is never believed alone: it cannot be', (_, offMs) => {
    expect(judged(offMs, { evenMs: 30 * dayMs, witness: 'none' })).toMatchObject({ why: 'contradicted' })
  })

  it('by a minute counts only where it makes no other hour', () => {
    for (const offMs of [-minuteMs, minuteMs]) {
      for (const parts of [
        { serviceMs: trueMs },
        { serviceMs: trueMs, expectedTime: expected(offMs), evenMs: clockPatienceMs },
      ]) {
        expect(agreedHour(judged(offMs, parts))).toBe(anHour)
      }
      const nearMs = hourAfter(anHour, 1) - Math.sign(offMs) * 30_000
      const near = judgeClock({ wallMs: nearMs + offMs, evenMs: 0, witness: 'silent', serviceMs: nearMs })
      expect(near.kind).toBe('trusted')
      expect(agreedHour(near)).toBeUndefined()
    }
  })

  it.each([
    [-130 * minuteMs, { serviceMs: trueMs }, "this machine's clock is 130 min behind the service's: set it right"],
    [-(3 * hourMs - 1000), { serviceMs: trueMs }, "this machine's clock is 3 h behind the service's: set it right"],
    [3 * hourMs - 1000, { serviceMs: trueMs }, "this machine's clock is 3 h ahead of the service's: set it right"],
    [5 * hourMs, { serviceMs: trueMs }, "this machine's clock is 5 h ahead of the service's: set it right"],
    [-30 * dayMs, { head: head() }, "this machine's clock is 30 d behind the last block of ethereum: set it right"],
    [-50 * yearMs, {}, "this machine's clock says 1976-12-02T13:11:00Z, which cannot be: set it right"],
    [-hourMs, { storedMs: trueMs }, 'has said 2026-11-20T13:11:00Z before: set it right'],
    [5 * hourMs, { expectedTime: expected(5 * hourMs) }, "this machine's clock was set 5 h ahead, and it"],
  ] as const)('by %d ms is reported with what to do', (offMs, parts, sentence) => {
    expect(judged(offMs, parts)).toMatchObject({ kind: 'doubted', reason: expect.stringContaining(sentence) })
  })

  it('by minutes is worked with, and reported', () => {
    expect(judged(-20 * minuteMs, { serviceMs: trueMs })).toMatchObject({
      kind: 'trusted',
      remark: expect.stringContaining("this machine's clock is 20 min behind the service's: set it right"),
    })
    expect(judged(-4 * minuteMs, { serviceMs: trueMs })).not.toHaveProperty('remark')
    expect(judged(0, { head: head(20 * minuteMs), evenMs: clockPatienceMs })).toMatchObject({
      kind: 'trusted',
      isConfirmed: false,
      remark: expect.stringContaining('is 20 min ahead of the last block of ethereum: let its node catch up, or set'),
    })
    expect(judged(0, { head: head(6 * minuteMs), evenMs: clockPatienceMs })).not.toHaveProperty('remark')
  })
})

describe('whatever is known', () => {
  const instant = fc.integer({ min: trueMs - 60 * yearMs, max: trueMs + 60 * yearMs })
  const near = fc.integer({ min: trueMs - 2 * hourMs, max: trueMs + 2 * hourMs })
  const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined })
  const evidence = fc
    .record({
      wallMs: fc.oneof(instant, near),
      evenMs: fc.integer({ min: 0, max: dayMs }),
      expectedTime: optional(fc.record({ nowMs: near, isConfirmed: fc.boolean(), isMet: fc.boolean() })),
      serviceMs: optional(fc.oneof(instant, near)),
      head: optional(fc.record({ chain: fc.constant('base'), nowMs: near })),
      storedMs: optional(near),
      configuredMs: optional(near),
      witness: fc.constantFrom('awaited' as const, 'silent' as const, 'none' as const),
    })
    .map(
      ({ expectedTime: known, serviceMs, head: block, storedMs, configuredMs, ...rest }): ClockEvidence => ({
        ...rest,
        ...(known && { expectedTime: known }),
        ...(serviceMs !== undefined && { serviceMs }),
        ...(block && { head: block }),
        ...(storedMs !== undefined && { storedMs }),
        ...(configuredMs !== undefined && { configuredMs }),
      }),
    )

  it('no hour is agreed on that this machine, or a service that is near, is not in', () => {
    fc.assert(
      fc.property(evidence, known => {
        const hour = agreedHour(judgeClock(known))
        if (hour === undefined) return
        expect(hour).toBe(hourAt(known.wallMs))
        const { serviceMs } = known
        if (serviceMs !== undefined && Math.abs(serviceMs - known.wallMs) <= clockAgreeMs)
          expect(hour).toBe(hourAt(serviceMs))
      }),
    )
  })

  it('a clock is confirmed by the service, by a chain or by what it was before, and by nothing else', () => {
    fc.assert(
      fc.property(evidence, known => {
        const verdict = judgeClock(known)
        if (verdict.kind === 'doubted' || !verdict.isConfirmed) return
        const { wallMs, serviceMs, head: block, expectedTime: before } = known
        const isByService = serviceMs !== undefined && Math.abs(serviceMs - wallMs) <= clockAgreeMs
        const isByChain = block !== undefined && Math.abs(block.nowMs - wallMs) <= 5 * minuteMs
        expect(isByService || isByChain || (before?.isMet === true && before.isConfirmed)).toBe(true)
      }),
    )
  })

  it('a service that is far off is never overruled by the machine alone', () => {
    fc.assert(
      fc.property(evidence, known => {
        const { head: _, expectedTime: __, ...alone } = known
        const verdict = judgeClock(alone)
        if (alone.serviceMs !== undefined && Math.abs(alone.serviceMs - alone.wallMs) > clockAgreeMs) {
          expect(verdict).toMatchObject({ kind: 'doubted', why: 'contradicted' })
        }
      }),
    )
  })
})
