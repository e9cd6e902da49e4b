import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { laneJob, laneQueue, roleJob } from '../../src/fleet/job-engine.ts'
import { dueJobs, reconciledHoursMax } from '../../src/fleet/lane-claims.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { anHour } from '../support/metrics.ts'

const uuid5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the job of a lane and hour', () => {
  it('has the same id in every daemon and version', () => {
    expect(laneJob({ lane: 'ethereum', hour: anHour })).toEqual({
      id: 'c4704052-2c41-579e-9b37-d41a7b226e87',
      data: { hour: anHour },
      priority: 498_661,
    })
  })

  it('has an id of its own', () => {
    const lane = fc.constantFrom('ethereum', 'base', 'web', 'machine/eu-1', 'ethereum/1')
    const laneHour = fc.record({ lane, hour: fc.integer({ min: -400, max: 0 }).map(count => hourAfter(anHour, count)) })
    fc.assert(
      fc.property(laneHour, laneHour, (one, other) => {
        const isSame = one.lane === other.lane && one.hour === other.hour
        expect(laneJob(one).id).toMatch(uuid5)
        expect(laneJob(one).id === laneJob(other).id).toBe(isSame)
      }),
    )
  })

  it('goes before the job of an earlier hour', () => {
    const priorityOf = (count: number) => laneJob({ lane: 'web', hour: hourAfter(anHour, count) }).priority
    expect(priorityOf(0)).toBeGreaterThan(priorityOf(-1))
  })

  it('is not the job of a role', () => {
    expect(roleJob('deliver/service').id).toMatch(uuid5)
    expect(roleJob('deliver/service').id).not.toBe(roleJob('deliver/env:VAULT_KEY').id)
  })
})

describe('the name of a queue', () => {
  const taken = /^[\w.\-/]+$/

  it('reads as the lane where the engine takes it', () => {
    expect(laneQueue('ethereum')).toBe('collect/ethereum')
    expect(laneQueue('machine/eu-1')).toBe('collect/machine/eu-1')
  })

  it.each([
    ['my chain', 'my_chain'],
    ['höhe', 'hoehe'],
    ['höhe', 'h_he'],
    ['x'.repeat(80), 'x'.repeat(81)],
    ['file:/run/a', 'file:/run/b'],
  ])('is taken by the engine and differs between %s and %s', (one, other) => {
    for (const name of [one, other]) expect(laneQueue(name)).toMatch(taken)
    expect(laneQueue(one)).not.toBe(laneQueue(other))
  })
})

describe('the jobs that a reconciliation makes', () => {
  it('are one for each due lane and hour, by queue, the newest first', () => {
    const [early, late] = [hourAfter(anHour, -1), anHour]
    const due = [
      { lane: 'base', hour: early },
      { lane: 'base', hour: late },
      { lane: 'web', hour: early },
      { lane: 'base', hour: early },
    ]
    expect(dueJobs(due, new Set(['base', 'web']))).toEqual([
      { queue: 'collect/base', jobs: [laneJob({ lane: 'base', hour: late }), laneJob({ lane: 'base', hour: early })] },
      { queue: 'collect/web', jobs: [laneJob({ lane: 'web', hour: early })] },
    ])
  })

  it('are none of a lane whose collectors this daemon does not know', () => {
    expect(dueJobs([{ lane: 'base', hour: anHour }], new Set(['web']))).toEqual([])
  })

  it('are the newest hours of a long backlog', () => {
    const due = Array.from({ length: reconciledHoursMax + 5 }, (_, back) => ({
      lane: 'web',
      hour: hourAfter(anHour, back - reconciledHoursMax - 4),
    }))
    const [web] = dueJobs(due, new Set(['web']))
    expect(web?.jobs).toHaveLength(reconciledHoursMax)
    expect(web?.jobs[0]).toEqual(laneJob({ lane: 'web', hour: anHour }))
  })
})
