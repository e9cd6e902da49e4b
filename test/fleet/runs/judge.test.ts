import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { anHour } from '../../support/metrics.ts'
import type { HistoryEvent, HourValue, Run } from './history.ts'
import { judge } from './judge.ts'

const own = { daemon: 'eu-1', lane: 'ethereum', hour: anHour }
const other = { ...own, daemon: 'eu-2' }
const collector = 'vault/tvl'
const value: HourValue = { metric: 'vault.tvl', hour: anHour, value: 42 }
const push = { kind: 'pushed', key: 'service', daemon: 'eu-1', values: [value] } as const

/** The run of one daemon without trouble. */
const collected: readonly HistoryEvent[] = [
  { atMs: 1_000, kind: 'took', isAgain: false, ...own },
  { atMs: 1_001, kind: 'asked', ...own },
  { atMs: 1_001, kind: 'read', collector, ...own },
  { atMs: 1_102, kind: 'committed', collector, begunAtMs: 1_100, ...own },
]
const well: readonly HistoryEvent[] = [...collected, { atMs: 1_200, ...push }]

function runOf(events: readonly HistoryEvent[], more: Partial<Run> = {}): Run {
  return { events, expected: [value], stored: [value], served: [value], pacePerSecond: 2, ...more }
}

function again(isAgain: boolean): readonly HistoryEvent[] {
  return [
    { atMs: 13_000, kind: 'took', isAgain, ...other },
    { atMs: 13_001, kind: 'asked', ...other },
    { atMs: 13_001, kind: 'read', collector, ...other },
  ]
}

