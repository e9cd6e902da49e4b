import { describe, expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import {
  afterLook,
  firstIncidents,
  type Incidents,
  type Notice,
  type SeenTrouble,
} from '../../../src/reports/notify/incidents.ts'
import { anHour } from '../../support/metrics.ts'

/** `kind subject`, `~` for one that begins nothing, `#n` for the hours lost so far, `>n` for one that begins after minutes. */
function seen(text: string): SeenTrouble {
  const [, weak, kind, subject = '', lost, minutes] =
    /^(~)?(\S+)(?: ([^#>]+?))?(?: #(\d+))?(?: >(\d+))?$/.exec(text) ?? []
  return {
    kind: kind as SeenTrouble['kind'],
    subject,
    hour: anHour,
    what: `what of ${subject}`,
    why: 'why',
    do: 'do',
    ...(lost !== undefined && { lost: Number(lost) }),
    ...(minutes !== undefined && { beginsAfterMs: Number(minutes) * minute }),
    ...(weak !== undefined && { isWeak: true }),
  }
}

const none: Incidents = firstIncidents([])
const second = 1_000
const minute = 60 * second

/** Looks every five seconds. Each part is what is seen, and for how long. @returns the notices, with when they came */
function timeline(parts: readonly (readonly [lastsMs: number, ...seen: string[]])[], before = none) {
  const sent: { readonly atMs: number; readonly notice: Notice }[] = []
  let [incidents, atMs] = [before, 0]
  for (const [lastsMs, ...texts] of parts) {
    for (const endMs = atMs + lastsMs; atMs < endMs; atMs += 5 * second) {
      const after = afterLook(incidents, texts.map(seen), anHour + atMs)
      incidents = JSON.parse(JSON.stringify(after.incidents)) as Incidents
      for (const notice of after.notices) sent.push({ atMs, notice })
    }
  }
  return { incidents, sent, short: sent.map(({ notice }) => `${notice.state} ${notice.trouble}`) }
}

describe('troubles', () => {
  it.each<[string, Parameters<typeof timeline>[0], string[]]>([
    ['that are none are not reported', [[hourMs]], []],
    ['that last are reported once', [[5 * hourMs, 'not-delivered']], ['begin not-delivered']],
    ['that pass at once are not reported', [[5 * second, 'not-delivered'], [hourMs]], []],
    [
      'that are over are reported as over',
      [[minute, 'not-delivered'], [hourMs]],
      ['begin not-delivered', 'over not-delivered'],
    ],
    [
      'that pause shortly are one',
      [[minute, 'not-delivered'], [50 * second], [minute, 'not-delivered'], [hourMs]],
      ['begin not-delivered', 'over not-delivered'],
    ],
    [
      'of several that begin together are one',
      [[minute, 'held a/x', 'held b/y'], [minute, 'held b/y'], [hourMs]],
      ['begin held', 'over held'],
    ],
    ['of several kinds are one each', [[minute, 'held a/x', 'dead a/x']], ['begin dead', 'begin held']],
    [
      'of another that begin later are reported, too',
      [[minute, 'held a/x'], [hourMs, 'held a/x', 'held b/y'], [hourMs]],
      ['begin held', 'begin held', 'over held', 'over held'],
    ],
    [
      'that wait for longer and end before are not reported, also with another of their kind',
      [
        [14 * minute, 'fleet-differs definition a >15'],
        [5 * minute, 'fleet-differs service b'],
        [10 * minute, 'fleet-differs definition a >15', 'fleet-differs service b'],
        [hourMs],
      ],
      ['begin fleet-differs', 'over fleet-differs'],
    ],
    [
      'that wait for longer are reported then',
      [[16 * minute, 'fleet-differs definition a >15', 'fleet-differs name b >20'], [hourMs]],
      ['begin fleet-differs', 'over fleet-differs'],
    ],
    ['that are not certain begin nothing', [[hourMs, '~not-delivered']], []],
    [
      'that are not certain are not over',
      [
        [minute, 'not-delivered'],
        [hourMs, '~not-delivered'],
        [minute, 'not-delivered'],
      ],
      ['begin not-delivered'],
    ],
    [
      'of lost hours are reported once for all, and over when none was lost for a while',
      [
        [minute, 'gap a/x #2', 'gap b/y #3'],
        [3 * hourMs, 'gap a/x #2', 'gap b/y #3'],
      ],
      ['begin gap', 'over gap'],
    ],
    [
      'of lost hours go on while more are lost',
      [
        [hourMs, 'gap a/x #2'],
        [hourMs, 'gap a/x #3'],
        [hourMs, 'gap a/x #4'],
        [hourMs, 'gap a/x #4'],
      ],
      ['begin gap', 'over gap'],
    ],
    [
      'of lost hours come again with the next one',
      [
        [3 * hourMs, 'gap a/x #1'],
        [3 * hourMs, 'gap a/x #2'],
      ],
      ['begin gap', 'over gap', 'begin gap'],
    ],
    [
      'of lost hours do not come again where some were read after all',
      [[3 * hourMs, 'gap a/x #5'], [3 * hourMs, 'gap a/x #1'], [hourMs]],
      ['begin gap', 'over gap'],
    ],
  ])('%s', (_, parts, notices) => {
    expect(timeline(parts).short).toEqual(notices)
  })

  it('name those that are reported alone, not those of their kind that still wait', () => {
    const { sent } = timeline([[16 * minute, 'fleet-differs definition a >15', 'fleet-differs name b >20']])
    expect(sent.map(({ atMs, notice }) => [atMs, notice.what])).toEqual([[15 * minute, 'what of definition a']])
  })

  it('are reported within seconds, and are over after a minute', () => {
    const { sent } = timeline([[5 * minute, 'not-delivered'], [hourMs]])
    expect(sent.map(({ atMs }) => atMs)).toEqual([10 * second, 6 * minute])
    expect(sent[1]?.notice).toMatchObject({ what: 'what of ', why: 'over after 5 min', do: 'nothing' })
  })

  it('name all that have them, and the oldest hour, in both messages', () => {
    const all = [{ ...seen('dead a/x'), hour: hourAfter(anHour, 2) }, seen('dead b/y')]
    const first = afterLook(none, all, anHour)
    const { notices } = afterLook(first.incidents, all, anHour + 10 * second)
    expect(notices).toEqual([
      {
        trouble: 'dead',
        state: 'begin',
        hour: '2026-11-20T13:00:00Z',
        what: 'what of a/x\nwhat of b/y',
        why: 'why',
        do: 'do',
        items: [
          { what: 'what of a/x', why: 'why', do: 'do' },
          { what: 'what of b/y', why: 'why', do: 'do' },
        ],
      },
    ])
  })

  it('of hours that were lost before the first look are not reported', () => {
    const before = firstIncidents([seen('gap a/x #7')])
    expect(timeline([[hourMs, 'gap a/x #7']], before).short).toEqual([])
    expect(timeline([[minute, 'gap a/x #8']], before).short).toEqual(['begin gap'])
  })

  it('of a clock that was set back are over all the same', () => {
    const begun = timeline([[minute, 'dead a/x']]).incidents
    const first = afterLook(begun, [], anHour + minute)
    const back = afterLook(first.incidents, [], anHour - hourMs)
    const { notices } = afterLook(back.incidents, [], anHour - hourMs + minute)
    expect(notices.map(({ state }) => state)).toEqual(['over'])
  })
})

describe('troubles that come and go', () => {
  const flapping = (times: number) =>
    Array.from({ length: times }, () => [[2 * minute, 'not-delivered'], [2 * minute]] as const).flat()

  it('for a day are a few messages, fewer with time, and end with the truth', () => {
    const { short, sent } = timeline([...flapping(360), [8 * hourMs]])
    expect(short.length).toBeLessThanOrEqual(6)
    expect(short.at(-1)).toBe('over not-delivered')
    expect(sent.filter(({ atMs }) => atMs > 12 * hourMs && atMs < 24 * hourMs)).toEqual([])
  })

  it('are new again after a day without', () => {
    const { sent } = timeline([...flapping(30), [32 * hourMs], [minute, 'not-delivered'], [10 * minute]])
    const [begin, over] = sent.slice(-2)
    expect((over?.atMs ?? 0) - (begin?.atMs ?? 0)).toBeLessThan(3 * minute)
  })

  it('at random: begin and over alternate for each, there are few, and quiet ends all', () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { roll, whole } = dice(seed)
      const subjects = ['not-delivered', 'dead a/x', 'dead b/y', 'held a/x']
      const parts = Array.from({ length: 100 }, () => {
        const now = subjects.filter(() => roll() < 0.4)
        return [whole(1, 30) * 20 * second, ...now] as const
      })
      const { sent, incidents } = timeline([...parts, [8 * hourMs]])
      const lastsMs = parts.reduce((sum, [ms]) => sum + ms, 0)
      const open = new Map<string, number>()
      for (const { notice } of sent) {
        const key = `${notice.trouble} ${notice.what}`
        const count = (open.get(key) ?? 0) + (notice.state === 'begin' ? 1 : -1)
        expect(count, `seed ${seed}: ${key}`).toBeGreaterThanOrEqual(0)
        expect(count, `seed ${seed}: ${key}`).toBeLessThanOrEqual(1)
        open.set(key, count)
      }
      expect(
        [...open.values()].filter(count => count !== 0),
        `seed ${seed}`,
      ).toEqual([])
      expect(incidents.open, `seed ${seed}`).toEqual([])
      expect(incidents.past.length, `seed ${seed}: one for each`).toBeLessThanOrEqual(subjects.length)
      // Each of four: at most about six in the first hours, then two in six hours.
      expect(sent.length, `seed ${seed}`).toBeLessThanOrEqual(4 * (12 + (2 * lastsMs) / (6 * hourMs)))
    }
  })
})
