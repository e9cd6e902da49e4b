import { type Hour, hourAfter, hourAt, parseHour } from '../../../src/model/hour.ts'
import { metricId } from '../../../src/model/metric.ts'
import { chanceOf, Fortune } from '../../simulation/chance.ts'
import type { HourValue, TroubleKind } from './history.ts'

/** A collector of a fleet. */
export interface FleetCollector {
  readonly id: string
  readonly protocolId: string
  /** Name of its chain; absent: it reads none. */
  readonly chain?: string
  readonly labels: readonly string[]
}

/** Trouble at an instant, in milliseconds from the start. */
export interface TroubleScript {
  readonly afterMs: number
  readonly what: TroubleKind | 'dropped'
  /** Which of the daemons that are there, from 0 up to 1. */
  readonly whom: number
  /** Statements that it still sends before it is killed or cut, and whether the last one arrives. */
  readonly statements: number
  readonly arrives: boolean
}

/** A push that goes wrong: `busy` and `slow-down` are answers, after `lost` the service has the values. */
export type IllKind = 'busy' | 'slow-down' | 'lost'

/** Time in which some pushes go wrong, in milliseconds from the start. */
export interface IllScript {
  readonly fromMs: number
  readonly toMs: number
  readonly what: IllKind
  /** Part of the pushes, up to 1. */
  readonly part: number
}

/** Circumstances of a fleet's run, all by its seed. */
export interface FleetScript {
  readonly seed: number
  readonly startMs: number
  readonly since: Hour
  /** Lead of each daemon's own clock, in milliseconds. */
  readonly aheadMs: readonly number[]
  readonly collectors: readonly FleetCollector[]
  readonly readMsMax: number
  /** Part of the reads that fail. */
  readonly failing: number
  readonly pacePerSecond: number
  readonly inFlight: number
  readonly answerMs: number
  readonly troubles: readonly TroubleScript[]
  /** Trouble of the service. */
  readonly ills: readonly IllScript[]
}

const troubleMs = 10_000

/** The service has a chance of its own: the rest of a seed's run is the same without its trouble. */
const illSeeds = 90_000

/** The run of a seed. */
export function fleetScript(seed: number): FleetScript {
  const chance = new Fortune(seed)
  const startMs = parseHour('2026-11-20T13:00:00Z') + chance.whole(0, 3_595) * 1_000
  const isSkewed = chance.is(0.15)
  const backlog = isSkewed ? chance.whole(4, 12) : chance.pick([6, 12, 24, 48])
  const daemons = isSkewed ? 10 : chance.pick([2, 3, 3, 4])
  const collectors = ['ethereum', 'base', undefined].flatMap((chain, lane) =>
    chance.times(1, 2, index => ({
      id: `${lane % 2 === 0 ? 'tides' : 'ports'}/${chain ?? 'web'}-${index}`,
      protocolId: lane % 2 === 0 ? 'tides' : 'ports',
      ...(chain !== undefined && { chain }),
      labels: Array.from({ length: chance.whole(1, 3) }, (_, label) => `L${lane}${index}${label}`),
    })),
  )
  return {
    seed,
    startMs,
    since: hourAfter(hourAt(startMs), 1 - backlog),
    aheadMs: Array.from({ length: daemons }, () => (isSkewed ? chance.whole(-600_000, 600_000) : 0)),
    collectors,
    readMsMax: chance.spread(200, 8_000),
    failing: chance.is(0.3) ? 0.03 : 0,
    pacePerSecond: chance.pick([2, 5, 20]),
    inFlight: chance.pick([1, 4, 8]),
    answerMs: chance.pick([1, 40, 700]),
    troubles: troublesOf(chance),
    ills: illsOf(new Fortune(seed + illSeeds)),
  }
}

function illsOf(chance: Fortune): IllScript[] {
  if (chance.is(0.6)) return []
  return chance.times(1, 4, index => {
    const fromMs = index * troubleMs + chance.between(0, troubleMs)
    const what = chance.pick<IllKind>(['busy', 'slow-down', 'lost'])
    return { fromMs, toMs: fromMs + chance.spread(1_000, 20_000), what, part: chance.pick([0.1, 0.5, 1]) }
  })
}

function troublesOf(chance: Fortune): TroubleScript[] {
  const what = chance.pick<TroubleKind | 'mixed'>(['killed', 'killed', 'paused', 'stopped', 'cut', 'mixed'])
  const drops = chance.is(0.3)
  const count = chance.whole(2, 9)
  return Array.from({ length: count }, (_, index) => ({
    afterMs: Math.round(index * troubleMs + chance.between(500, troubleMs)),
    what:
      drops && chance.is(0.3)
        ? 'dropped'
        : what === 'mixed'
          ? chance.pick(['killed', 'paused', 'stopped', 'cut'])
          : what,
    whom: chance.roll(),
    statements: chance.is(0.3) ? 0 : chance.whole(1, 40),
    arrives: chance.is(0.5),
  }))
}

/** The value of a label for an hour, by any daemon. */
export function readingOf(seed: number, collector: string, label: string, hour: Hour): number {
  return chanceOf(seed, collector, label, hour) * 1_000_000
}

/** All values from the first hour up to one. */
export function valuesUpTo({ seed, since, collectors }: FleetScript, last: Hour): HourValue[] {
  const hours = Array.from({ length: (last - since) / 3_600_000 + 1 }, (_, index) => hourAfter(since, index))
  return collectors.flatMap(({ id, protocolId, labels }) =>
    labels.flatMap(label =>
      hours.map(hour => ({ metric: metricId(protocolId, label), hour, value: readingOf(seed, id, label, hour) })),
    ),
  )
}
