import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Metric } from '../../../src/model/metric.ts'
import type { CollectionOutcome } from '../../../src/outbox/contract/hours.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import { metricLine, modelKey, OutboxModel } from './outbox-model.ts'
import { emptyAt, type Handles, type NewPlace } from './place.ts'
import { at, deliver, dueOf, failedUntil, hoursOf, nowMs, odd, plan, refuse, unreachable } from './steps.ts'

const protocols = ['vault', 'market'] as const
const span = 5
const catchUp = 3

const protocol = fc.constantFrom(...protocols)
const hour = fc.nat({ max: span })
const chosen = fc.option(fc.subarray([...protocols]), { nil: undefined })
const value = fc.record({ label: fc.nat({ max: 2 }), value: fc.nat({ max: 2 }), isHeld: fc.boolean() })

const recorded = fc.record({
  what: fc.constant('record' as const),
  protocol,
  hour,
  values: fc.uniqueArray(value, { selector: ({ label }) => label, maxLength: 3 }),
  isCorrection: fc.boolean(),
  isFailed: fc.boolean(),
})
const decided = fc.record({
  what: fc.constantFrom('release', 'drop'),
  state: fc.constantFrom('dead', 'held'),
  protocols: chosen,
})

/** The next action; hours count from `anHour`. */
const step = fc.oneof(
  { weight: 5, arbitrary: recorded },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('send' as const), limit: fc.nat({ max: 8 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constantFrom('delivered', 'dead'), which: fc.nat({ max: 9 }) }),
  },
  { weight: 3, arbitrary: decided },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('dropDue' as const), protocols: chosen }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('plan' as const), protocol, hour }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('gap' as const), protocol, hour }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('look' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('restart' as const) }) },
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type Recording = typeof recorded extends fc.Arbitrary<infer T> ? T : never

function outcomeOf({ protocol: id, hour: count, values, isCorrection, isFailed }: Recording): CollectionOutcome {
  const accepted = values.map(({ label, value: number, isHeld }) => {
    const [metric] = metrics(label + 1, at(count), id).slice(label)
    if (!metric) throw new Error('no such metric')
    return { metric: { ...metric, value: number }, ...(isHeld && { hold: odd }) }
  })
  return {
    ...{
      collector: `${id}/c`,
      hour: at(count),
      acceptedValues: accepted,
      mode: isCorrection ? 'correct' : 'first-stands',
    },
    ...(isFailed && { failure: failedUntil(nowMs + 5) }),
  }
}

/** An outbox and its model, to which the same is done. */
class Pair {
  readonly model = new OutboxModel(anHour)
  readonly #handles: Handles
  readonly #two: [Outbox, Outbox]
  readonly #looks: [readonly Metric[], readonly Metric[]] = [[], []]
  /** Metrics that were sent and not answered. */
  readonly #sent: (readonly Metric[])[] = []

  constructor(handles: Handles, two: [Outbox, Outbox]) {
    this.#handles = handles
    this.#two = two
  }

  async take(who: 0 | 1, done: Step): Promise<void> {
    const outbox = this.#two[who]
    const { model } = this
    switch (done.what) {
      case 'record': {
        const outcome = outcomeOf(done)
        return expect(await outbox.intake.record(outcome, nowMs)).toEqual(model.record(outcome))
      }
      case 'send':
        return void this.#sent.push(await dueOf(outbox, {}, done.limit))
      case 'delivered':
      case 'dead':
        return this.#answer(outbox, done.what, done.which)
      case 'release': {
        const { state, protocols: ids } = done
        const released = await outbox.operators.release({ state, ...(ids && { ids }) }, 'locked')
        return expect(released).toBe(model.decide(state, 'due', ids))
      }
      case 'drop': {
        const { state, protocols: ids } = done
        const dropped = await outbox.operators.drop({ state, ...(ids && { ids }) })
        return expect(dropped).toBe(model.decide(state, 'dropped', ids))
      }
      case 'dropDue': {
        const { protocols: protocolIds } = done
        const dropped = await outbox.operators.dropDue(protocolIds ? { protocolIds } : {})
        return expect(dropped).toBe(model.decide('due', 'dropped', protocolIds))
      }
      case 'plan': {
        const own = { collector: `${done.protocol}/c`, current: at(done.hour), oldest: at(done.hour - catchUp) }
        return expect(await plan(outbox, own)).toBe(model.plan(own.collector, own.current, own.oldest))
      }
      case 'gap':
        model.recordGap(`${done.protocol}/c`, at(done.hour), unreachable.code)
        return outbox.intake.recordGap(`${done.protocol}/c`, at(done.hour), unreachable)
      case 'look':
        return this.#look(who)
      case 'restart':
        this.#looks[who] = []
        this.#two[who] = await this.#handles.replaced(outbox)
    }
  }

  async #answer(outbox: Outbox, state: 'delivered' | 'dead', which: number): Promise<void> {
    const [sent] = this.#sent.splice(which % Math.max(1, this.#sent.length), 1)
    if (!sent) return
    await (state === 'dead' ? refuse : deliver)(outbox, sent)
    this.model.verdict(sent, state)
  }

  /** Metrics due at the last look are withdrawn, or found again; then looks again. */
  async #look(who: 0 | 1): Promise<void> {
    const outbox = this.#two[who]
    const last = this.#looks[who]
    const still = await outbox.delivery.stillDue(last)
    const due = this.model.keysIn('due')
    expect(still.map(modelKey)).toEqual(last.map(modelKey).filter(key => due.has(key)))
    const all = await dueOf(outbox)
    expect(new Set(all.map(modelKey))).toEqual(due)
    this.#looks[who] = all
  }

  /** Both handles show what the model has. */
  async agree(): Promise<void> {
    for (const outbox of this.#two) {
      const all = await outbox.operators.metrics(anHour, at(span))
      expect(all.map(metric => metricLine(metric, metric.state)).toSorted()).toEqual(this.model.metrics)
      const { balance, byProtocol } = await outbox.delivery.backlog()
      expect(balance).toEqual(this.model.balance)
      for (const id of protocols) expect(byProtocol.get(id) ?? { due: 0, finished: 0 }).toEqual(this.model.countsOf(id))
      expect(new Set((await dueOf(outbox)).map(modelKey))).toEqual(this.model.keysIn('due'))
      for (const state of ['dead', 'held'] as const) {
        const found = await outbox.operators.deadOrHeld({ state })
        expect(new Set(found.map(modelKey))).toEqual(this.model.keysIn(state))
      }
      const hours = (await hoursOf(outbox, anHour, at(span))).map(({ fault, ...row }) => ({
        ...row,
        ...(fault && { code: fault.code }),
      }))
      expect(hours).toEqual(this.model.hours)
    }
  }
}

/** The whole outbox against a model of its promises. */
export function modelContract(newPlace: NewPlace, soakRuns: number): void {
  describe('whatever two processes do', () => {
    it('is what a plain model of the promises does', async () => {
      const steps = fc.array(fc.tuple(fc.constantFrom(0 as const, 1 as const), step), { maxLength: 30 })
      await fc.assert(
        fc.asyncProperty(steps, async done => {
          const { outbox, handles } = await emptyAt(newPlace)
          const pair = new Pair(handles, [outbox, await handles.another()])
          for (const id of protocols) await pair.take(0, { what: 'plan', protocol: id, hour: 0 })
          for (const [who, one] of done) {
            await pair.take(who, one)
            await pair.agree()
          }
          await handles.closeAll()
        }),
        { numRuns: repetitions({ test: 8, soak: soakRuns }) },
      )
    })
  })
}
