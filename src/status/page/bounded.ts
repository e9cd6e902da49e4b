import type { Snapshot, WeekGrid, WeekRow } from '../snapshot.ts'
import { lookOf } from './cell.ts'
import { isTrouble } from './strip.ts'

/** Collectors, and protocols, shown on the page, because a browser loads it often. Others are counted. */
export const shownMax = 100

/** Runs of hours shown on the page; only where almost every hour differs from the one before are there more. */
const runsMax = 2_000

/** The part of a snapshot that the page shows, and how much more there is. */
export interface Bounded {
  readonly week: WeekGrid
  /** Number of collectors left out. */
  readonly moreCollectors: number
  readonly protocols: Snapshot['protocols']
  /** Number of protocols left out. */
  readonly moreProtocols: number
}

/** The first collectors and protocols of a snapshot; if there are too many, those that need a person come first. */
export function bounded({ week, protocols }: Pick<Snapshot, 'week' | 'protocols'>): Bounded {
  const rows = withinRuns(week.rows.length > shownMax ? firstOf(week.rows, hasTrouble) : week.rows)
  const troubled = new Set(rows.map(({ protocolId }) => protocolId))
  const shown = protocols.length > shownMax ? firstOf(protocols, ({ id }) => troubled.has(id)) : protocols
  return {
    week: { ...week, rows },
    moreCollectors: week.rows.length - rows.length,
    protocols: shown,
    moreProtocols: protocols.length - shown.length,
  }
}

/** The first rows, up to a number of runs. */
function withinRuns(rows: readonly WeekRow[]): readonly WeekRow[] {
  let left = runsMax
  const end = rows.findIndex(({ runs }) => {
    left -= runs.length
    return left < 0
  })
  return end < 0 ? rows : rows.slice(0, end)
}

function firstOf<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly T[] {
  return [...all.filter(isFirst), ...all.filter(one => !isFirst(one))].slice(0, shownMax)
}

function hasTrouble({ runs }: WeekRow): boolean {
  return runs.some(run => isTrouble(lookOf(run)))
}
