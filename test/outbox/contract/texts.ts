import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fault, faultRecord } from '../../../src/model/fault.ts'
import { readRemark, warningKind, wordsOf } from '../../../src/model/remarks.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { repetitions } from '../../support/soak.ts'
import { emptyAt, type NewPlace } from './place.ts'
import { at, collector, dueOf, nowMs, plan, record, tooOld } from './steps.ts'

/** Any string of JavaScript: halves of surrogate pairs, NUL, marks that turn the direction of text. */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xffff }), fc.constantFrom(0, 0xd83d, 0xde00, 0x202e, 0xfeff, 0x22, 0x5c)), {
    maxLength: 40,
  })
  .map(units => String.fromCharCode(...units))

/** Half of a pair where a text of that length is cut. */
const cutPair = (length: number) => `${'x'.repeat(length - 1)}\u{1F30A}`

/** Promises about texts of other programs: each store takes any, gives it back as it was made, and plans on. */
export function textsContract(newPlace: NewPlace, soakRuns: number): void {
  describe('words of other programs', () => {
    it('are stored whatever they are, and change no plan', async () => {
      const { outbox } = await emptyAt(newPlace)
      let hour = anHour
      const asked = { collectors: [{ id: collector }], protocolIds: ['vault'], destinations: ['d'] }
      const takes = async (text: string) => {
        hour = at((hour - anHour) / 3_600_000 + 1)
        const fault = new Fault('http-unexpected', text, { facts: { [`it ${text}`]: text }, fix: text })
        const [one, two] = metrics(2, hour)
        if (!one || !two) throw new Error('two')
        await plan(outbox, { current: hour })
        await record(outbox, [one, two], { hour, failure: { fault, nextAttemptMs: nowMs } })
        const remark = readRemark({ message: text, metric: one.id }, [one])
        const reason = wordsOf(text)
        const dead = [{ metric: two, reason, status: 400, attempts: 1 }]
        await outbox.delivery.recordVerdicts({ delivered: [one], dead, warnings: [remark] }, nowMs)
        expect(await dueOf(outbox), 'a verdict counts whatever it says').toEqual([])
        const [warning] = (await outbox.operators.warnings()).filter(({ kind }) => kind === warningKind(remark.text))
        expect(warning?.text).toBe(remark.text)
        expect((await outbox.operators.deadOrHeld({ state: 'dead' })).at(-1)?.reason).toBe(reason)
        expect((await outbox.status.lateness({ ...asked, hour })).late[0]?.fault).toEqual(faultRecord(fault))
        await outbox.intake.recordGap(collector, hour, fault)
        expect(await outbox.status.gapCounts([collector], hour, hour)).toEqual([
          { collector, code: 'http-unexpected', hours: 1 },
        ])
        const gap = (await outbox.status.unresolved()).find(({ kind }) => kind === 'gap')
        expect(gap?.reason).toBe(fault.message)
        await outbox.delivery.saveDestination('d', {
          notBeforeMs: 0,
          probeAtMs: 0,
          failures: 1,
          waiting: fault.message,
        })
        expect((await outbox.delivery.destination('d')).waiting).toBe(fault.message)
      }
      for (const length of [120, 160, 300, 500, 1_000]) await takes(cutPair(length))
      await fc.assert(fc.asyncProperty(anyText, takes), { numRuns: repetitions({ test: 15, soak: soakRuns }) })
      const plans = [collector, 'other/c'].map(one =>
        plan(outbox, { collector: one, current: at(400), oldest: at(399) }),
      )
      await Promise.all(plans)
      const counts = await outbox.status.gapCounts([collector], anHour, at(398))
      expect(counts.map(({ code }) => code)).toEqual(['hour-too-old', 'http-unexpected'])
      await plan(outbox, { current: at(400), gapReason: tooOld })
      expect(await outbox.status.gapCounts([collector], anHour, at(398)), 'those alone are due again').toEqual([
        counts[1],
      ])
    })
  })
}
