import { describe, expect, it } from 'vitest'
import { faultLine } from '../../../src/model/fault.ts'
import { chainOf } from '../../support/reads.ts'
import { configured, faultOf, hour, leapingRunner, testRunner } from '../setup.ts'

describe('an output that is not what was declared:', () => {
  it('fails label by label, says what and where, and leaves the good ones', async () => {
    const { runner } = testRunner()
    const { readings, failures } = await runner.collect(configured('./rubbish.ts'), hour)
    expect(readings).toEqual({ Good: 1, Promised: 2 })
    const messages = Object.fromEntries(Object.entries(failures).map(([label, { message }]) => [label, message]))
    expect(messages).toMatchObject({
      NotANumber: '"NotANumber" is NaN, not a finite number',
      Infinite: '"Infinite" is Infinity, not a finite number',
      Big: '"Big" is 5n, not a finite number',
      Text: `"Text" is '5', not a finite number`,
      Nothing: '"Nothing" is null, not a finite number',
      Absent: '"Absent" is undefined, not a finite number',
      Code: expect.stringContaining('[Function'),
      Rejected: 'the source is down',
      Thenable: 'no promise after all',
      Getter: 'nothing to get',
      Missing: '"Missing" is declared, but missing in what collect returned',
      Undeclared0: '"Undeclared0": returned but not declared',
      Undeclared4: '"Undeclared4", and 2 more: returned but not declared',
    })
    expect(failures['Big']?.fix).toContain('units(amount, decimals)')
    expect(failures['NotANumber']?.code).toBe('collector-output')
    expect(failures['Rejected']).toMatchObject({ code: 'collector-threw', facts: { at: 'rubbish.ts:14' } })
    expect(messages['Huge']?.length).toBeLessThan(1_200)
    expect(Object.keys(failures)).toHaveLength(17)
  })

  it.for([
    ['nothing', 'collect returned null'],
    ['number', 'collect returned 5'],
    ['list', 'collect returned [ 1 ]'],
    ['text', `collect returned 'Level'`],
    ['function', 'collect returned [Function'],
  ] as const)('that is no object at all (%s)', async ([kind, message]) => {
    const { runner } = testRunner()
    const fault = await faultOf(runner.collect(configured('./no-object.ts', { options: { kind } }), hour))
    expect(fault.code).toBe('collector-output')
    expect(fault.message).toContain(message)
  })

  it('that must not be looked at', async () => {
    const { runner } = testRunner()
    const attempt = runner.collect(configured('./no-object.ts', { options: { kind: 'proxy' } }), hour)
    expect((await faultOf(attempt)).message).toBe('not to be looked at')
  })

  it('of which one reading fails before the other is there', async () => {
    const { runner } = testRunner()
    const { readings, failures } = await runner.collect(configured('./rejects-early.ts'), hour)
    expect(readings).toEqual({ Level: 1 })
    expect(failures['Early']).toMatchObject({ code: 'collector-threw', message: 'failed early' })
  })

  it('of which one reading never comes: the other is there at the deadline', async () => {
    const { runner, printed, passDeadline } = leapingRunner()
    const outcome = runner.collect(configured('./half-hangs.ts'), hour)
    await printed('begun')
    passDeadline()
    const { readings, failures } = await outcome
    expect(readings).toEqual({ Level: 1 })
    expect(failures['Late']).toMatchObject({ code: 'collector-hung', message: 'no answer within 60 s' })
  })

  it('of which a chain never answers: its hosts are named, and a step', async () => {
    const asked = Promise.withResolvers<void>()
    const never = () => {
      asked.resolve()
      return new Promise<never>(() => {})
    }
    const main = {
      ...chainOf({ block: never, read: never, logs: never }),
      hosts: () => ['a.example', 'b.example:8545'],
    }
    const { runner, passDeadline } = leapingRunner({ chains: { main } })
    const fault = faultOf(runner.collect(configured('./two-stages.ts', { options: { factor: 2 } }), hour))
    await asked.promise
    passDeadline()
    expect(faultLine(await fault)).toBe(
      'no answer within 60 s from chain main (a.example, b.example:8545) – tidegauge doctor shows which endpoints answer; a longer deadline: of the collector gives it more time',
    )
  })
})

describe('what a collector throws', () => {
  it('is reported with the line it was thrown at', async () => {
    const { runner } = testRunner()
    const fault = await faultOf(runner.collect(configured('./throws.ts'), hour))
    expect(fault).toMatchObject({ code: 'collector-threw', message: 'the well is dry', facts: { at: 'throws.ts:9' } })
  })
})

describe('what a collector prints', () => {
  it('goes to the log under its name, a line each, and is cut off when it is too much', async () => {
    const { runner, lines } = testRunner()
    await runner.collect(configured('./prints.ts'), hour)
    const own = lines.filter(({ collector }) => collector === 'tests/./prints.ts')
    expect(own.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'printed',
        'in two lines',
        'complained',
        'logged',
        'line 1',
        'further log lines are left out',
        'written past the console',
      ]),
    )
    expect(own.find(({ message }) => message === 'logged')?.facts).toEqual({ count: 2, list: '[ 1, 2 ]', amount: '5n' })
    expect(own.length).toBeLessThan(600)
    await expect.poll(() => lines.map(({ message }) => message)).toContain('written past the console')
  })
})
