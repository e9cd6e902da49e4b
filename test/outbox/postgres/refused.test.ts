import { expect, it } from 'vitest'
import { databaseFault } from '../../../src/outbox/postgres/connection/errors.ts'

it.each([
  ['no pg_hba.conf entry for host "10.0.0.9"', 'refuses the user from this machine', /pg_hba\.conf/],
  ['role "gauge" does not exist', 'refuses the user', /CREATE ROLE/],
  ['Rolle »gauge« existiert nicht', 'refuses the user', /CREATE ROLE/],
])('names why a user is refused: %s', (message, words, fix) => {
  const error = Object.assign(new Error(message), { code: '28000', severity: 'FATAL' })
  expect(databaseFault('db:5432/gauge', error)).toMatchObject({
    code: 'database-unusable',
    message: `the database db:5432/gauge ${words}`,
    fix: expect.stringMatching(fix),
  })
})
