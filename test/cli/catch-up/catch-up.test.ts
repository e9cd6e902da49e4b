import { describe, expect, it } from 'vitest'
import { catchUpStage } from './stage.ts'

describe('collect --catch-up', () => {
  it('takes the current hour alone at first, then all that are due, the current one first', async () => {
    const { at, hoursOf } = await catchUpStage()
    const first = await at(0.2)
    expect(first.stderr).toContain('first run of pool/past, pool/now: the current hour alone')
    expect(first.stdout).toMatch(/1 hour collected; 3 metrics delivered/)
    expect((await at(0.5)).stdout).toContain('no hour is due; 0 metrics delivered')

    const limited = await at(5.1, 'collect', '--catch-up', '--max-hours', '3')
    expect(limited.code).toBe(0)
    expect(limited.stdout).toContain('3 hours collected; 7 metrics delivered\n2 more hours are due: run it again')
    expect(hoursOf('Hours')).toEqual([0, 1, 2, 5])
    const { hours, left } = JSON.parse((await at(5.3, 'collect', '--catch-up', '--json')).stdout)
    expect([hours.length, left]).toEqual([2, 0])
    expect(hoursOf('Hours')).toEqual([0, 1, 2, 3, 4, 5])
    expect(hoursOf('Level'), 'it reads only the present').toEqual([0, 5])
  })

  it.each([['--hour', '2026-11-20T13:00:00Z'], ['--dry-run'], ['--allow-unit-change']])(
    'excludes %s',
    async (...args) => {
      const { at } = await catchUpStage()
      const { code, stderr } = await at(0, 'collect', '--catch-up', ...args)
      expect(code).toBe(2)
      expect(stderr).toContain(`option '--catch-up' cannot be used with option '${args[0]}`)
    },
  )

  it('is what --max-hours belongs to', async () => {
    const { at } = await catchUpStage()
    expect(await at(0, 'collect', '--max-hours', '3')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('add --catch-up'),
    })
  })
})
