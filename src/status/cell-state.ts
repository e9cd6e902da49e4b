import type { CollectionState } from '../outbox/contract/hours.ts'
import type { CellState } from './snapshot.ts'

/**
 * The worst state of an hour: what a person needs to know first.
 *
 * @param row of the hour; `undefined` when it is not expected
 * @param has whether any metric of it is in a state
 */
export function cellState(
  row: CollectionState | undefined,
  has: (state: 'due' | 'dead' | 'held') => boolean,
): CellState {
  if (row === undefined) return 'unexpected'
  if (row !== 'collected') return row
  if (has('dead')) return 'dead'
  if (has('held')) return 'held'
  return has('due') ? 'collected' : 'delivered'
}
