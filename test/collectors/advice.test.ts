import { expect, it } from 'vitest'
import { adviceRows } from './advice-rows.ts'
import { advices } from './advice-texts.ts'

it('every advice of a collector that names an option is followed to a value, and none that is gone', () => {
  const followed = new Set(adviceRows.map(({ advice }) => advice))
  const all = advices()
  expect(all.size).toBeGreaterThan(25)
  expect([...all].filter(advice => !followed.has(advice))).toEqual([])
  expect([...followed].filter(advice => !all.has(advice))).toEqual([])
})
