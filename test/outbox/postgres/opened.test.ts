import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { faultLine } from '../../../src/model/fault.ts'
import type { PostgresAddress } from '../../../src/model/postgres-address.ts'
import { PostgresDatabase } from '../../../src/outbox/postgres/connection/database.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { outboxSchema } from '../../../src/outbox/sqlite/outbox-salvage.ts'
import { tablesVersion } from '../../../src/outbox/store/schema.ts'
import { openDatabase } from '../../../src/sqlite/database.ts'
import { freePort } from '../../support/free-port.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { postgresPassword } from '../../support/postgres/server.ts'

describe.skipIf(postgresPlace.kind === 'missing')('opening an outbox in PostgreSQL (needs the program initdb)', () => {
  const databases = useTestDatabases()

  /** An opened outbox, closed when the test ends. */
  async function opened(address: PostgresAddress) {
    const outbox = await openPostgresOutbox(address)
    onTestFinished(() => outbox.close())
    return outbox
  }

  /** The line of the fault that opening ends with. */
  async function refusal(address: PostgresAddress): Promise<string> {
    const error = await openPostgresOutbox(address).then(
      () => undefined,
      (fault: unknown) => fault,
    )
    const line = faultLine(error)
    expect(line).not.toContain('\n')
    for (const secret of [postgresPassword, encodeURIComponent(postgresPassword), 'wrong']) {
      expect(line).not.toContain(secret)
    }
    return line
  }

  it('makes the tables once, also when many do so at once', async () => {
    const address = addressOf(await databases.empty())
    const all = await Promise.all(Array.from({ length: 4 }, () => opened(address)))
    await all[0]?.reports.save('notify', '{}')
    expect(await all[3]?.reports.read('notify')).toBe('{}')
    expect(await databases.server.query('SELECT version FROM tidegauge.version', [], address.database)).toEqual([
      { version: tablesVersion },
    ])
  })

  it('has the tables and the columns of the SQLite file', async () => {
    const address = addressOf(await databases.empty())
    await opened(address)
    const file = openDatabase(':memory:', outboxSchema)
    onTestFinished(() => void file.close())
    const inFile = file
      .prepare<[], string>(
        "SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
      )
      .pluck()
      .all()
    const inDatabase = await databases.server.query(
      "SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'tidegauge'",
      [],
      address.database,
    )
    expect(inFile).toContain('outbox.value')
    expect(inDatabase.map(({ name }) => name)).toEqual(expect.arrayContaining(inFile))
  })

  it('uses a schema that was made for a user who may make none', async () => {
    const address = addressOf(await databases.empty())
    const { database } = address
    const limited = { ...address, user: `limited_${database}`, password: 'limited' }
    await databases.server.query(`CREATE ROLE ${limited.user} LOGIN PASSWORD 'limited'`)
    onTestFinished(async () => {
      await databases.server.query(`DROP OWNED BY ${limited.user} CASCADE`, [], database)
      await databases.server.query(`DROP ROLE ${limited.user}`)
    })
    expect(await refusal(limited)).toMatch(/gives this user too few rights.*GRANT CREATE ON DATABASE/)
    await databases.server.query(`CREATE SCHEMA tidegauge AUTHORIZATION ${limited.user}`, [], database)
    const outbox = await opened(limited)
    await outbox.reports.save('notify', '{}')
  })

  it('says in one line why it cannot, and what to do', async () => {
    const address = addressOf(await databases.empty())
    expect(await refusal({ ...address, password: 'wrong' })).toMatch(
      /refuses the user or the password.*correct the user/,
    )
    expect(await refusal({ ...address, password: '' })).toMatch(/asks for a password, and the address has none/)
    expect(await refusal({ ...address, database: 'missing' })).toMatch(
      /the database 127\.0\.0\.1:\d+\/missing does not exist.*CREATE DATABASE/,
    )
    expect(await refusal({ ...address, tls: 'checked' })).toMatch(/has no TLS/)
    expect(await refusal({ ...address, port: await freePort() })).toMatch(
      /cannot be reached \(nothing listens there, ECONNREFUSED\).*nothing is lost/,
    )
    expect(await refusal({ ...address, host: 'no-such-host.invalid' })).toMatch(
      /no-such-host\.invalid.*cannot be reached/,
    )
  })

  it('refuses a server that is older than 13', async () => {
    const address = addressOf(await databases.empty())
    const asked = vi.spyOn(PostgresDatabase.prototype, 'rows')
    onTestFinished(() => asked.mockRestore())
    asked.mockResolvedValueOnce([{ number: 120_022, words: '12.22 (Debian 12.22-1)' }])
    expect(await refusal(address)).toMatch(
      /cannot use the database 127\.0\.0\.1:\d+\/test_\d+: its server has version 12\.22 .* use PostgreSQL 13 or newer/,
    )
  })

  it('refuses the tables of another version, and changes nothing of them', async () => {
    const address = addressOf(await databases.empty())
    await (await opened(address)).close()
    await databases.server.query('UPDATE tidegauge.version SET version = 99', [], address.database)
    expect(await refusal(address)).toMatch(
      /version 99, another version of the daemon; this one reads \d+.*or a newer one/,
    )
    await databases.server.query('DELETE FROM tidegauge.version', [], address.database)
    expect(await refusal(address)).toMatch(/version 0/)
  })

  it('writes nothing more once a newer version has changed the tables', async () => {
    const address = addressOf(await databases.empty())
    const outbox = await opened(address)
    await outbox.reports.save('notify', '{}')
    await databases.server.query('UPDATE tidegauge.version SET version = 99', [], address.database)
    await expect(outbox.reports.save('notify', '{"later":1}')).rejects.toThrow(/brought its tables to version 99/)
    expect(await databases.server.query('SELECT state FROM tidegauge.report', [], address.database)).toEqual([
      { state: '{}' },
    ])
  })
})
