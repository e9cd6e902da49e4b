import type { HourCell, HourGrid, Snapshot } from '../snapshot.ts'

/** Collectors, and protocols, shown on the page, because a browser reloads it often. Others are counted. */
export const shownMax = 100

/** The part of a snapshot that the page shows, and how much more there is. */
export interface Bounded {
  readonly hours: HourGrid
  /** Number of collectors left out. */
  readonly moreCollectors: number
  readonly protocols: Snapshot['protocols']
  /** Number of protocols left out. */
  readonly moreProtocols: number
}

/** The first collectors and protocols of a snapshot; if there are too many, those that need a person come first. */
export function bounded({ hours, protocols }: Pick<Snapshot, 'hours' | 'protocols'>): Bounded {
  const rows = hours.rows.length > shownMax ? firstOf(hours.rows, ({ cells }) => cells.some(isTrouble)) : hours.rows
  const troubled = new Set(rows.map(({ protocolId }) => protocolId))
  const shown = protocols.length > shownMax ? firstOf(protocols, ({ id }) => troubled.has(id)) : protocols
  return {
    hours: { ...hours, rows },
    moreCollectors: hours.rows.length - rows.length,
    protocols: shown,
    moreProtocols: protocols.length - shown.length,
  }
}

function firstOf<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly T[] {
  return [...all.filter(isFirst), ...all.filter(one => !isFirst(one))].slice(0, shownMax)
}

function isTrouble({ state, fault }: HourCell): boolean {
  return fault !== undefined || state === 'dead' || state === 'held' || state === 'gap'
}
