import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openPostgresOutbox, type PostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { isSoak, sampleOf } from '../../support/soak.ts'
import {
  at,
  balanceOf,
  changed,
  correct,
  deliver,
  dueOf,
  held,
  hoursOf,
  plan,
  record,
  statesAt,
} from '../contract/steps.ts'

describe.skipIf(postgresPlace.kind === 'missing')('a write to PostgreSQL (needs the program initdb)', () => {
  const databases = useTestDatabases()

  const [first, second] = [metrics(6), metrics(6, at(1))]
  const writes: readonly [name: string, act: (outbox: PostgresOutbox) => Promise<unknown>][] = [
    ['recording', outbox => record(outbox, second)],
    ['planning', outbox => plan(outbox, { current: at(3), oldest: at(1) })],
    ['correcting', outbox => correct(outbox, [...changed(first.slice(0, 2)), ...held(changed(first.slice(2, 3)))])],
    ['delivering', outbox => deliver(outbox, first.slice(1, 5))],
    ['releasing', outbox => outbox.operators.release({ state: 'held' }, 'locked')],
    ['dropping', outbox => outbox.operators.dropDue({ ids: ['vault___M5'] })],
    ['reporting', outbox => outbox.reports.save('notify', '{"a":1}')],
  ]

  it.each(sampleOf(writes, isSoak ? writes.length : 1))(
    'does the same when a statement of %s meets a serialisation failure, whichever',
    async (_, act) => {
      const prepared = async () => {
        const outbox = await openPostgresOutbox(addressOf(await databases.cleared()))
        onTestFinished(() => outbox.close())
        await plan(outbox, { since: anHour, current: at(1) })
        await record(outbox, [...first.slice(0, 5), ...held(first.slice(5))])
        return outbox
      }
      const plain = await prepared()
      const expected = await act(plain)
      const contents = await contentsOf(plain)
      for (let place = 0, isInjected = true; isInjected; place += 1) {
        const outbox = await prepared()
        const injection = injectedAt(place)
        expect(await act(outbox), `statement ${place}`).toEqual(expected)
        isInjected = injection.stopped()
        expect(await contentsOf(outbox), `statement ${place}`).toEqual(contents)
        await outbox.close()
      }
    },
  )
})

/** All that an outbox shows, apart from instants of attempts. */
async function contentsOf(outbox: PostgresOutbox) {
  return {
    balance: await balanceOf(outbox),
    hours: await hoursOf(outbox, at(-2), at(5)),
    states: [await statesAt(outbox), await statesAt(outbox, at(1))],
    due: new Set(await dueOf(outbox)),
    held: await outbox.operators.deadOrHeld({ state: 'held' }),
    sent: await outbox.delivery.sentBefore(metrics(6)),
    report: await outbox.reports.read('notify'),
  }
}

/** Lets the statement at a place, counted from now on, fail at the server, once. */
function injectedAt(place: number): { stopped(): boolean } {
  const query = pg.Client.prototype.query
  let count = 0
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const isHere = count === place
    count += 1
    const failing = [`DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '40001'; END $$`]
    return Reflect.apply(query, this, isHere ? failing : given)
  })
  onTestFinished(() => spy.mockRestore())
  return {
    stopped() {
      spy.mockRestore()
      return count > place
    },
  }
}
