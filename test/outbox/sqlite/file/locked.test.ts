import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../src/model/fault.ts'
import { hourAfter } from '../../../../src/model/hour.ts'
import { lockedReportMs } from '../../../../src/outbox/sqlite/file/writer.ts'
import { outboxSchema } from '../../../../src/outbox/sqlite/outbox-salvage.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { openDatabase } from '../../../../src/sqlite/database.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { expectHoursNow } from '../../../support/stored-hours.ts'

/** A clock whose rests end when the test says so. */
class Rests {
  #resting = Promise.withResolvers<void>()
  readonly #wakers: (() => void)[] = []
  now = anHour as number

  nowMs(): number {
    return this.now
  }

  sleep(_: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakers.push(resolve)
    signal?.addEventListener('abort', () => resolve())
    this.#resting.resolve()
    return promise
  }

  /** Resolves once something rests. */
  async resting(): Promise<void> {
    await this.#resting.promise
    this.#resting = Promise.withResolvers()
  }

  wake(): void {
    for (const waker of this.#wakers.splice(0)) waker()
  }
}

interface Stage {
  readonly outbox: SqliteOutbox
  readonly rests: Rests
  readonly file: string
  /** Another opening of the file takes the write lock. @returns gives it back */
  lock(): () => void
}

function stage(): Stage {
  const file = join(temporaryFolder(), 'outbox.db')
  const rests = new Rests()
  const outbox = new SqliteOutbox(file, rests)
  const other = openDatabase(file, outboxSchema)
  onTestFinished(() => {
    outbox.close()
    other.close()
  })
  expectHoursNow(outbox, 'vault/c', anHour)
  outbox.writer.neverBlock()
  const lock = () => {
    other.exec('BEGIN IMMEDIATE')
    return () => void other.exec('ROLLBACK')
  }
  return { outbox, rests, file, lock }
}

const store = (outbox: SqliteOutbox, count = 2) =>
  outbox.intake.record(
    { collector: 'vault/c', hour: anHour, accepted: metrics(count).map(metric => ({ metric })) },
    anHour,
  )

describe('while another process has the write lock', () => {
  it('values wait in memory, are read from nowhere, and are stored together once it is free', async () => {
    const { outbox, rests, lock } = stage()
    const free = lock()
    const [one, other] = [
      store(outbox, 2),
      outbox.intake.recordGap('vault/c', hourAfter(anHour, 1), new Fault('hour-too-old', 'old')),
    ]
    await rests.resting()
    expect(outbox.writer.waitingRows).toBe(2)
    expect((await outbox.delivery.backlog()).balance.due).toBe(0)
    rests.wake()
    await rests.resting()
    free()
    rests.wake()
    await Promise.all([one, other])
    expect((await outbox.delivery.backlog()).balance.due).toBe(2)
    expect(outbox.writer.waitingRows).toBe(0)
  })

  it('what comes later waits behind it, in order', async () => {
    const { outbox, rests, lock } = stage()
    const done: string[] = []
    const free = lock()
    const write = (name: string) => outbox.writer.commit(() => void done.push(name), 1)
    const first = write('first')
    await rests.resting()
    const later = [write('second'), write('third')]
    free()
    rests.wake()
    await Promise.all([first, ...later])
    expect(done).toEqual(['first', 'second', 'third'])
  })

  it('a verdict waits, and says so', async () => {
    const { outbox, rests, lock } = stage()
    await store(outbox)
    const delivered = metrics(2)
    const free = lock()
    const delays: string[] = []
    const settled = outbox.delivery.recordVerdicts(
      { delivered, dead: [], warnings: [] },
      anHour,
      () => void delays.push('delayed'),
    )
    await rests.resting()
    expect(delays).toEqual(['delayed'])
    expect((await outbox.delivery.backlog()).balance).toMatchObject({ due: 2, delivered: 0 })
    free()
    rests.wake()
    await settled
    expect((await outbox.delivery.backlog()).balance).toMatchObject({ due: 0, delivered: 2 })
  })

  it('what is remembered of a destination counts at once, and is written once it is free', async () => {
    const { outbox, rests, file, lock } = stage()
    const state = { notBeforeMs: 7, probeAtMs: 0, failures: 1 }
    const free = lock()
    await outbox.delivery.saveDestination('service', { ...state, notBeforeMs: 5 })
    await outbox.delivery.saveDestination('service', state)
    expect(await outbox.delivery.destination('service')).toEqual(state)
    await rests.resting()
    free()
    rests.wake()
    await outbox.writer.whenFree(() => undefined)
    await new Promise(setImmediate)
    const other = new SqliteOutbox(file)
    expect(await other.delivery.destination('service')).toEqual(state)
    other.close()
  })

  it('it is reported after a while, with how much waits, and no longer once it is over', async () => {
    const { outbox, rests, lock } = stage()
    const free = lock()
    const stored = store(outbox, 5)
    await rests.resting()
    expect(outbox.writer.lockedSentence(rests.now)).toBeUndefined()
    rests.now += lockedReportMs
    expect(outbox.writer.lockedSentence(rests.now)).toBe(
      "another process has had the outbox's write lock for 10 s: about 5 rows wait in memory until it ends",
    )
    free()
    rests.wake()
    await stored
    expect(outbox.writer.lockedSentence(rests.now)).toBeUndefined()
  })

  it('nothing waits for ever once the outbox is given up, and what was not accepted is not there', async () => {
    const { outbox, rests, lock } = stage()
    const free = lock()
    const stored = store(outbox)
    await rests.resting()
    outbox.writer.giveUp()
    await expect(stored).rejects.toThrow('database is locked')
    free()
    expect((await outbox.delivery.backlog()).balance.due).toBe(0)
  })
})
