import { describe, expect, it } from 'vitest'
import { Isolation } from '../../src/delivery/isolate/isolation.ts'
import { quarantineBaseMs } from '../../src/delivery/isolate/limits.ts'
import { quarantineCapMs } from '../../src/model/limits.ts'

const startMs = Date.UTC(2026, 10, 20, 13)

describe('what is set aside', () => {
  it('is left out until its own next try, each time for longer, up to a cap', () => {
    const isolation = new Isolation<string>(id => id)
    let nowMs = startMs
    for (let failures = 1; failures <= 12; failures += 1) {
      isolation.add('a', 'why', nowMs, 0.5)
      const pauseMs = 0.75 * Math.min(quarantineCapMs, quarantineBaseMs * 2 ** (failures - 1))
      expect(isolation.isAside('a', nowMs + pauseMs - 1)).toBe(true)
      expect(isolation.isAside('a', nowMs + pauseMs)).toBe(false)
      expect(isolation.sentences).toEqual(['why'])
      nowMs += pauseMs
    }
  })

  it('is left out for at least half of the pause, whatever the chance', () => {
    for (const chance of [0, 0.999]) {
      const isolation = new Isolation<string>(id => id)
      isolation.add('a', 'why', startMs, chance)
      expect(isolation.isAside('a', startMs + quarantineBaseMs / 2 - 1)).toBe(true)
      expect(isolation.isAside('a', startMs + quarantineBaseMs)).toBe(false)
    }
  })

  it('is each for itself, and forgotten once it is accepted', () => {
    const isolation = new Isolation<{ name: string }>(({ name }) => name)
    isolation.add({ name: 'a' }, 'why a', startMs, 0.5)
    isolation.add({ name: 'b' }, 'why b', startMs, 0.5)
    isolation.remove({ name: 'a' })
    expect(isolation.all).toEqual([{ name: 'b' }])
    expect(isolation.isAside({ name: 'b' }, startMs)).toBe(true)
    expect(isolation.sentences).toEqual(['why b'])
  })

  it('is not left out for longer than a pause can be after the clock was set back', () => {
    const isolation = new Isolation<string>(id => id)
    isolation.add('a', 'why', startMs, 0.5)
    expect(isolation.isAside('a', startMs - 24 * 3_600_000)).toBe(false)
  })
})
