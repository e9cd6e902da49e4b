import { expect, it } from 'vitest'
import { Delivering } from '../../src/app/delivering.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Role } from '../../src/outbox/contract/role.ts'

it('delivering begins as soon as the file can be written, however often it could not before', async () => {
  const released: string[] = []
  const role: Role = { isInPlace: true, renew: () => 'held', release: () => void released.push('role') }
  const failures: unknown[] = []
  const begun = Promise.withResolvers<void>()
  let tries = 0
  const begin = async () => {
    tries += 1
    if (tries < 4) throw new Error('database is locked')
    begun.resolve()
    return async () => void released.push('loops')
  }
  const time = { ...systemTime, sleep: async () => {} }
  const delivering = new Delivering(
    { take: async () => role, begin, failed: error => failures.push(error), time },
    role,
  )
  await begun.promise
  await delivering.stop()
  expect(failures).toHaveLength(3)
  expect(released).toEqual(['loops', 'role'])
})
