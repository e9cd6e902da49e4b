import { expect, it } from 'vitest'
import { troubleFix } from '../../src/sqlite/trouble.ts'

it('names what there is to give away, where the folder is yet to be made', () => {
  expect(troubleFix({ kind: 'denied', path: '/etc/no-such/data/outbox.db' })).toMatch(
    /chown -R \/etc, .*\(ls -ld \/etc\)$/,
  )
  expect(troubleFix({ kind: 'denied', path: '/etc/hosts' })).toMatch(/\(ls -ld \/etc\/hosts\)$/)
})
