import { describe, expect, it } from 'vitest'
import { UnconfirmedSends } from '../../../src/delivery/recorder.ts'
import type { Remark } from '../../../src/model/remarks.ts'
import type { DeliveryStore, SentBefore } from '../../../src/outbox/contract/delivery-store.ts'
import { metrics } from '../../support/metrics.ts'

type UnconfirmedStore = Pick<DeliveryStore, 'sentBefore' | 'maybeSent'>

/** An outbox that knows of no correction, and put nothing in itself. */
const plain: UnconfirmedStore = { maybeSent: () => {}, sentBefore: async metrics => metrics.map(() => 'unknown') }

/** An outbox that knows when one metric was sent. */
const knowing = (known: string, before: SentBefore): UnconfirmedStore => ({
  ...plain,
  sentBefore: async metrics => metrics.map(({ id }) => (id === known ? before : 'unknown')),
})

const [one, other] = metrics(2)
if (!one || !other) throw new Error('two metrics')
const exists: Remark = { text: 'already exists', metric: one }
const long: Remark = { text: 'label is too long', metric: one }

describe('that a metric already exists', () => {
  it('is news in a process that has been through all that was due when it started', async () => {
    const unconfirmed = new UnconfirmedSends(plain)
    expect(await unconfirmed.unexpectedWarnings([exists, long], 'first', [one])).toEqual([long])
    unconfirmed.endFirstFlush()
    expect(await unconfirmed.unexpectedWarnings([exists, long], 'first', [one])).toEqual([exists, long])
  })

  it('is news from the start of a metric that this process put into the outbox', async () => {
    const unconfirmed = new UnconfirmedSends(knowing(one.id, 'no'))
    const ofOther = { ...exists, metric: other }
    expect(await unconfirmed.unexpectedWarnings([exists, ofOther], 'first', [one, other])).toEqual([exists])
    const summary: Remark = { text: '1 metric was updated' }
    expect(await unconfirmed.unexpectedWarnings([summary], 'first', [one])).toEqual([summary])
    expect(await unconfirmed.unexpectedWarnings([summary], 'first', [one, other])).toEqual([])
  })

  it('is no news of a metric that was sent before in the same flush', async () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    expect(await unconfirmed.unexpectedWarnings([exists, long], 'again', [one])).toEqual([long])
  })

  it('is no news of a metric of which it is not known whether it arrived, until that is recorded', async () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    unconfirmed.add([one])
    expect(await unconfirmed.unexpectedWarnings([exists, long], 'first', [one])).toEqual([long])
    const ofOther = { ...exists, metric: other }
    expect(await unconfirmed.unexpectedWarnings([ofOther], 'first', [one, other])).toEqual([ofOther])
    unconfirmed.remove([one])
    expect(await unconfirmed.unexpectedWarnings([exists], 'first', [one])).toEqual([exists])
  })

  it('is no news of a metric whose value was corrected since it was sent', async () => {
    const unconfirmed = new UnconfirmedSends(knowing(one.id, 'corrected'))
    unconfirmed.endFirstFlush()
    const ofOther = { ...exists, metric: other }
    expect(await unconfirmed.unexpectedWarnings([exists, ofOther, long], 'first', [one, other])).toEqual([
      ofOther,
      long,
    ])
  })

  it('is no news where the service does not say of which, and one of the push is unconfirmed', async () => {
    const unconfirmed = new UnconfirmedSends(plain)
    unconfirmed.endFirstFlush()
    unconfirmed.add([one])
    const summary: Remark = { text: '1 metric was updated' }
    expect(await unconfirmed.unexpectedWarnings([summary], 'first', [one, other])).toEqual([])
    expect(await unconfirmed.unexpectedWarnings([summary], 'first', [other])).toEqual([summary])
  })
})
