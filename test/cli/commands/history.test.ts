import { describe, expect, it } from 'vitest'
import { hourBack, stage } from '../stage.ts'

const id = 'pool___A'
const hours = [hourBack(3), hourBack(2), hourBack(1)] as const

/** Three delivered hours with the values 1, 2 and 3; the second was corrected from 7. */
async function delivered() {
  const staged = await stage({ metrics: { A: { unit: 'USD' }, B: {} }, values: { A: 1, B: 9 } })
  const collect = async (value: number, hour: string, ...more: string[]) => {
    staged.give({ metrics: { A: { unit: 'USD' }, B: {} }, values: { A: value, B: 9 } })
    const verb = more.length > 0 ? ['backfill', '--from', hour, '--to', hour, ...more] : ['collect', '--hour', hour]
    expect(await staged.run(...verb)).toMatchObject({ code: 0 })
  }
  await collect(1, hours[0])
  await collect(7, hours[1])
  await collect(3, hours[2])
  await collect(2, hours[1], '--overwrite')
  return staged
}

interface Shown {
  readonly hours: readonly {
    readonly hour: string
    readonly value: number
    readonly collected: string
    readonly delivered: string
    readonly earlier?: readonly { readonly value: number; readonly until: string }[]
  }[]
}

const instant = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`

describe('history', () => {
  it('shows each hour: value, unit, state, and when it was collected, delivered and corrected; also as JSON and CSV', async () => {
    const { run, read } = await delivered()
    const { code, stdout, stderr } = await run('history', id, '--from', hours[0])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^hour +value +unit +state +collected +delivered +corrected\n/)
    const row = (hour: string, value: number, corrected: string) =>
      new RegExp(`\n${hour} +${value} +USD +delivered +${instant} +${instant}${corrected}\n`)
    expect(stdout).toMatch(row(hours[0], 1, ''))
    expect(stdout).toMatch(row(hours[1], 2, ` +${instant}, before: 7`))
    expect(stdout).toMatch(row(hours[2], 3, ''))
    expect(stdout).toMatch(/\n\npool___A, by pool\/given\n$/)
    const shown = await read<Shown>('history', id, '--from', hours[0], '--to', hours[2], '--json')
    expect(shown).toMatchObject({ id, protocolId: 'pool', collector: 'pool/given', unit: 'USD' })
    expect(shown.hours.map(({ hour, value }) => [hour, value])).toEqual([
      [hours[0], 1],
      [hours[1], 2],
      [hours[2], 3],
    ])
    const [, corrected] = shown.hours
    expect(corrected?.earlier).toEqual([{ value: 7, until: expect.stringMatching(/^\d{4}-.*Z$/) }])
    const until = corrected?.earlier?.[0]?.until ?? ''
    expect([(corrected?.collected ?? '') < until, until < (corrected?.delivered ?? '')]).toEqual([true, true])
    expect(await run('history', id, '--to', hourBack(500))).toEqual({
      code: 1,
      stdout: '',
      stderr: `no value of ${id} from ${hourBack(547)} to ${hourBack(500)}\n`,
    })
    const csv = await run('history', id, '--from', hours[1], '--to', hours[1], '--csv')
    expect(csv.code).toBe(0)
    const [head, line, end] = csv.stdout.split('\n')
    expect(head).toBe('hour,value,unit,state,collected,delivered,corrected,before,reason')
    expect(line).toMatch(new RegExp(`^${hours[1]},2,USD,delivered,[^,]+Z,[^,]+Z,[^,]+Z,7,$`))
    expect(end).toBe('')
  })

  it('refuses an unknown metric, a range that ends before it begins, and two formats', async () => {
    const { run } = await stage({ metrics: { A: {} }, values: { A: 1 } })
    expect(await run('history', 'pool___Other')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no value of a metric "pool___Other" is stored'),
    })
    expect(await run('history', id, '--from', hours[2], '--to', hours[0])).toMatchObject({ code: 2 })
    expect(await run('history', id, '--csv', '--json')).toMatchObject({ code: 2 })
  })
})
