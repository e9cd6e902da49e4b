import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { type NewValue, openStore } from '../../src/reference/store.ts'
import { temporaryFolder } from '../support/folder.ts'

/** Two openings of one file, as two processes have it, and a look into it from outside. */
function openTwice() {
  const file = join(temporaryFolder(), 'service.db')
  const [one, two] = [openStore(file, systemTime), openStore(file, systemTime)]
  const raw = new Database(file)
  onTestFinished(() => {
    for (const each of [one, two, raw]) each.close()
  })
  const owner = one.keys.find(one.keys.create('owner'))
  if (!owner) throw new Error('the key just made is not valid')
  const protocol = one.protocols.register({ id: 'vault', name: 'Vault', visibility: 'private' }, owner)
  if (!protocol) throw new Error('the id is taken in a new file')
  const rows = () => raw.prepare('SELECT count(*) FROM metric_value').pluck().get()
  return { one, two, raw, owner, protocol, rows }
}

function value(protocolNo: number, id: string, atMs: number, of = 1): NewValue {
  return { protocolNo, id, atMs, value: of, unit: undefined, module: 'protocol' }
}

/** A value that the table refuses, after whatever was stored before it. */
const impossible = (protocolNo: number) => value(protocolNo, 'vault___Bad', 0, Number.NaN)

describe('the store', () => {
  it('stores all of a push or nothing, and the pushes with it all the same', async () => {
    const { one, owner, protocol, rows } = openTwice()
    const results = await Promise.allSettled([
      one.values.put([value(protocol.no, 'vault___A', 1)], owner.no),
      one.values.put([value(protocol.no, 'vault___B', 1), impossible(protocol.no)], owner.no),
      one.values.put([value(protocol.no, 'vault___C', 1)], owner.no),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(rows()).toBe(2)
    expect(one.values.latest(protocol.no).map(({ id }) => id)).toEqual(['vault___A', 'vault___C'])
  })

  it('has a push on disk when it says so', async () => {
    const { one, owner, protocol, rows } = openTwice()
    await one.values.put([value(protocol.no, 'vault___A', 1)], owner.no)
    expect(rows()).toBe(1)
  })

  it('rejects every push of a commit that fails', async () => {
    const { one, raw, owner, protocol, rows } = openTwice()
    raw.exec("CREATE TRIGGER full AFTER INSERT ON metric_value BEGIN SELECT raise(ROLLBACK, 'the disk is full'); END")
    const pushes = ['A', 'B'].map(label => one.values.put([value(protocol.no, `vault___${label}`, 1)], owner.no))
    expect((await Promise.allSettled(pushes)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    raw.exec('DROP TRIGGER full')
    await one.values.put([value(protocol.no, 'vault___A', 1)], owner.no)
    expect(rows()).toBe(1)
  })

  it('can be open twice: what one stores the other sees and updates', async () => {
    const { one, two, owner, protocol } = openTwice()
    expect(await one.values.put([value(protocol.no, 'vault___A', 1, 1)], owner.no)).toEqual([])
    expect(
      await two.values.put([value(protocol.no, 'vault___A', 1, 2), value(protocol.no, 'vault___B', 1)], owner.no),
    ).toEqual([0])
    expect(await one.values.put([value(protocol.no, 'vault___B', 1, 3)], owner.no)).toEqual([0])
    expect(one.values.latest(protocol.no)).toMatchObject([{ value: 2 }, { value: 3 }])
    two.keys.revoke('owner')
    expect(one.keys.list()[0]).toHaveProperty('revokedAtMs')
  })

  it('loses nothing when both write at once', async () => {
    const { one, two, owner, protocol, rows } = openTwice()
    const pushes = Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? one : two).values.put(
        [value(protocol.no, `vault___L${index % 7}`, index), value(protocol.no, 'vault___Z', index)],
        owner.no,
      ),
    )
    expect((await Promise.all(pushes)).flat()).toEqual([])
    expect(rows()).toBe(100)
  })

  it('tells which places of a push were updates, whatever their instants', async () => {
    const { one, owner, protocol } = openTwice()
    await one.values.put([value(protocol.no, 'vault___A', 1), value(protocol.no, 'vault___B', 2)], owner.no)
    const labels = [
      ['B', 1],
      ['A', 1],
      ['C', 2],
      ['B', 2],
      ['C', 1],
      ['C', 2],
    ] as const
    const updated = await one.values.put(
      labels.map(([label, atMs]) => value(protocol.no, `vault___${label}`, atMs)),
      owner.no,
    )
    expect(updated.toSorted()).toEqual([1, 3, 5])
  })

  it('does not let a protocol id change', () => {
    const { raw } = openTwice()
    expect(() => raw.exec("UPDATE protocol SET id = 'other'")).toThrow(/does not change/)
    expect(() => raw.exec("UPDATE protocol SET visibility = 'hidden'")).toThrow(/CHECK/)
  })

  it('changes the visibility only of a protocol that exists', () => {
    const { one } = openTwice()
    one.protocols.setVisibility('vault', 'public')
    expect(one.protocols.find('vault')).toMatchObject({ visibility: 'public' })
    expect(() => one.protocols.setVisibility('pool', 'public')).toThrow(/no protocol "pool"/)
  })
})
