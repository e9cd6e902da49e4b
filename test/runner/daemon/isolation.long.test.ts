import { describe, expect, it } from 'vitest'
import { runLogLinesMax } from '../../../src/runner/messages.ts'
import { fine, good, ticking } from '../neighbours.ts'
import { configured, faultOf, hour, leapingRunner, testRunner } from '../setup.ts'

/** Deadline of collectors that do nothing but compute: they use it whole, in a process without priority. */
const computingMs = 5_000

const bad = [
  ['throws', 'collector-threw', 'the well is dry'],
  ['throws-in-callback', 'collector-threw', 'thrown in a callback'],
  ['spins', 'collector-hung', 'its process does not answer', { deadlineMs: computingMs }],
  ['starves', 'collector-hung', 'its process does not answer', { deadlineMs: computingMs }],
  ['exits', 'collector-hung', 'its process ended with exit code 7'],
  ['disconnects', 'collector-hung', 'its process ended'],
] as const

describe('a bad collector stops nothing else:', () => {
  it.for(bad)('one that %s', async ([name, code, message, parts]) => {
    const { runner } = testRunner()
    const ticks = ticking()
    const fault = faultOf(runner.collect(configured(`./${name}.ts`, parts), hour))
    const outcomes = await Promise.all(good(3).map(other => runner.collect(other, hour)))
    expect(outcomes).toMatchObject([fine, fine, fine])
    expect(await fault).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(ticks()).toBeGreaterThan(3)
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
  })

  it.for(['hangs', 'obeys'])('one that %s, until its deadline', async name => {
    const { runner, printed, passDeadline } = leapingRunner()
    const fault = faultOf(runner.collect(configured(`./${name}.ts`), hour))
    const outcomes = await Promise.all(good(3).map(other => runner.collect(other, hour)))
    expect(outcomes).toMatchObject([fine, fine, fine])
    await printed('begun')
    passDeadline()
    expect(await fault).toMatchObject({ code: 'collector-hung', message: 'no answer within 60 s' })
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
  })

  it.for(['strings', 'numbers', 'objects', 'map', 'awaiting'])('one that needs ever more memory (%s)', async way => {
    const { runner } = testRunner({ limits: { heapMbMax: 64 } })
    const bad = faultOf(runner.collect(configured('./grows.ts', { options: { way } }), hour))
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
    expect((await bad).message).toContain('needed more than 64 MB')
  })

  it.for(['floods', 'floods-in-one-line'])('one that prints without end (%s)', async name => {
    const { runner, lines } = testRunner()
    const ticks = ticking()
    const bad = faultOf(runner.collect(configured(`./${name}.ts`), hour))
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
    expect((await bad).code).toBe('collector-hung')
    expect(ticks()).toBeGreaterThan(10)
    // Two processes: the shared one, and its own.
    expect(lines.length).toBeLessThanOrEqual(2 * runLogLinesMax)
  })

  it('all of them at once, while the others wait for something', async () => {
    const { runner } = testRunner()
    const ticks = ticking()
    const names = ['throws', 'throws-in-callback', 'hangs', 'spins', 'exits', 'rubbish', 'prints', 'throws-late']
    for (const name of names) void runner.collect(configured(`./${name}.ts`), hour).catch(() => undefined)
    const waiting = Array.from({ length: 3 }, (_, index) => configured('./patient.ts', { id: `patient/${index}` }))
    const outcomes = await Promise.all([...good(3), ...waiting].map(other => runner.collect(other, hour)))
    expect(outcomes).toMatchObject(outcomes.map(() => fine))
    expect(ticks()).toBeGreaterThan(10)
  })
})

it('a collector has the deadline of its own, and others that of all', async () => {
  const { runner, printed, passDeadline } = leapingRunner({ deadlineMs: 3_600_000 })
  const hung = faultOf(runner.collect(configured('./hangs.ts', { deadlineMs: 60_000 }), hour))
  await printed('begun')
  passDeadline()
  expect((await hung).message).toBe('no answer within 60 s')
  expect(await runner.collect(configured('./good.ts', { deadlineMs: 1_800_000 }), hour)).toMatchObject(fine)
})

