import { describe, expect, it } from 'vitest'
import { emptyAt, type NewPlace } from './place.ts'

/** Promises of the `ReportStore`. */
export function reportsContract(newPlace: NewPlace): void {
  describe('what was reported to people', () => {
    it('is nothing at first', async () => {
      const { outbox } = await emptyAt(newPlace)
      expect(await outbox.reports.read('heartbeat')).toBeUndefined()
    })

    it('is there once it is saved, for each reporter, and after a restart', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      const long = JSON.stringify({ words: 'many '.repeat(20_000) })
      await outbox.reports.save('heartbeat', '{"hour":1}')
      await outbox.reports.save('notify', long)
      await outbox.reports.save('heartbeat', '{"hour":2}')
      expect(await outbox.reports.read('heartbeat')).toBe('{"hour":2}')
      const again = await handles.reopened()
      expect(await again.reports.read('heartbeat')).toBe('{"hour":2}')
      expect(await again.reports.read('notify')).toBe(long)
    })
  })
}
