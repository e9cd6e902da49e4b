import { describe, expect, it } from 'vitest'
import { Doubt, type DoubtDeps } from '../../src/delivery/record/doubt.ts'
import type { Remark } from '../../src/model/remarks.ts'
import { metrics } from '../support/metrics.ts'

/** An outbox that knows of no correction, and put nothing in itself. */
const plain: DoubtDeps = { isCorrection: () => false, unsent: { has: () => false, mayBeSent: () => {} } }
const [one, other] = metrics(2)
if (!one || !other) throw new Error('two metrics')
const exists: Remark = { text: 'already exists', metric: one }
const long: Remark = { text: 'label is too long', metric: one }

describe('that a metric already exists', () => {
  it('is news in a process that has been through all that was due when it started', () => {
    const doubt = new Doubt(plain)
    expect(doubt.news([exists, long], 'first', [one])).toEqual([long])
    doubt.flushed()
    expect(doubt.news([exists, long], 'first', [one])).toEqual([exists, long])
  })

  it('is news from the start of a metric that this process put into the outbox', () => {
    const doubt = new Doubt({ ...plain, unsent: { ...plain.unsent, has: ({ id }) => id === one.id } })
    const ofOther = { ...exists, metric: other }
    expect(doubt.news([exists, ofOther], 'first', [one, other])).toEqual([exists])
    const summary: Remark = { text: '1 metric was updated' }
    expect(doubt.news([summary], 'first', [one])).toEqual([summary])
    expect(doubt.news([summary], 'first', [one, other])).toEqual([])
  })

  it('is none of a metric that was sent before in the same flush', () => {
    const doubt = new Doubt(plain)
    doubt.flushed()
    expect(doubt.news([exists, long], 'again', [one])).toEqual([long])
  })

  it('is none of a metric of which it is not known whether it arrived, until it is settled', () => {
    const doubt = new Doubt(plain)
    doubt.flushed()
    doubt.add([one])
    expect(doubt.news([exists, long], 'first', [one])).toEqual([long])
    const ofOther = { ...exists, metric: other }
    expect(doubt.news([ofOther], 'first', [one, other])).toEqual([ofOther])
    doubt.settled([one])
    expect(doubt.news([exists], 'first', [one])).toEqual([exists])
  })

  it('is none of a metric whose value was corrected since it was sent', () => {
    const doubt = new Doubt({ ...plain, isCorrection: metric => metric.id === one.id })
    doubt.flushed()
    const ofOther = { ...exists, metric: other }
    expect(doubt.news([exists, ofOther, long], 'first', [one, other])).toEqual([ofOther, long])
  })

  it('is none where the service does not say of which, and one of the push is in doubt', () => {
    const doubt = new Doubt(plain)
    doubt.flushed()
    doubt.add([one])
    const summary: Remark = { text: '1 metric was updated' }
    expect(doubt.news([summary], 'first', [one, other])).toEqual([])
    expect(doubt.news([summary], 'first', [other])).toEqual([summary])
  })
})
