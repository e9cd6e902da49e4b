import { describe, expect, it, onTestFinished } from 'vitest'
import { faultLine } from '../../../src/model/fault.ts'
import { metricId } from '../../../src/model/metric.ts'
import type { PostgresAddress } from '../../../src/model/postgres-address.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { openPostgresOutbox, type PostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { Pooler, poolerPlace } from '../../support/postgres/pooler.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { postgresPassword } from '../../support/postgres/server.ts'
import { repetitions } from '../../support/soak.ts'
import { at, balanceOf, changed, correct, deliver, dueOf, hoursOf, plan, record } from '../contract/steps.ts'

/** The error that a promise rejects with, as an operator reads it. */
async function lineOf(outbox: Outbox, failing: Promise<unknown>): Promise<string> {
  const error = await failing.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const line = faultLine(outbox.health.explain(error))
  expect(line).not.toContain('\n')
  expect(line).not.toContain(postgresPassword)
  return line
}

/** Asks until it is answered, as the loops do. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await new Promise(resolve => void setImmediate(resolve))
    }
  }
}

describe.skipIf(postgresPlace.kind === 'missing')(
  'an outbox in a PostgreSQL that fails (needs the program initdb)',
  () => {
    const databases = useTestDatabases()

    async function opened(address: PostgresAddress): Promise<PostgresOutbox> {
      const outbox = await openPostgresOutbox(address)
      onTestFinished(() => outbox.close())
      return outbox
    }

    /** An outbox that expects a few hours, and its address. */
    async function begun(hours = 1): Promise<{ outbox: PostgresOutbox; address: PostgresAddress }> {
      const address = addressOf(await databases.empty())
      const outbox = await opened(address)
      await plan(outbox, { since: anHour, current: at(hours - 1) })
      return { outbox, address }
    }

    const superuser = (text: string, database?: string) => databases.server.query(text, [], database)

    it('goes on after a crash and a restart, with all that was stored', async () => {
      const { outbox } = await begun(3)
      await record(outbox, metrics(5))
      await databases.server.kill()
      expect(await lineOf(outbox, record(outbox, metrics(5, at(1))))).toMatch(
        /the database 127\.0\.0\.1:\d+\/test_\d+ cannot be reached/,
      )
      expect(await lineOf(outbox, dueOf(outbox))).toMatch(/cannot be reached/)
      expect(await Promise.race([outbox.health.broken, Promise.resolve('well')])).toBe('well')
      expect(outbox.health.fullSentence).toBeUndefined()
      await databases.server.start()
      expect(await dueOf(outbox)).toHaveLength(5)
      expect(await record(outbox, metrics(5, at(1)))).toEqual({ added: 5, corrected: 0 })
      expect(await balanceOf(outbox)).toMatchObject({ enqueued: 10 })
    })

    it('has each value once, whenever its connections are ended', async () => {
      const hours = repetitions({ test: 3, soak: 24 })
      const { outbox, address } = await begun(hours)
      let isDone = false
      const ending = (async () => {
        while (!isDone) {
          await superuser(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${address.database}' AND pid <> pg_backend_pid()`,
          )
        }
      })()
      for (let count = 0; count < hours; count += 1) {
        await untilAnswered(() => record(outbox, metrics(30, at(count))))
        await untilAnswered(() => deliver(outbox, metrics(20, at(count))))
      }
      isDone = true
      await ending
      const all = { enqueued: 30 * hours, delivered: 20 * hours, due: 10 * hours }
      expect(await untilAnswered(() => balanceOf(outbox))).toMatchObject(all)
      expect((await untilAnswered(() => hoursOf(outbox, anHour, at(hours)))).map(({ state }) => state)).toEqual(
        Array(hours).fill('collected'),
      )
      expect(await dueOf(outbox)).toHaveLength(10 * hours)
    })

    it('says that there is no connection left, and goes on once there is', async () => {
      const address = addressOf(await databases.empty())
      const limited = { ...address, user: `few_${address.database}`, password: 'few' }
      await superuser(`CREATE ROLE ${limited.user} LOGIN PASSWORD 'few' CONNECTION LIMIT 1`)
      await superuser(`CREATE SCHEMA tidegauge AUTHORIZATION ${limited.user}`, address.database)
      onTestFinished(async () => {
        await superuser(`DROP OWNED BY ${limited.user} CASCADE`, address.database)
        await superuser(`DROP ROLE ${limited.user}`)
      })
      const first = await openPostgresOutbox(limited)
      await expect(openPostgresOutbox(limited)).rejects.toThrow(/cannot be reached \(too many connections.*53300/)
      await first.close()
      const second = await untilAnswered(() => openPostgresOutbox(limited))
      expect(await second.reports.read('notify')).toBeUndefined()
      await second.close()
    })

    it('takes nothing new while it can only be read, says so, and finds out when it is over', async () => {
      const { outbox, address } = await begun(2)
      await record(outbox, metrics(2))
      const setReadOnly = async (isOn: boolean) => {
        await superuser(`ALTER DATABASE ${address.database} SET default_transaction_read_only = ${isOn ? 'on' : 'off'}`)
      }
      await setReadOnly(true)
      await superuser(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${address.database}' AND pid <> pg_backend_pid()`,
      )
      expect(
        await lineOf(
          outbox,
          untilRefused(() => record(outbox, metrics(2, at(1)))),
        ),
      ).toMatch(/can only be read now/)
      expect(outbox.health.fullSentence).toMatch(/can only be read now: nothing new is collected/)
      expect(outbox.health.isReadOnly).toBe(true)
      expect(() => outbox.health.requireRoom()).toThrow(/can only be read now/)
      expect((await opened(address)).health.fullSentence, 'before anything is written').toMatch(/can only be read now/)
      expect(await untilAnswered(() => dueOf(outbox))).toHaveLength(2)
      await outbox.health.keepReserve()
      expect(outbox.health.fullSentence, 'it is not over').toBeDefined()
      // Sessions that began before stay read-only.
      await setReadOnly(false)
      while (outbox.health.fullSentence !== undefined) await outbox.health.keepReserve()
      expect(await record(outbox, metrics(2, at(1)))).toEqual({ added: 2, corrected: 0 })
      await superuser(`ALTER DATABASE ${address.database} RESET default_transaction_read_only`)
    })

    it.skipIf(poolerPlace.kind === 'missing')(
      'works behind pgbouncer in transaction mode (needs the program pgbouncer)',
      async () => {
        if (poolerPlace.kind === 'missing') return
        const pooler = await Pooler.started(poolerPlace.path, addressOf(await databases.empty()))
        onTestFinished(() => pooler.stop())
        const [one, other] = [await openPostgresOutbox(pooler.address), await openPostgresOutbox(pooler.address)]
        await plan(one, { since: anHour, current: at(9) })
        await Promise.all(
          Array.from({ length: 10 }, (_, count) => record(count % 2 === 0 ? one : other, metrics(120, at(count)))),
        )
        await Promise.all([deliver(one, metrics(100)), deliver(other, metrics(100, at(1)))])
        expect(await balanceOf(other)).toMatchObject({ enqueued: 1_200, delivered: 200, due: 1_000 })
        expect(await one.intake.pasts(metrics(1, at(5)))).toMatchObject([{ previous: { hour: at(4) } }])
        await Promise.all([one.close(), other.close()])
      },
    )

    it.skipIf(poolerPlace.kind === 'missing')(
      'rounds no value behind pgbouncer, whatever the session that it gives (needs the program pgbouncer)',
      async () => {
        if (poolerPlace.kind === 'missing') return
        const address = addressOf(await databases.empty())
        await databases.server.query(`ALTER DATABASE ${address.database} SET extra_float_digits = -5`)
        const pooler = await Pooler.started(poolerPlace.path, address)
        onTestFinished(async () => {
          await pooler.stop()
          await databases.server.query(`ALTER DATABASE ${address.database} RESET ALL`)
        })
        const outbox = await openPostgresOutbox(pooler.address)
        onTestFinished(() => outbox.close())
        await plan(outbox, { since: anHour, current: at(1) })
        const value = 1234567.8901234567
        await record(outbox, changed(metrics(1), value))
        await correct(outbox, changed(metrics(1), 7))
        // Its next connections to the server have never seen this client's settings.
        await databases.server.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${address.database}'`,
        )
        const entries = await untilAnswered(() => outbox.operators.history(metricId('vault', 'M0')))
        expect(entries[0]?.earlier).toMatchObject([{ value }])
      },
    )
  },
)

/** Asks until the answer is not about a lost connection: a new one knows the database's settings. */
async function untilRefused(ask: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (/read/.test(String(error))) throw error
    }
  }
}
