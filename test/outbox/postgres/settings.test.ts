import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { exitCodeOf } from '../../../src/cli/exit.ts'
import { resolveDatabase } from '../../../src/config/secret.ts'
import { faultLine } from '../../../src/model/fault.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { PostgresRoles } from '../../../src/outbox/postgres/roles.ts'
import { engineOn } from '../../fleet/support/engines.ts'
import { certificateFor } from '../../support/certificate.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { oddSettings } from '../../support/postgres/odd-settings.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { PostgresServer } from '../../support/postgres/server.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a database as its owner made it (needs the program initdb)', () => {
  const databases = useTestDatabases()
  const query = (text: string, database?: string) => databases.server.query(text, [], database)

  async function openedAt(text: string) {
    const outbox = await openPostgresOutbox(addressOf(text))
    onTestFinished(() => outbox.close())
    return outbox
  }

  it.each(['LATIN1', 'SQL_ASCII', 'WIN1252'])('in %s is refused with the cure, and 78', async encoding => {
    const name = `in_${encoding.toLowerCase()}`
    await query(`CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
    const refusal = await openedAt(databases.server.address('', name)).catch((error: unknown) => error)
    expect(faultLine(refusal)).toMatch(new RegExp(`${name}: its encoding is ${encoding}, .*ENCODING 'UTF8'`))
    expect(exitCodeOf(refusal)).toBe(78)
    const made = await query("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'tidegauge%'", name)
    expect(made, 'nothing is made in it').toEqual([])
  })

  it('with settings of its own is read and written like others', async () => {
    const text = await databases.empty()
    const { database } = addressOf(text)
    onTestFinished(async () => void (await query(`ALTER DATABASE ${database} RESET ALL`)))
    for (const [name, value] of Object.entries(oddSettings)) {
      await query(`ALTER DATABASE ${database} SET ${name} = ${name === 'DateStyle' ? value : `'${value}'`}`)
    }
    const outbox = await openedAt(text)
    const entry = { name: 'eu', version: '1', digest: Buffer.from([0, 92, 200]), lanes: ['Zürich\\'] }
    const instance = randomUUID()
    await outbox.sharedOutbox.leases.renew(
      { daemon: 'eu', instance, term: 0 },
      { ...entry, pid: 7, host: 'a\\b', configFile: 'c', instance, clockOffMs: -7 },
    )
    const [seen] = await outbox.sharedOutbox.store.daemons()
    expect(seen).toMatchObject({ ...entry, host: 'a\\b' })
    const since = (await new PostgresRoles(addressOf(text), 'c').daemon())?.since ?? ''
    expect(Math.abs(Date.parse(since) - (seen?.startedAtMs ?? 0))).toBeLessThan(2)
    const engine = engineOn(text)
    await engine.insert('q', [{ id: '11111111-1111-4111-8111-111111111111', data: { text: "\\ ' π" }, priority: 1 }])
    const [job] = await engine.fetch('q', 1)
    expect(job?.data).toEqual({ text: "\\ ' π" })
    expect(Math.abs((job?.attempt.madeAtMs ?? 0) - (await outbox.sharedOutbox.store.nowMs()))).toBeLessThan(60_000)
  })

  it('that does not take the words of a verdict takes the verdict', async () => {
    const text = await databases.empty()
    const outbox = await openedAt(text)
    await query("ALTER TABLE tidegauge.warning ADD CHECK (text !~ 'odd')", addressOf(text).database)
    await query("ALTER TABLE tidegauge.detained ADD CHECK (reason !~ 'odd')", addressOf(text).database)
    await outbox.intake.planHours({ collector: 'c', current: anHour, oldest: anHour, gapReason: new Error() as never })
    const [one, two] = metrics(2)
    if (!one || !two) throw new Error('two')
    await outbox.intake.record(
      { collector: 'c', hour: anHour, acceptedValues: [{ metric: one }, { metric: two }] },
      anHour,
    )
    const dead = [{ metric: two, reason: 'odd words', status: 400, attempts: 1 }]
    await outbox.delivery.recordVerdicts({ delivered: [one], dead, warnings: [{ text: 'odd words' }] }, anHour)
    expect((await outbox.operators.backlog()).balance).toMatchObject({ due: 0, delivered: 1, dead: 1 })
    expect((await outbox.operators.deadOrHeld({ state: 'dead' }))[0]?.reason).toMatch(/does not take/)
  })
})

describe.skipIf(postgresPlace.kind === 'missing')('sslrootcert of an address', () => {
  const certificate = certificateFor(['localhost'])
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await PostgresServer.started(postgresPlace.kind === 'missing' ? '' : postgresPlace.path, { certificate })
  })
  afterAll(() => server?.stop())

  const addressWith = (parameters: string) => {
    const text = server?.address(parameters).replace('127.0.0.1', 'localhost') ?? ''
    vi.stubEnv('TEST_DATABASE', text)
    return resolveDatabase({ kind: 'env', name: 'TEST_DATABASE' })
  }
  const file = (text: string) => {
    const path = join(temporaryFolder(), 'ca.pem')
    writeFileSync(path, text)
    return path
  }

  it('is the authority that is trusted, with a check even where no sslmode stands', async () => {
    const own = file(certificate.cert)
    for (const parameters of [`?sslrootcert=${own}`, `?sslmode=verify-full&sslrootcert=${own}`]) {
      const outbox = await openPostgresOutbox(addressWith(parameters))
      expect(await outbox.database.rows('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).toEqual([
        { ssl: true },
      ])
      await outbox.close()
    }
    const other = file(certificateFor(['localhost']).cert)
    await expect(openPostgresOutbox(addressWith(`?sslrootcert=${other}`))).rejects.toMatchObject({
      code: 'database-unusable',
      message: expect.stringContaining('a certificate that is not accepted'),
    })
  })

  it.each([
    ['/no/such.pem', /^the file \/no\/such\.pem, the sslrootcert of the database, does not exist/],
    [import.meta.filename, /holds no certificate/],
    ['ca.pem', /must have an absolute path as sslrootcert/],
  ])('%s is refused in words', (path, words) => {
    expect(() => addressWith(`?sslrootcert=${path}`)).toThrow(words)
  })
})
