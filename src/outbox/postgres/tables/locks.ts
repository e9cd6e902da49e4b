import type { Transaction } from '../connection/transaction.ts'

/** Numbers by the names that they stand for. */
export type NumbersByName = ReadonlyMap<string, number>

/**
 * Locks the rows of collectors until the transaction ends, so that it alone writes their hours. A transaction that locks
 * protocols, too, does so afterwards.
 *
 * @returns the numbers of those that are known
 */
export async function lockCollectors(transaction: Transaction, names: readonly string[]): Promise<NumbersByName> {
  return byName(
    await transaction.query<{ id: number; name: string }>(
      'SELECT id, name FROM tidegauge.collector WHERE name = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
      [[...new Set(names)]],
    ),
  )
}

/**
 * Locks the rows of protocols until the transaction ends, so that it alone writes their metrics.
 *
 * @returns the numbers of those that are known
 */
export async function lockProtocols(transaction: Transaction, names: readonly string[]): Promise<NumbersByName> {
  return byName(
    await transaction.query<{ id: number; name: string }>(
      'SELECT id, name FROM tidegauge.protocol WHERE name = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
      [[...new Set(names)]],
    ),
  )
}

function byName(rows: readonly { readonly id: number; readonly name: string }[]): NumbersByName {
  return new Map(rows.map(({ id, name }) => [name, id]))
}
