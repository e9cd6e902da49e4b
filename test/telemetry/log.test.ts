import { expect, it } from 'vitest'
import { withoutHead } from '../../src/telemetry/log.ts'

it('facts take no part of a line’s own: its level, its time, its message', () => {
  const facts = { level: 'error', time: '1999', msg: 'x', collector: 'a/b', levels: 3 }
  expect(withoutHead(facts)).toEqual({ level_: 'error', time_: '1999', msg_: 'x', collector: 'a/b', levels: 3 })
})
