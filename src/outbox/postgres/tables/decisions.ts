import { hourNumber } from '../../../model/hour.ts'
import { commitRowsMax } from '../../../model/limits.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { Units } from '../../contract/operator-store.ts'
import type { DueSelection, Selection } from '../../contract/selections.ts'
import { stateNumber } from '../../rows/states.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import type { Transaction } from '../connection/transaction.ts'
import { alone } from './alone.ts'
import { addCorrections, removeCorrections } from './corrections.ts'
import { type DetainedValue, deadOrHeldRows } from './dead-and-held.ts'
import { DetainedChanges } from './detained-changes.ts'
import { type SelectedDueMetric, selectedDue } from './due-selections.ts'
import { EditedRuns, numbersAtHours } from './edited-runs.ts'
import { metricsById } from './known-metrics.ts'
import { lockProtocols, type NumbersByName } from './locks.ts'
import { TallyChanges } from './tally-changes.ts'
import { changeDescription } from './unit-changes.ts'

/** As `OperatorStore.release`. */
export async function release(database: PostgresDatabase, selection: Selection, units: Units): Promise<number> {
  const rows = await database.read(reading => deadOrHeldRows(reading, selection))
  const releasable = rows.filter(({ kind }) => kind !== 'unit' || units === 'changed')
  return inCommits(database, releasable, async (transaction, some, protocols) => {
    const moved = await moveDetained(transaction, some, protocols, { from: selection.state, to: 'due' })
    for (const { kind, number, hour, unit } of moved) {
      if (kind === 'unit') await changeDescription(transaction, number, hour, unit === null ? {} : { unit })
    }
    // A dead metric was sent: its value may have changed since, and the old one may still be on its way.
    if (selection.state === 'dead') addCorrections(transaction, moved)
    return moved.length
  })
}

/** As `OperatorStore.drop`. */
export async function drop(database: PostgresDatabase, selection: Selection): Promise<number> {
  const rows = await database.read(reading => deadOrHeldRows(reading, selection))
  return inCommits(database, rows, async (transaction, some, protocols) => {
    const moved = await moveDetained(transaction, some, protocols, { from: selection.state, to: 'dropped' })
    removeCorrections(transaction, moved)
    return moved.length
  })
}

/** As `OperatorStore.dropDue`. */
export async function dropDue(database: PostgresDatabase, selection: DueSelection): Promise<number> {
  const found = await database.read(reading => selectedDue(reading, selection))
  const rows = found.map(row => ({ ...row, protocolId: row.metric.protocolId }))
  return inCommits(database, rows, async (transaction, some, protocols) => {
    const runs = await EditedRuns.loaded(transaction, numbersAtHours(some))
    const dropped = moveEach(runs, some, protocols, { from: 'due', to: 'dropped' })
    removeCorrections(transaction, dropped.moved)
    runs.write(transaction)
    dropped.tally.write(transaction)
    return dropped.moved.length
  })
}

/** As `OperatorStore.resend`. */
export async function resend(database: PostgresDatabase, metrics: readonly MetricKey[]): Promise<number> {
  const known = await metricsById(
    alone(database),
    metrics.map(({ id }) => id),
  )
  const rows = metrics.flatMap(({ id, hour }) => {
    const own = known.get(id)
    return own ? [{ hour: hourNumber(hour), number: own.number, protocolId: own.protocolId }] : []
  })
  return inCommits(database, rows, async (transaction, some, protocols) => {
    const runs = await EditedRuns.loaded(transaction, numbersAtHours(some))
    const { moved, tally } = moveEach(runs, some, protocols, { from: 'delivered', to: 'due' })
    runs.write(transaction)
    tally.write(transaction)
    return moved.length
  })
}

type Numbered = Pick<SelectedDueMetric, 'hour' | 'number'> & { readonly protocolId: string }

interface Move {
  readonly from: 'dead' | 'held' | 'due' | 'delivered'
  readonly to: 'due' | 'dropped'
}

async function moveDetained(
  transaction: Transaction,
  rows: readonly DetainedValue[],
  protocols: NumbersByName,
  move: Move,
): Promise<readonly DetainedValue[]> {
  const runs = await EditedRuns.loaded(transaction, numbersAtHours(rows))
  const { moved, tally } = moveEach(runs, rows, protocols, move)
  const detained = new DetainedChanges()
  for (const { hour, number } of moved) detained.remove(hour, number)
  runs.write(transaction)
  tally.write(transaction)
  detained.write(transaction)
  return moved
}

/** @returns those that were still in the state, and the changes of the counts */
function moveEach<T extends Numbered>(
  runs: EditedRuns,
  rows: readonly T[],
  protocols: NumbersByName,
  { from, to }: Move,
) {
  const tally = new TallyChanges()
  const moved = rows.filter(({ hour, number, protocolId }) => {
    const range = { hour, from: number, to: number }
    if (runs.move(range, stateNumber(from), { state: stateNumber(to) }) === 0) return false
    tally.move(protocols.get(protocolId) ?? 0, from, to, hour, 1)
    return true
  })
  return { moved, tally }
}

/** Changes rows in several commits: the locks of one of many rows would block the daemons. @returns the sum of `change` */
async function inCommits<T extends Numbered>(
  database: PostgresDatabase,
  rows: readonly T[],
  change: (transaction: Transaction, some: readonly T[], protocols: NumbersByName) => Promise<number>,
): Promise<number> {
  let changed = 0
  for (let at = 0; at < rows.length; at += commitRowsMax) {
    const some = rows.slice(at, at + commitRowsMax)
    changed += await database.write(async transaction => {
      const names = some.map(({ protocolId }) => protocolId)
      return change(transaction, some, await lockProtocols(transaction, names))
    })
  }
  return changed
}
