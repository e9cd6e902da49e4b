import { describe, expect, it } from 'vitest'
import { anHour, metrics } from '../../support/metrics.ts'
import { emptyAt, type NewPlace } from './place.ts'
import { at, balanceOf, begun, dueOf, nowMs, record } from './steps.ts'

/** Promises of the port for health, of a store that is well, and of `close` and `limitWaits`. */
export function healthContract(newPlace: NewPlace): void {
  describe('a store that is well', () => {
    it('has room, and nothing that keeps it from writing', async () => {
      const { outbox } = await emptyAt(newPlace)
      const { health } = outbox
      await health.keepReserve()
      expect(() => health.requireRoom()).not.toThrow()
      expect(health.fullSentence).toBeUndefined()
      const { room } = health
      if (room) expect(room.freeBytes).toBeLessThanOrEqual(room.sizeBytes)
      expect(health.isBeingChecked).toBe(false)
      expect(health.lockedSentence(nowMs)).toBeUndefined()
      const first = await Promise.race([health.broken, Promise.resolve('well')])
      expect(first).toBe('well')
    })

    it('has no rows waiting once they are written', async () => {
      const { outbox } = await begun(newPlace)
      await record(outbox, metrics(50))
      expect(outbox.health.waitingRows).toBe(0)
    })

    it('leaves alone an error of another origin', async () => {
      const { outbox } = await emptyAt(newPlace)
      for (const error of [new Error('of another'), 'words', undefined]) {
        expect(outbox.health.recover(error)).toBe('other')
        expect(outbox.health.explain(error)).toBe(error)
      }
    })
  })

  describe('a store that is closed', () => {
    it('has either all of a write that was under way, or nothing of it', async () => {
      const { outbox, handles } = await begun(newPlace, { to: at(1) })
      const writes = Promise.allSettled([record(outbox, metrics(5)), record(outbox, metrics(3, at(1)))])
      outbox.limitWaits()
      await outbox.close()
      const ends = await writes
      const again = await handles.reopened()
      const stored = async (hour = anHour) => (await dueOf(again)).filter(metric => metric.hour === hour).length
      expect(await stored(), 'none is lost that was accepted').toBe(ends[0].status === 'fulfilled' ? 5 : 0)
      expect(await stored(at(1))).toBe(ends[1].status === 'fulfilled' ? 3 : 0)
      const states = await again.intake.hourStates('vault/c', anHour, at(1))
      expect([...states.values()].map(state => state === 'collected')).toEqual(
        ends.map(({ status }) => status === 'fulfilled'),
      )
    })

    it('refuses what is asked of it', async () => {
      const { outbox, handles } = await begun(newPlace)
      await outbox.close()
      await expect(record(outbox, metrics(1))).rejects.toThrow()
      await expect(dueOf(outbox)).rejects.toThrow()
      expect(await balanceOf(await handles.another())).toMatchObject({ enqueued: 0 })
    })
  })
}
