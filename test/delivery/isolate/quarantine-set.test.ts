import { describe, expect, it } from 'vitest'
import { QuarantineSet, quarantineBaseMs } from '../../../src/delivery/isolate/quarantine.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { quarantineCapMs } from '../../../src/model/limits.ts'
import { anHour } from '../../support/metrics.ts'

const startMs = Date.UTC(2026, 10, 20, 13)

describe('what is set aside', () => {
  it('is left out until its own next try, each time for longer, up to a cap', () => {
    const quarantine = new QuarantineSet<string>(id => id)
    let nowMs = startMs
    for (let failures = 1; failures <= 12; failures += 1) {
      quarantine.add('a', anHour, 'why', nowMs, 0.5)
      const pauseMs = 0.75 * Math.min(quarantineCapMs, quarantineBaseMs * 2 ** (failures - 1))
      expect(quarantine.isSkipped('a', nowMs + pauseMs - 1)).toBe(true)
      expect(quarantine.isSkipped('a', nowMs + pauseMs)).toBe(false)
      expect(quarantine.sentences).toEqual(['why'])
      nowMs += pauseMs
    }
  })

  it('is left out for at least half of the pause, whatever the chance', () => {
    for (const chance of [0, 0.999]) {
      const quarantine = new QuarantineSet<string>(id => id)
      quarantine.add('a', anHour, 'why', startMs, chance)
      expect(quarantine.isSkipped('a', startMs + quarantineBaseMs / 2 - 1)).toBe(true)
      expect(quarantine.isSkipped('a', startMs + quarantineBaseMs)).toBe(false)
    }
  })

  it('is tried at once when an hour comes that is newer than what failed, and that once', () => {
    const quarantine = new QuarantineSet<string>(id => id)
    const [older, newer] = [hourAfter(anHour, -5), hourAfter(anHour, 1)]
    quarantine.add('a', anHour, 'why', startMs, 0.5)
    quarantine.add('a', older, 'why', startMs, 0.5)
    expect([older, anHour, newer].map(hour => quarantine.isSkipped('a', startMs, hour))).toEqual([true, true, false])
    quarantine.add('a', newer, 'why', startMs, 0.5)
    expect(quarantine.isSkipped('a', startMs, newer)).toBe(true)
  })

  it('is each for itself, and forgotten once it is accepted', () => {
    const quarantine = new QuarantineSet<{ name: string }>(({ name }) => name)
    quarantine.add({ name: 'a' }, anHour, 'why a', startMs, 0.5)
    quarantine.add({ name: 'b' }, anHour, 'why b', startMs, 0.5)
    quarantine.remove({ name: 'a' })
    expect(quarantine.all).toEqual([{ name: 'b' }])
    expect(quarantine.isSkipped({ name: 'b' }, startMs)).toBe(true)
    expect(quarantine.sentences).toEqual(['why b'])
  })

  it('is not left out for longer than a pause can be after the clock was set back', () => {
    const quarantine = new QuarantineSet<string>(id => id)
    quarantine.add('a', anHour, 'why', startMs, 0.5)
    expect(quarantine.isSkipped('a', startMs - 24 * 3_600_000)).toBe(false)
  })
})
