import { describe, expect, it } from 'vitest'
import { UnconfirmedSends, type UnconfirmedSendsDeps } from '../../../src/delivery/record/unconfirmed-sends.ts'
import type { Remark } from '../../../src/model/remarks.ts'
import { metrics } from '../../support/metrics.ts'

/** An outbox that knows of no correction, and put nothing in itself. */
const plain: UnconfirmedSendsDeps = { isCorrection: () => false, unsent: { has: () => false, mayBeSent: () => {} } }
const [one, other] = metrics(2)
if (!one || !other) throw new Error('two metrics')
const exists: Remark = { text: 'already exists', metric: one }
const long: Remark = { text: 'label is too long', metric: one }

describe('that a metric already exists', () => {
  it('is news in a process that has been through all that was due when it started', () => {
    const unconfirmed = new UnconfirmedSends(plain)
    expect(unconfirmed.news([exists, long], 'first', [one])).toEqual([long])
    unconfirmed.endFirstFlush()
    expect(unconfirmed.news([exists, long], 'first', [one])).toEqual([exists, long])
  })

  it('is news from the start of a metric that this process put into the outbox', () => {
    const unconfirmed = new UnconfirmedSends({ ...plain, unsent: { ...plain.unsent, has: ({ id }) => id === one.id } })
    const ofOther = { ...exists, metric: other }
    expect(unconfirmed.news([exists, ofOther], 'first', [one, other])).toEqual([exists])
    const summary: Remark = { text: '1 metric was updated' }
    expect(unconfirmed.news([summary], 'first', [one])).toEqual([summary])
    expect(unconfirmed.news([summary], 'first', [one, other])).toEqual([])
  })

  it('is no news of a metric that was sent before in the same flush', () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    expect(unconfirmed.news([exists, long], 'again', [one])).toEqual([long])
  })

  it('is no news of a metric of which it is not known whether it arrived, until that is recorded', () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    unconfirmed.add([one])
    expect(unconfirmed.news([exists, long], 'first', [one])).toEqual([long])
    const ofOther = { ...exists, metric: other }
    expect(unconfirmed.news([ofOther], 'first', [one, other])).toEqual([ofOther])
    unconfirmed.remove([one])
    expect(unconfirmed.news([exists], 'first', [one])).toEqual([exists])
  })

  it('is no news of a metric whose value was corrected since it was sent', () => {
    const unconfirmed = new UnconfirmedSends({ ...plain, isCorrection: metric => metric.id === one.id })
    unconfirmed.endFirstFlush()
    const ofOther = { ...exists, metric: other }
    expect(unconfirmed.news([exists, ofOther, long], 'first', [one, other])).toEqual([ofOther, long])
  })

  it('is no news where the service does not say of which, and one of the push is unconfirmed', () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    unconfirmed.add([one])
    const summary: Remark = { text: '1 metric was updated' }
    expect(unconfirmed.news([summary], 'first', [one, other])).toEqual([])
    expect(unconfirmed.news([summary], 'first', [other])).toEqual([summary])
  })
})
