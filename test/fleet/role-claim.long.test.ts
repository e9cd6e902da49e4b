import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { roleJob, roleQueue } from '../../src/fleet/job-engine.ts'
import { patienceMs } from '../../src/fleet/limits.ts'
import { engineSilentMsMax, RoleClaims } from '../../src/fleet/roles.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { engineOn, inTransaction } from './support/engines.ts'

const role = 'deliver/service'

/** A daemon that wants roles, and what it did; its steady clock runs ahead as far as a test lets it. */
function wantedBy(address: string, name: string, roles: readonly string[], tell: (what: string) => void) {
  let aheadMs = 0
  const time = { ...systemTime, steadyMs: () => systemTime.steadyMs() + aheadMs }
  const engine = engineOn(address, time)
  const claims = new RoleClaims({ engine, name, time, failed: () => {} })
  const work = {
    begin: async (owned: readonly string[]) => {
      tell(`${name} begins${roles.length > 1 ? ` ${owned.join(' ')}` : ''}`)
      return async () => tell(`${name} ends`)
    },
  }
  const claim = claims.claim({ roles, work })
  onTestFinished(() => claims.stop())
  const passes = (ms: number) => {
    aheadMs += ms
  }
  return { claim, claims, engine, passes }
}

/** Daemons that want roles, by default one, and a promise of what they have done. */
function contenders(address: string, ...names: (string | readonly [name: string, ...roles: string[]])[]) {
  const done: string[] = []
  let changed = () => {}
  const tell = (what: string) => {
    done.push(what)
    changed()
  }
  const all = names.map(one => {
    const [name, ...roles] = typeof one === 'string' ? [one, role] : one
    return wantedBy(address, name, roles, tell)
  })
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
    expect([holder?.claim.isOwned, next?.claim.isOwned]).toEqual([true, false])
    await holder?.claim.stop()
    const done = await until(all => all.length === 3)
    expect(done).toEqual([`${name} begins`, `${name} ends`, `${name === 'one' ? 'other' : 'one'} begins`])
    expect([holder?.claim.isOwned, next?.claim.isOwned]).toEqual([false, true])
  })

  it('is held in a transaction by its holder alone', async () => {
    const address = await databases.empty()
    const { all, until } = contenders(address, 'one', 'other')
    await until(done => done.length > 0)
    const held = await Promise.all(all.map(({ claim }) => inTransaction(address, tx => claim.owns(tx))))
    expect(held.sort()).toEqual([false, true])
  })

  it('ends its work when it was taken away, and begins again when it is free', async () => {
    const address = await databases.empty()
    const { all, until } = contenders(address, 'one')
    await until(done => done.length === 1)
    const other = engineOn(address)
    const queue = roleQueue
    await inTransaction(address, tx => other.complete(queue, { id: roleJob(role).id, retryCount: 0, madeAtMs: 0 }, tx))
    const done = await until(seen => seen.length === 2)
    expect(done).toEqual(['one begins', 'one ends'])
    await other.insert(queue, [roleJob(role)])
    expect(await until(seen => seen.length === 3)).toEqual([...done, 'one begins'])
    expect(all[0]?.claim.isOwned).toBe(true)
  })

  it('ends its work at once when a push finds it taken', async () => {
    const { all, until } = contenders(await databases.empty(), 'one')
    await until(done => done.length === 1)
    all[0]?.claim.lost()
    expect(all[0]?.claim.isOwned).toBe(false)
    expect(await until(done => done.length === 2)).toEqual(['one begins', 'one ends'])
  })

  it('is one of several that daemons want in part: none waits for a daemon that does not know it', async () => {
    const { all, until } = contenders(await databases.empty(), ['one', 'all', 'ones'], ['other', 'all', 'others'])
    await until(() => all.flatMap(({ claim }) => claim.owned).length === 3)
    expect(all.map(({ claim }) => claim.owned.filter(name => name !== 'all'))).toEqual([['ones'], ['others']])
    const [holder, next] = all[0]?.claim.owned.includes('all') ? all : all.toReversed()
    await holder?.claims.stop()
    const name = next === all[0] ? 'one' : 'other'
    const done = await until(done => done.includes(`${name} begins all ${name}s`))
    expect(done.slice(done.indexOf(`${name} begins ${name}s`)).filter(what => what.startsWith(name))).toEqual([
      `${name} begins ${name}s`,
      `${name} ends`,
      `${name} begins all ${name}s`,
    ])
  })

  it('is given back by a daemon that fails in it while another one lives, and kept by one that is alone', async () => {
    const address = await databases.empty()
    const { all, until } = contenders(address, 'one')
    await until(done => done.length === 1)
    const [one] = all
    one?.claim.noteResult(false)
    one?.passes(patienceMs)
    const { all: others, until: untilOther } = contenders(address, 'other')
    await untilOther(done => done.includes('other begins'))
    expect(await until(done => done.length === 2)).toEqual(['one begins', 'one ends'])
    expect(others[0]?.claim.isOwned).toBe(true)
  })

  it('is missed when no daemon has had it for long, and all claims where the engine accepts none', async () => {
    const { all, until } = contenders(await databases.empty(), 'one')
    await until(done => done.length === 1)
    const [one] = all
    expect(one?.claims.troubles).toEqual([])
    await one?.claim.stop()
    const troubles = () => one?.claims.troubles.join() ?? ''
    while (!troubles().includes(role)) {
      one?.passes(500)
      await one?.engine.jobsOf(roleQueue)
    }
    expect(troubles()).toMatch(/^no living daemon has had the role deliver\/service for 1\d s/)
    await databases.server.pause()
    onTestFinished(() => databases.server.start())
    one?.passes(engineSilentMsMax)
    expect(troubles()).toMatch(/^the database has accepted no claim of this daemon for 3\d s/)
  })
})
