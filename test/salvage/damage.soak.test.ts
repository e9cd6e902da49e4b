import { describe, expect, it } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { contentsOf } from '../outbox/support/contents.ts'
import { betrayals, damagePage, damages } from '../outbox/support/damage.ts'
import { mended, soundOutboxes } from '../outbox/support/salvaging.ts'
import { repetitions } from '../support/soak.ts'

const sound = soundOutboxes()

describe.each(damages)('one page that goes bad (%s)', kind => {
  const seeds = Array.from(
    { length: repetitions({ test: 3, soak: 200 }) },
    (_, index) => damages.indexOf(kind) * 1_000 + index + 1,
  )

  it.each(seeds)('loses no metric unseen and changes none, seed %i', seed => {
    const { file, contents } = sound()
    const page = damagePage(file, kind, dice(seed))
    mended(file, 'a test')
    const after = contentsOf(file)
    expect(betrayals(contents, after), `seed ${seed}, page ${page}`).toEqual([])
    expect(after.rows.size, 'of all pages one is lost').toBeGreaterThan(contents.rows.size / 2)
  })
})
