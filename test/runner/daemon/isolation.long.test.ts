import { describe, expect, it } from 'vitest'
import { runLogLinesMax } from '../../../src/runner/messages.ts'
import { deadlineMs, fine, good, ticking } from '../neighbours.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

describe('a bad collector that takes all that it can get stops nothing else:', () => {
  it('one that starves its process', async () => {
    const { runner } = testRunner({ deadlineMs })
    const ticks = ticking()
    const bad = faultOf(runner.collect(configured('./starves.ts'), hour))
    expect(await Promise.all(good(3).map(other => runner.collect(other, hour)))).toMatchObject([fine, fine, fine])
    expect(await bad).toMatchObject({ code: 'collector-hung', message: expect.stringContaining('does not answer') })
    expect(ticks()).toBeGreaterThan(10)
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
  })

  it.for(['strings', 'numbers', 'objects', 'map', 'awaiting'])('one that needs ever more memory (%s)', async way => {
    const { runner } = testRunner({ limits: { heapMbMax: 64 } })
    const bad = faultOf(runner.collect(configured('./grows.ts', { options: { way } }), hour))
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
    expect((await bad).message).toContain('needed more than 64 MB')
  })

  it.for(['floods', 'floods-in-one-line'])('one that prints without end (%s)', async name => {
    const { runner, lines } = testRunner({ deadlineMs })
    const ticks = ticking()
    const bad = faultOf(runner.collect(configured(`./${name}.ts`), hour))
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
    expect((await bad).code).toBe('collector-hung')
    expect(ticks()).toBeGreaterThan(10)
    // Two processes: the shared one, and its own.
    expect(lines.length).toBeLessThanOrEqual(2 * runLogLinesMax)
  })

  it('all of them at once, while the others wait for something', async () => {
    const { runner } = testRunner({ deadlineMs })
    const ticks = ticking()
    const names = ['throws', 'throws-in-callback', 'hangs', 'spins', 'exits', 'rubbish', 'prints', 'throws-late']
    const bad = names.map(name => runner.collect(configured(`./${name}.ts`), hour).catch(() => undefined))
    const waiting = Array.from({ length: 3 }, (_, index) => configured('./patient.ts', { id: `patient/${index}` }))
    const outcomes = await Promise.all([...good(3), ...waiting].map(other => runner.collect(other, hour)))
    expect(outcomes).toMatchObject(outcomes.map(() => fine))
    await Promise.all(bad)
    expect(ticks()).toBeGreaterThan(10)
  })
})
