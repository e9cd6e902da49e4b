import { describe, expect, it } from 'vitest'
import { emittedError, isGone } from '../../src/fleet/job-engine.ts'

describe('an error that the engine reports', () => {
  it('stays what it is', () => {
    const error = new Error('no room')
    expect(emittedError(error)).toBe(error)
  })

  it('that comes as a plain object has the words and the code of it', () => {
    const thrown = Object.assign(new Error('relation "job" does not exist'), { code: '42P01', severity: 'ERROR' })
    // As pg-boss copies it.
    const error = emittedError({ ...thrown, message: thrown.message, stack: thrown.stack })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ message: thrown.message, code: '42P01', severity: 'ERROR' })
    expect(isGone(error)).toBe(true)
  })

  it('that is a text has it as its words', () => {
    expect(emittedError('odd').message).toBe('odd')
  })
})
