import { describe, expect, it } from 'vitest'
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'
import { emptyAt, type NewPlace } from './place.ts'

const fresh: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
const full: DestinationState = {
  notBeforeMs: 1_800_000_000_000,
  probeAtMs: 1_800_000_000_123,
  failures: 7,
  waiting: 'the service is down',
  cure: 'service',
  lastPush: { atMs: 1_799_999_999_999, verdict: 'transient', status: 503 },
  skewMs: -1_500,
}

/** Promises of `destination`, `saveDestination`, `silenceOtherDestinations` and `hurry`. */
export function destinationsContract(newPlace: NewPlace): void {
  describe('the state of a destination', () => {
    it('has no reason to wait at first', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await outbox.delivery.destination('service')).toEqual(fresh)
      expect(await outbox.operators.destination('service')).toEqual(fresh)
    })

    it.each([
      ['with everything', full],
      ['with nothing', fresh],
    ])('is there once it is saved, and after a restart, %s', async (_, state) => {
      const { outbox, handles } = await emptyAt(newPlace)
      await outbox.delivery.saveDestination('service', { ...full, failures: 99 })
      await outbox.delivery.saveDestination('service', state)
      await outbox.delivery.saveDestination('other', { ...fresh, failures: 1 })
      expect(await outbox.delivery.destination('service')).toEqual(state)
      expect(await (await handles.another()).operators.destination('service')).toEqual(state)
      const again = await handles.reopened()
      expect(await again.delivery.destination('service')).toEqual(state)
      expect(await again.delivery.destination('other')).toEqual({ ...fresh, failures: 1 })
    })

    it('says why deliveries wait, until no protocol uses the destination', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      for (const name of ['a', 'b', 'c'])
        await outbox.delivery.saveDestination(name, { ...full, waiting: `${name} is down` })
      await outbox.delivery.silenceOtherDestinations(['b', 'd'])
      const again = await handles.reopened()
      expect((await again.delivery.backlog()).waiting).toEqual([{ ...full, waiting: 'b is down' }])
      expect(await again.delivery.destination('a')).toEqual({ ...full, waiting: undefined, cure: undefined })
      expect(await again.delivery.destination('b')).toEqual({ ...full, waiting: 'b is down' })
    })

    it('says that a person has asked for a flush, in any process, until it is saved again', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      await outbox.delivery.saveDestination('service', full)
      const other = await handles.another()
      expect((await outbox.delivery.destination('service')).isAsked ?? false).toBe(false)
      await other.operators.requestFlush()
      expect(await outbox.delivery.destination('service')).toMatchObject({ isAsked: true, failures: 7 })
      const again = await handles.reopened()
      const asked = await again.delivery.destination('service')
      expect(asked).toMatchObject({ isAsked: true, notBeforeMs: full.notBeforeMs, waiting: full.waiting })
      expect(asked.probeAtMs, 'a probe may go out').toBe(0)
      await again.delivery.saveDestination('service', full)
      expect(await again.operators.destination('service')).toEqual(full)
    })
  })
}
