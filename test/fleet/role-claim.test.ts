import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { roleJob, roleQueue } from '../../src/fleet/jobs.ts'
import { RoleClaim } from '../../src/fleet/role-claim.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn, inTransaction } from './support/engines.ts'

const role = 'deliver/service'

/** A daemon that wants the role, and what it did. */
function wantedBy(address: string, name: string, done: string[], changed: () => void) {
  const engine = engineOn(address)
  const tell = (what: string) => {
    done.push(`${name} ${what}`)
    changed()
  }
  const work = {
    begin: async () => {
      tell('begins')
      return async () => tell('ends')
    },
  }
  const claim = new RoleClaim({ engine, role, work, time: systemTime, failed: () => {} })
  onTestFinished(() => claim.stop())
  return { claim, engine }
}

/** Daemons that want one role, and a promise of what they have done. */
function contenders(address: string, ...names: string[]) {
  const done: string[] = []
  let changed = () => {}
  const all = names.map(name => wantedBy(address, name, done, () => changed()))
  const until = (isSo: (done: readonly string[]) => boolean) =>
    new Promise<readonly string[]>(resolve => {
      changed = () => void (isSo(done) && resolve([...done]))
      changed()
    })
  return { all, until }
}

describe.skipIf(postgresPlace.kind === 'missing')('a role in a fleet', () => {
  const databases = useTestDatabases()

  it('is held by one daemon, and by the next once that one has ended its work', async () => {
    const { all, until } = contenders(await databases.empty(), 'one', 'other')
    const [first] = await until(done => done.length > 0)
    const name = first?.split(' ')[0]
    const [holder, next] = name === 'one' ? all : all.toReversed()
    expect([holder?.claim.isHeld, next?.claim.isHeld]).toEqual([true, false])
    await holder?.claim.stop()
    const done = await until(all => all.length === 3)
    expect(done).toEqual([`${name} begins`, `${name} ends`, `${name === 'one' ? 'other' : 'one'} begins`])
    expect([holder?.claim.isHeld, next?.claim.isHeld]).toEqual([false, true])
  })

  it('is held in a transaction by its holder alone', async () => {
    const address = await databases.empty()
    const { all, until } = contenders(address, 'one', 'other')
    await until(done => done.length > 0)
    const held = await Promise.all(all.map(({ claim }) => inTransaction(address, tx => claim.hold(tx))))
    expect(held.sort()).toEqual([false, true])
  })

  it('ends its work when it was taken away, and begins again when it is free', async () => {
    const address = await databases.empty()
    const { all, until } = contenders(address, 'one')
    await until(done => done.length === 1)
    const other = engineOn(address)
    const queue = roleQueue(role)
    await inTransaction(address, tx => other.complete(queue, { id: roleJob(role).id, retryCount: 0, madeAtMs: 0 }, tx))
    const done = await until(seen => seen.length === 2)
    expect(done).toEqual(['one begins', 'one ends'])
    await other.insert(queue, [roleJob(role)])
    expect(await until(seen => seen.length === 3)).toEqual([...done, 'one begins'])
    expect(all[0]?.claim.isHeld).toBe(true)
  })

  it('ends its work at once when a push finds it taken', async () => {
    const { all, until } = contenders(await databases.empty(), 'one')
    await until(done => done.length === 1)
    all[0]?.claim.lost()
    expect(all[0]?.claim.isHeld).toBe(false)
    expect(await until(done => done.length === 2)).toEqual(['one begins', 'one ends'])
  })
})
