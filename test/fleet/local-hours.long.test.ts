import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { LocalOutcomes } from '../../src/outbox/local-outcomes.ts'
import { temporaryFolder } from '../support/folder.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { memberOn, outcomeOf } from './support/member.ts'

const a = { id: 'a', chain: 'ethereum' }
const b = { id: 'b', chain: 'ethereum' }

/** An outcome whose first metric has a value. */
function valued(value: number) {
  const outcome = outcomeOf('a')
  return { ...outcome, accepted: outcome.accepted.map(({ metric }) => ({ metric: { ...metric, value } })) }
}

const idOf = () => valued(1).accepted[0]?.metric.id ?? '___'

describe.skipIf(postgresPlace.kind === 'missing')('an hour that can be read only now, without its database', () => {
  const databases = useTestDatabases()
  type Member = Awaited<ReturnType<typeof memberOn>>

  const valuesOf = async ({ outbox }: Member) => (await outbox.operators.history(idOf())).map(({ value }) => value)
  const stateOf = async ({ outbox }: Member) => (await outbox.intake.hourStates('a', anHour, anHour)).get(anHour)

  it('is read although it could not be planned, kept, and stored when the database is back', async () => {
    const one = await memberOn(await databases.empty(), [a, b])
    await databases.server.pause()
    await expect(one.planNow('a')).rejects.toThrow()
    await expect(one.plan('b')).rejects.toThrow()
    expect(await one.due(), 'b can be read later').toEqual(['a 0'])
    expect(await one.intake.pasts([{ id: idOf(), hour: anHour }])).toEqual([undefined])
    expect(await one.intake.record(valued(7), anHour)).toEqual({ added: 1, corrected: 0 })
    await expect(one.intake.record(outcomeOf('b'), anHour)).rejects.toThrow()
    expect(await one.due().catch(() => []), 'it is kept').toEqual([])
    expect(one.outcomes.count).toBe(1)
    await databases.server.start()
    await one.due()
    expect(one.outcomes.count).toBe(0)
    expect([await stateOf(one), await valuesOf(one)]).toEqual(['collected', [7]])
    await one.planNow('a')
    expect([await stateOf(one), await one.due()]).toEqual(['collected', []])
  })

  it('keeps the value that another daemon stored meanwhile, and is stored once by a drain that was killed', async () => {
    const address = await databases.empty()
    const [one, other] = [await memberOn(address, [a]), await memberOn(address, [a])]
    await one.planNow('a')
    expect(await one.due()).toEqual(['a 0'])
    await databases.server.pause()
    await one.intake.record(valued(7), anHour)
    const [kept] = one.outcomes.all()
    if (!kept) throw new Error('nothing is kept')
    await databases.server.start()
    await other.outbox.intake.record(valued(8), anHour)
    await one.due()
    expect([one.outcomes.count, await valuesOf(one)]).toEqual([0, [8]])
    // As a daemon finds it that was killed between the commit and the end of the file.
    one.outcomes.keep(kept.outcome)
    const next = await memberOn(address, [a], () => true, one.outcomes)
    await next.due()
    expect([one.outcomes.count, await valuesOf(one), await stateOf(one)]).toEqual([0, [8], 'collected'])
  })

  it('is stored although it has become a gap meanwhile', async () => {
    const address = await databases.empty()
    const one = await memberOn(address, [a])
    await one.planNow('a')
    one.outcomes.keep(valued(7))
    await one.outbox.intake.recordGap('a', anHour, new Fault('hour-passed', 'the hour has passed'))
    const next = await memberOn(address, [a], () => true, one.outcomes)
    await next.due()
    expect([await stateOf(next), await valuesOf(next)]).toEqual(['collected', [7]])
  })

  it('is held when its unit differs from that in the database, which could not be asked', async () => {
    const address = await databases.empty()
    const one = await memberOn(address, [a])
    await one.planNow('a')
    await one.due()
    await one.intake.record(valued(6), anHour)
    const hour = hourAfter(anHour, 1)
    const accepted = valued(7).accepted.map(({ metric }) => ({ metric: { ...metric, hour, unit: 'another' } }))
    one.outcomes.keep({ ...valued(7), hour, accepted })
    const next = await memberOn(address, [a], () => true, one.outcomes)
    await next.due()
    expect((await one.outbox.operators.history(idOf())).map(({ state }) => state)).toEqual(['due', 'held'])
  })
})

describe('outcomes in a local folder', () => {
  it('are whole, the first value of a metric stands, and a damaged file does no harm', () => {
    const folder = join(temporaryFolder(), 'kept')
    const outcomes = new LocalOutcomes(folder)
    expect([outcomes.count, outcomes.all()]).toEqual([0, []])
    const fault = new Fault('collector-output', 'a label is missing', { fix: 'mend it' })
    const failed = { fault, nextAttemptMs: anHour + 1 }
    outcomes.keep({ ...valued(1), failed })
    const [partial] = outcomes.all()
    expect(partial?.outcome).toEqual({ ...valued(1), failed })
    const more = valued(3).accepted.map(({ metric }) => ({ metric: { ...metric, id: 'a___More' as const } }))
    outcomes.keep({ ...valued(2), accepted: [...valued(2).accepted, ...more] })
    expect(outcomes.all()[0]?.outcome.accepted.map(({ metric }) => metric.value)).toEqual([1, 3])
    if (partial) outcomes.forget(partial)
    expect(outcomes.count, 'values were added since').toBe(1)
    writeFileSync(join(folder, 'torn.json'), '{"collector":')
    expect([outcomes.all().length, outcomes.count]).toEqual([1, 2])
    for (const each of outcomes.all()) outcomes.forget(each)
    expect(readdirSync(folder)).toEqual(['torn.json'])
  })

  it('say what to do where the folder cannot be written', () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    expect(() => new LocalOutcomes(file).keep(valued(1))).toThrow(/cannot be kept in .*file/)
  })
})
