import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hourAfter, hourText } from '../../../src/model/hour.ts'
import { catchUpStage } from '../catch-up/stage.ts'

it('errors.md: hour-too-old: a longer catchUp brings the hours that were missed, each with its own value', async () => {
  const { at, config, hoursOf, arrivals, start } = await catchUpStage({
    rest: 'collect: { catchUp: 2h }',
    isAlone: true,
  })
  await at(0)
  await at(6)
  expect(hoursOf('Hours')).toEqual([0, 4, 5, 6])
  expect((await at(6, 'gaps')).stdout).toMatch(/catch/)
  writeFileSync(config, readFileSync(config, 'utf8').replace('2h', '7d'))
  await at(6)
  const hours = [0, 1, 2, 3, 4, 5, 6]
  expect(hoursOf('Hours')).toEqual(hours)
  const values = hours.map(hour => arrivals.get(`pool___Hours ${hourText(hourAfter(start, hour))}`))
  expect(values).toEqual(hours.map(hour => [hourAfter(start, hour) / 3_600_000]))
})
