import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import type { Batch } from '../../../src/model/batch.ts'
import type { Metric } from '../../../src/model/metric.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import { answered, eachRefused } from '../support/answers.ts'
import { FlushBench } from '../support/flush-bench.ts'
import { protocol } from '../support/protocol.ts'

/** Answers of a service to a push, for a metric in it or as it likes. */
const answers: readonly ((batch: Batch) => Answer | undefined)[] = [
  () => undefined,
  () => answered(400),
  () => answered(401),
  () => answered(403),
  () => answered(404),
  () => answered(413),
  () => answered(418),
  () => answered(422),
  () => answered(429),
  () => answered(302),
  () => answered(500),
  () => answered(503, 99),
  () => ({ kind: 'unanswered', reason: 'no answer in time' }),
  () => ({ kind: 'answered', status: 200, body: 'hello' }),
  eachRefused,
  batch => counted(batch.length - 1),
  batch => counted(0, batch.length > 1 ? [{ id: batch[0].id, message: 'odd' }] : ['odd']),
  batch => counted(batch.length - 1, [{ id: batch[0].id, message: 'odd' }]),
]

function counted(processed: number, errors: readonly unknown[] = []): Answer {
  return { kind: 'answered', status: 200, body: { success: errors.length === 0, processed, errors, warnings: [] } }
}

const scene = fc.record({
  seed: fc.integer(),
  width: fc.integer({ min: 1, max: 8 }),
  count: fc.integer({ min: 1, max: 150 }),
  /** Of the metrics, which the service always answers in a way of their own. */
  badPart: fc.constantFrom(0, 0.01, 0.05, 0.5, 1),
  /** Of the pushes, which it answers as it likes. */
  moodyPart: fc.constantFrom(0, 0, 0.02, 0.3, 1),
  /** Pushes after which it answers everything in one way. */
  turnsAfter: fc.option(fc.integer({ min: 0, max: 30 })),
  mostTurns: fc.constantFrom(1, 2, 5, 30),
  /** Turns that the outbox takes to look, and again to answer, at most. */
  mostStoreTurns: fc.constantFrom(0, 0, 1, 4),
  /** Of the pushes, during which a person drops a metric. */
  dropPart: fc.constantFrom(0, 0, 0.2),
  hasDelivered: fc.boolean(),
})

/** A service that answers some metrics, some pushes, and from some push on all of them, in ways drawn by lot. */
function script({ seed, badPart, moodyPart, turnsAfter }: typeof scene extends fc.Arbitrary<infer S> ? S : never) {
  const { roll, whole } = dice(seed)
  const draw = () => answers[whole(0, answers.length - 1)]
  const late = draw()
  const ways = new Map<string, ReturnType<typeof draw>>()
  const wayOf = ({ id }: Metric) => {
    if (!ways.has(id)) ways.set(id, roll() < badPart ? draw() : undefined)
    return ways.get(id)
  }
  return (batch: Batch, { pushes }: FlushBench): Answer | undefined => {
    if (turnsAfter !== null && pushes.length > turnsAfter) return late?.(batch)
    if (roll() < moodyPart) return draw()?.(batch)
    for (const metric of batch) {
      const answer = wayOf(metric)?.(batch)
      if (answer) return answer
    }
    return undefined
  }
}

describe('a flush against any service', () => {
  it('ends, with every metric delivered, dead, or due with a reason', async () => {
    await fc.assert(
      fc.asyncProperty(scene, async given => {
        const ids = ['vault', 'other', 'lost']
        const due = ids.flatMap(id => metrics(given.count, anHour, id))
        const { roll, whole } = dice(given.seed)
        const answer = script(given)
        const rule = (batch: Batch, own: FlushBench) => {
          if (roll() < given.dropPart) own.drop([...own.due].slice(whole(0, 99)).slice(0, 1))
          return answer(batch, own)
        }
        const bench = new FlushBench(due, rule, {
          protocols: ids.map(id => protocol(id, id === 'lost')),
          delayTurns: () => whole(1, given.mostTurns),
          storeTurns: () => whole(0, given.mostStoreTurns),
        })
        bench.hasDelivered = given.hasDelivered
        const stop = await bench.flush(given.width)
        expect(bench.underWay).toBe(0)
        expect(bench.delivered.length + bench.dead.length + bench.due.size + bench.dropped.size).toBe(due.length)
        // Far more than any takes: a bad one is alone after seven, and dead after twelve more.
        expect(bench.pushes.length).toBeLessThanOrEqual(due.length * 16)
        if (stop) return
        const quarantined = new Set([...bench.rejectedProtocols, ...bench.failingProtocols])
        for (const metric of bench.due) {
          const isQuarantined = quarantined.has(metric.protocolId) || bench.quarantined.includes(metric)
          // One that is rejected, and answered otherwise when it is sent once more, is left to the next flush.
          const last = bench.lastAlone(metric)?.kind
          expect(isQuarantined || last === 'transient' || last === 'protocol-refused' || last === 'misdirected').toBe(
            true,
          )
        }
      }),
      { numRuns: repetitions({ test: 60, soak: 10_000 }) },
    )
  })
})
