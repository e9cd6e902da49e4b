import { describe, expect, it } from 'vitest'
import { keptForRetryMs } from '../../src/fleet/fleet-intake-store.ts'
import { laneJob, laneQueue, newClaim } from '../../src/fleet/job-engine.ts'
import { claimedHoursMax } from '../../src/fleet/lane-claims.ts'
import { Fault } from '../../src/model/fault.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { anHour } from '../support/metrics.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { memberOn, outcomeOf } from './support/member.ts'

const a = { id: 'a', chain: 'ethereum' }
const b = { id: 'b', chain: 'ethereum' }
const queue = laneQueue('ethereum')
const nowhere = { id: '', retryCount: 0, madeAtMs: 0 }
const hourBefore = hourAfter(anHour, -1)

describe.skipIf(postgresPlace.kind === 'missing')('intake in a fleet', () => {
  const databases = useTestDatabases()

  const statesOf = async ({ outbox }: Awaited<ReturnType<typeof memberOn>>, collector: string) =>
    [...(await outbox.intake.hourStates(collector, hourBefore, anHour)).values()].join(' ')

  it('is offered the hours of a lane in one daemon alone, all collectors together', async () => {
    const address = await databases.empty()
    const [one, other] = [await memberOn(address, [a, b]), await memberOn(address, [a, b])]
    await Promise.all([one.plan(), other.plan()])
    expect(await one.due()).toEqual(['a 0', 'b 0'])
    expect(await other.due(), 'the hour before had no job of its own yet').toEqual([])
  })

  it('offers all collectors of an hour of which nothing is under way, so that one call of the node serves them', async () => {
    const one = await memberOn(await databases.empty(), [a, b])
    await one.plan()
    expect(await one.due(anHour, ['a'])).toEqual(['a 0', 'b 0'])
    expect(await one.due(anHour, ['a']), 'its answer may have been lost').toEqual(['a 0', 'b 0'])
    const underWay = [{ collector: 'b', hour: anHour, attempts: 0 }]
    expect(await one.due(anHour, ['a'], underWay)).toEqual(['a 0'])
  })

  it('leaves room for hours under way whose claims were lost: the collectors of a chain begin the next ones together', async () => {
    const one = await memberOn(await databases.empty(), [a, b])
    await one.plan()
    await one.outbox.intake.record(outcomeOf('a'), anHour)
    await one.outbox.intake.record(outcomeOf('b'), anHour)
    await one.engine.insert(queue, [laneJob({ lane: 'ethereum', hour: hourBefore })])
    const hours = Array.from({ length: claimedHoursMax }, (_, back) => hourAfter(anHour, -2 - back))
    const underWay = hours.map(hour => ({ collector: 'a', hour, attempts: 0 }))
    expect(await one.due(anHour, ['a', 'b'], underWay)).toEqual([])
    expect(await one.due(anHour, ['a', 'b'], underWay.slice(1))).toEqual(['a -1', 'b -1'])
  })

  it('ends the job of an hour in the commit of its last collector', async () => {
    const address = await databases.empty()
    const one = await memberOn(address, [a, b])
    await one.plan()
    await one.due()
    const [job] = one.claims.trusted
    await one.intake.record(outcomeOf('a'), anHour)
    expect(one.claims.find({ lane: 'ethereum', hour: anHour })).toBe(job)
    await one.intake.record(outcomeOf('b'), anHour)
    expect(one.claims.find({ lane: 'ethereum', hour: anHour })).toBeUndefined()
    expect(await one.engine.touch(queue, [job?.claim.attempt ?? nowhere])).toEqual(new Set())
    expect([await statesOf(one, 'a'), await statesOf(one, 'b')]).toEqual(['due collected', 'due collected'])
  })

  it('stores outcomes that come together', async () => {
    const one = await memberOn(await databases.empty(), [a, b])
    await one.plan()
    await one.due()
    await Promise.all([one.intake.record(outcomeOf('a'), anHour), one.intake.record(outcomeOf('b'), anHour)])
    expect([await statesOf(one, 'a'), await statesOf(one, 'b')]).toEqual(['due collected', 'due collected'])
    expect(one.claims.trusted).toEqual([])
  })

  it('stores nothing of a daemon whose hour another one has taken over', async () => {
    const address = await databases.empty()
    const [paused, other] = [await memberOn(address, [a]), await memberOn(address, [a])]
    await paused.plan()
    await paused.due()
    const [stale] = paused.claims.trusted
    if (!stale) throw new Error('nothing was claimed')
    // As the engine does once its heartbeat is missing.
    await other.engine.release(queue, [stale.claim.attempt])
    expect(await other.due()).toEqual(['a 0'])
    const gap = () => paused.intake.recordGap('a', anHour, new Fault('hour-too-old', 'it is too old'))
    await expect(gap()).rejects.toMatchObject({ code: 'hour-taken-over' })
    await expect(paused.intake.record(outcomeOf('a'), anHour)).rejects.toMatchObject({ code: 'hour-taken-over' })
    expect(await statesOf(paused, 'a')).toBe('due due')
    await expect(gap(), 'the claim is forgotten').rejects.toMatchObject({ code: 'hour-taken-over' })
    await other.intake.record(outcomeOf('a'), anHour)
    expect(await statesOf(paused, 'a')).toBe('due collected')
  })

  it('keeps an hour that is tried again soon, and gives up the job of one that is tried later', async () => {
    const one = await memberOn(await databases.empty(), [a])
    await one.plan()
    await one.due()
    const fault = new Fault('chain-behind', 'the chain has no block yet')
    const failsUntil = (nextAttemptMs: number) =>
      one.intake.record({ ...outcomeOf('a'), accepted: [], failed: { fault, nextAttemptMs } }, anHour)
    await failsUntil(anHour + keptForRetryMs - 1)
    expect(await one.due()).toEqual([])
    expect(one.claims.trusted).toHaveLength(1)
    expect(await one.due(anHour + keptForRetryMs)).toEqual(['a 0'])
    await failsUntil(anHour + 10 * keptForRetryMs)
    expect(one.claims.trusted).toEqual([])
  })

  it('leaves the hours of a collector due that this daemon does not know, and never makes them gaps', async () => {
    const address = await databases.empty()
    const [knows, lacks] = [await memberOn(address, [a, b]), await memberOn(address, [a])]
    await knows.plan()
    expect(await lacks.due()).toEqual(['a 0'])
    await lacks.intake.record(outcomeOf('a'), anHour)
    expect(lacks.claims.trusted).toEqual([])
    expect(await statesOf(lacks, 'b')).toBe('due due')
    await knows.plan()
    expect(await knows.due(anHour + 2)).toEqual(['b 0'])
  })

  it('hands an hour over once its node answers it no more, but not while it is under way', async () => {
    const address = await databases.empty()
    let hasNode = true
    const [one, other] = [await memberOn(address, [a], () => hasNode), await memberOn(address, [a])]
    await one.plan()
    await one.due()
    hasNode = false
    expect(await one.due()).toEqual(['a 0'])
    expect(await other.due()).toEqual([])
    const fault = new Fault('chain-unreachable', 'no node answers')
    const failed = { fault, nextAttemptMs: anHour + 5_000 }
    await one.intake.record({ ...outcomeOf('a'), accepted: [], failed }, anHour)
    expect(await one.due()).toEqual([])
    expect(one.claims.find({ lane: 'ethereum', hour: anHour })).toBeUndefined()
    other.claims.forget({ lane: 'ethereum', hour: anHour, queue, claim: newClaim(nowhere, 0) })
    expect(await other.due(anHour + 5_000)).toEqual(['a 0'])
  })

  it('gives up a job without due hours', async () => {
    const one = await memberOn(await databases.empty(), [a])
    await one.plan()
    await one.outbox.intake.record(outcomeOf('a'), anHour)
    expect(await one.due()).toEqual([])
    expect(one.claims.trusted).toEqual([])
    expect(one.failures).toEqual([])
  })
})
