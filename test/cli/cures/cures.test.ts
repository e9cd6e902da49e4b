import { expect, it } from 'vitest'
import { cureRows, unfollowed } from './cure-rows.ts'
import { curesWithOption, programAdvices } from './cure-texts.ts'

it('every cure that names an option is followed to a value, or says why not, and none that is gone', () => {
  const known = new Set([...cureRows.flatMap(({ cures }) => cures), ...Object.keys(unfollowed)])
  const all = new Set([...curesWithOption(), ...programAdvices()])
  expect(all.size).toBeGreaterThan(50)
  expect([...all].filter(cure => !known.has(cure))).toEqual([])
  expect([...known].filter(cure => !all.has(cure))).toEqual([])
})
