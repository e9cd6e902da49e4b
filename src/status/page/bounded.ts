import type { Snapshot, WeekGrid, WeekRow } from '../snapshot.ts'
import { lookOf } from './cell.ts'
import { isTrouble } from './strip.ts'

/** Collectors, and protocols, shown on the page, because a browser loads it often. Others are counted. */
export const shownMax = 100

/** Runs of hours shown on the page; only where almost every hour differs from the one before are there more. */
const runsMax = 2_000

/** Collectors of a page above which those of a protocol lie under one line, if a protocol has as many on average. */
const unfoldedMax = 50
const foldedMin = 4

/** The collectors of a protocol, where they lie under one line. */
export interface Fold {
  readonly protocolId: string
  /** Those that are shown. */
  readonly rows: readonly WeekRow[]
  /** Number of its collectors, and of those in trouble, shown or not. */
  readonly collectors: number
  readonly troubled: number
}

/** The part of a snapshot that the page shows, and how much more there is. */
export interface Bounded {
  readonly week: WeekGrid
  /** Number of collectors left out. */
  readonly moreCollectors: number
  /** The collectors by protocol, troubled protocols first; empty where they are few enough to be read at once. */
  readonly folds: readonly Fold[]
  readonly protocols: Snapshot['protocols']
  /** Number of protocols left out. */
  readonly moreProtocols: number
}

/** The first collectors and protocols of a snapshot; if there are too many, those that need a person come first. */
export function bounded({ week, protocols }: Pick<Snapshot, 'week' | 'protocols'>): Bounded {
  const rows = withinRuns(week.rows.length > shownMax ? firstOf(inTurn(week.rows), hasTrouble) : week.rows)
  const troubled = new Set(rows.map(({ protocolId }) => protocolId))
  const shown = protocols.length > shownMax ? firstOf(protocols, ({ id }) => troubled.has(id)) : protocols
  return {
    week: { ...week, rows },
    moreCollectors: week.rows.length - rows.length,
    folds: foldsOf(week.rows, rows),
    protocols: shown,
    moreProtocols: protocols.length - shown.length,
  }
}

function foldsOf(all: readonly WeekRow[], shown: readonly WeekRow[]): readonly Fold[] {
  const byProtocol = Map.groupBy(all, ({ protocolId }) => protocolId)
  if (all.length <= unfoldedMax || all.length < foldedMin * byProtocol.size) return []
  const shownBy = Map.groupBy(shown, ({ protocolId }) => protocolId)
  return [...byProtocol]
    .map(([protocolId, own]) => ({
      protocolId,
      rows: shownBy.get(protocolId) ?? [],
      collectors: own.length,
      troubled: own.filter(hasTrouble).length,
    }))
    .sort((a, b) => Number(b.troubled > 0) - Number(a.troubled > 0))
}

/** The rows of all protocols in turn, so that none takes the room of the others. */
function inTurn(rows: readonly WeekRow[]): readonly WeekRow[] {
  const turns = new Map<string, number>()
  const placed = rows.map(row => {
    const turn = turns.get(row.protocolId) ?? 0
    turns.set(row.protocolId, turn + 1)
    return { row, turn }
  })
  return placed.sort((a, b) => a.turn - b.turn).map(({ row }) => row)
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