describe('the judge of a fleet’s history', () => {
  it('finds nothing in a run that keeps what is promised', () => {
    expect(judge(runOf(well))).toEqual([])
  })

  it('finds an hour that is missing in the rows or at the service', () => {
    expect(judge(runOf(well, { stored: [] }))).toEqual([expect.stringContaining('is missing in the rows, not 42')])
    expect(judge(runOf(well, { served: [] }))).toEqual([expect.stringContaining('is missing at the service, not 42')])
  })

  it('finds a value that differs in its last bit', () => {
    const off = { ...value, value: 42 + 2 ** -47 }
    expect(judge(runOf(well, { stored: [off] }))).toHaveLength(1)
    expect(judge(runOf(well, { served: [off] }))).toHaveLength(1)
    expect(judge(runOf([...collected, { atMs: 1_200, ...push, values: [off] }]))).toHaveLength(1)
  })

  it('finds what is collected twice, unless it was taken over, failed, or its reader was in trouble', () => {
    const reads = collected.slice(0, 3)
    const twice = [
      expect.stringContaining('is read again by eu-2'),
      expect.stringMatching(/a node is asked again .* by eu-2/),
    ]
    expect(judge(runOf([...reads, ...again(false)]))).toEqual(twice)
    expect(judge(runOf([...reads, ...again(true)]))).toEqual([])
    const trouble = (daemon: string): HistoryEvent => ({ atMs: 2_000, kind: 'trouble', what: 'killed', daemon })
    expect(judge(runOf([...reads, trouble('eu-1'), ...again(false)]))).toEqual([])
    expect(judge(runOf([...reads, trouble('eu-3'), ...again(false)]))).toEqual(twice)
    expect(judge(runOf([...reads, { atMs: 2_000, kind: 'dropped' }, ...again(false)]))).toEqual([])
    const failed: HistoryEvent = { atMs: 2_000, kind: 'failed', collector, ...own }
    expect(judge(runOf([...reads, failed, ...again(false)]))).toEqual([])
  })

  it('finds a commit of a daemon whose hour another one has taken', () => {
    const stale: readonly HistoryEvent[] = [
      ...collected.slice(0, 3),
      ...again(true),
      { atMs: 14_000, kind: 'committed', collector, begunAtMs: 13_900, ...own },
    ]
    expect(judge(runOf(stale))).toEqual([expect.stringContaining('is stored by eu-1 at 00:00:14.000Z: eu-2 has it')])
  })

  it('allows the commit that was under way when another daemon took the hour', () => {
    const late = { atMs: 73_000, kind: 'committed', collector, begunAtMs: 1_100, ...own } as const
    expect(judge(runOf([...collected.slice(0, 3), ...again(true), late]))).toEqual([])
  })

  it('finds an hour that is stored twice', () => {
    const twice: readonly HistoryEvent[] = [
      ...collected,
      ...again(true),
      { atMs: 14_000, kind: 'committed', collector, begunAtMs: 13_900, ...other },
    ]
    expect(judge(runOf(twice))).toEqual([expect.stringContaining('is stored 2 times')])
  })

  it('finds a value that is sent again with a difference, and an old one after a correction', () => {
    const newer = { ...value, value: 43 }
    const corrected: HistoryEvent = { atMs: 2_000, kind: 'corrected', ...newer }
    const ends = { stored: [newer], served: [newer] }
    const sent: HistoryEvent = { atMs: 3_000, ...push, values: [newer] }
    expect(judge(runOf([...well, corrected, sent], ends))).toEqual([])
    expect(judge(runOf([...collected, sent]))).toEqual([expect.stringContaining('eu-1 sends 43')])
    const stale: HistoryEvent = { atMs: 2_500, ...push }
    expect(judge(runOf([...collected, corrected, stale], ends))).toEqual([expect.stringContaining('eu-1 sends 42')])
    expect(judge(runOf([...well, corrected], { stored: [newer] }))).toEqual([
      expect.stringContaining('is 42 at the service, not 43'),
    ])
  })

  it('finds more pushes in a second than the pace, also of two daemons', () => {
    const pushes = (third: number): HistoryEvent[] =>
      [2_000, 2_600, third].map((atMs, index) => ({ atMs, ...push, daemon: `eu-${index}` }))
    const troubles: HistoryEvent[] = [{ atMs: 1_500, kind: 'trouble', what: 'killed', daemon: 'eu-1' }]
    expect(judge(runOf([...collected, ...troubles, ...pushes(3_000)]))).toEqual([])
    expect(judge(runOf([...collected, ...troubles, ...pushes(2_999)]))).toEqual([
      expect.stringContaining('more than 2 pushes with service in the second from 00:00:02.000Z: eu-0, eu-1, eu-2'),
    ])
    const keys = pushes(2_999).map((event, index) => ({ ...event, key: `key ${index}` }))
    expect(judge(runOf([...collected, ...troubles, ...keys]))).toEqual([])
  })

  it('finds more pushes than the batches, the lane-hours and the troubles need', () => {
    const pushes = (count: number): HistoryEvent[] =>
      Array.from({ length: count }, (_, index) => ({ atMs: 2_000 + 1_000 * index, ...push }))
    expect(judge(runOf([...collected, ...pushes(2)]))).toEqual([])
    expect(judge(runOf([...collected, ...pushes(3)]))).toEqual(['3 pushes, and 2 would do'])
    const killed: HistoryEvent = { atMs: 1_500, kind: 'trouble', what: 'killed', daemon: 'eu-1' }
    expect(judge(runOf([...collected, killed, ...pushes(4)]))).toEqual([])
    const ill: HistoryEvent = { atMs: 1_900, ...push, isIll: true }
    expect(judge(runOf([...collected, ill, ...pushes(3)]))).toEqual([])
    expect(judge(runOf([...collected, ill, ...pushes(4)]))).toEqual(['5 pushes, and 4 would do'])
  })

  it('reads the hours of one metric apart', () => {
    const next = { ...value, hour: hourAfter(anHour, 1), value: 7 }
    const events: HistoryEvent[] = [...collected, { atMs: 1_200, ...push, values: [value, next] }]
    const both = { expected: [value, next], stored: [value, next], served: [value, next] }
    expect(judge(runOf(events, both))).toEqual([])
  })
})
