import { chownSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { faultLine } from '../../../src/model/fault.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { mayMount, smallDisk } from '../../support/small-disk.ts'
import { notRoot } from '../../support/unprivileged.ts'
import { at, balanceOf, plan, record } from '../contract/steps.ts'

const databases = postgresPlace.kind === 'missing' ? undefined : useTestDatabases()

it.skipIf(!databases || !mayMount)(
  'a database without room on its disk takes nothing new, loses nothing, and goes on when there is room (needs root)',
  async () => {
    if (!databases) return
    const { server } = databases
    const disk = smallDisk(48)
    if (notRoot.uid !== undefined) chownSync(disk.folder, notRoot.uid, notRoot.gid)
    await server.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`)
    await server.query('CREATE DATABASE small TABLESPACE small')
    onTestFinished(async () => {
      await server.query('DROP DATABASE small WITH (FORCE)')
      await server.query('DROP TABLESPACE small')
    })
    const outbox = await openPostgresOutbox(addressOf(server.address('', 'small')))
    onTestFinished(() => outbox.close())
    await plan(outbox, { since: anHour, current: at(500) })
    disk.fill()
    let stored = 0
    let refused: unknown
    for (let count = 0; refused === undefined && count < 500; count += 1) {
      await record(outbox, metrics(1_000, at(count))).then(
        ({ added }) => {
          stored += added
        },
        (error: unknown) => {
          refused = error
        },
      )
    }
    const line = faultLine(outbox.health.explain(refused))
    expect(line).toMatch(/^the database 127\.0\.0\.1:\d+\/small has no room on its disk: nothing new is collected/)
    expect(outbox.health.fullSentence).toMatch(/has no room on its disk/)
    expect(await balanceOf(outbox)).toMatchObject({ enqueued: stored })
    disk.empty()
    while (outbox.health.fullSentence !== undefined) await outbox.health.keepReserve()
    expect(await record(outbox, metrics(1_000, at(499)))).toEqual({ added: 1_000, corrected: 0 })
    expect(await balanceOf(outbox)).toMatchObject({ enqueued: stored + 1_000 })
  },
)