describe('after its answer a collector is of no account:', () => {
  it.for(['throws-late', 'exits-late'])('one that %s keeps its value', async name => {
    const { runner } = testRunner()
    const outcomes = await Promise.all([configured(`./${name}.ts`), ...good(2)].map(each => runner.collect(each, hour)))
    expect(outcomes).toMatchObject([fine, fine, fine])
    expect(await runner.collect(configured('./good.ts'), hour)).toMatchObject(fine)
  })

  it('what it throws later is in the log, under its name', async () => {
    const { runner, lines } = testRunner()
    await runner.collect(configured('./throws-late.ts'), hour)
    await expect.poll(() => lines.map(({ message }) => message).join('\n')).toContain('rejected after the answer')
    await expect.poll(() => lines.map(({ message }) => message).join('\n')).toContain('thrown after the answer')
    expect(lines.every(({ collector }) => collector === 'tests/./throws-late.ts')).toBe(true)
  })
})

describe('processes:', () => {
  const where = async (runner: ReturnType<typeof testRunner>['runner'], id: string) =>
    (await runner.collect(configured('./tells-process.ts', { id }), hour)).readings['Process']

  it('all of one file share one, which is not the daemon', async () => {
    const { runner } = testRunner()
    const seen = await Promise.all(['a', 'b', 'c'].map(id => where(runner, id)))
    expect(new Set(seen).size).toBe(1)
    expect(seen).not.toContain(process.pid)
  })

  const fickle = (way: string) => configured('./fickle.ts', { id: `fickle/${way}`, options: { way } })
  const whereFickle = async (runner: ReturnType<typeof testRunner>['runner']) =>
    (await runner.collect(fickle('answer'), hour)).readings['Process']

  it('one in which a run ended by its signal is kept', async () => {
    const { runner, printed, passDeadline } = leapingRunner()
    const before = await whereFickle(runner)
    const obeyed = faultOf(runner.collect(fickle('obey'), hour))
    await printed('begun')
    passDeadline()
    await obeyed
    expect(await whereFickle(runner)).toBe(before)
  })

  it('a culprit runs alone from then on, until it succeeds', async () => {
    const { runner } = testRunner({ limits: { idleMsMax: 600_000 } })
    const culprit = (way: string) => configured('./fickle.ts', { id: 'culprit', options: { way } })
    const shared = await whereFickle(runner)
    await faultOf(runner.collect(culprit('exit'), hour))
    const replaced = await whereFickle(runner)
    expect(replaced).not.toBe(shared)
    await faultOf(runner.collect(culprit('exit'), hour))
    expect(await whereFickle(runner)).toBe(replaced)
    expect((await runner.collect(culprit('answer'), hour)).readings['Process']).not.toBe(replaced)
    expect((await runner.collect(culprit('answer'), hour)).readings['Process']).toBe(replaced)
  })

  it('one without work is ended, and work starts another', async () => {
    const { runner } = testRunner({ limits: { idleMsMax: 1 } })
    const first = await where(runner, 'a')
    await expect.poll(() => isAlive(first)).toBe(false)
    expect(await where(runner, 'a')).not.toBe(first)
  })

  it('see nothing of the daemon’s environment', async () => {
    process.env['TEST_SECRET'] = 'hidden'
    const { runner } = testRunner()
    expect((await runner.collect(configured('./tells-process.ts'), hour)).readings['Secrets']).toBe(0)
  })

  it('are gone when the runner has stopped, and what was under way is reported', async () => {
    const { runner } = testRunner()
    const process = await where(runner, 'a')
    const [hung, spun] = ['./hangs.ts', './spins.ts'].map(use => faultOf(runner.collect(configured(use), hour)))
    await runner.stop()
    expect((await hung)?.code).toBe('stopped')
    expect((await spun)?.code).toBe('stopped')
    expect(isAlive(process)).toBe(false)
    expect((await faultOf(runner.collect(configured('./good.ts'), hour))).code).toBe('stopped')
  })
})

function isAlive(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? Number.NaN, 0)
  } catch {
    return false
  }
}
