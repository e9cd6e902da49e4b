import { daemonAwayMs } from '../../model/limits.ts'
import type { SharedTransaction, StoredIdentity } from '../contract/fleet-store.ts'

/** An expression for the milliseconds since 1970 of one for an instant. */
export function millisecondsOf(instant: string): string {
  return `(extract(epoch FROM ${instant}) * 1000)::bigint`
}

/** The end of a lease that is taken or renewed now. */
export const leaseEnd = `now() + interval '${daemonAwayMs} milliseconds'`

/** When a lease was renewed last, in milliseconds since 1970. @param lease name of its row in a statement */
export function renewedMsOf(lease: string): string {
  return millisecondsOf(`${lease}.until - interval '${daemonAwayMs} milliseconds'`)
}

/** The identities for which a condition holds, by name. */
export async function identityRows(
  transaction: SharedTransaction,
  condition: string,
  values: readonly unknown[] = [],
): Promise<readonly StoredIdentity[]> {
  const rows = await transaction.query<Omit<StoredIdentity, 'sinceMs'> & { readonly since_ms: number }>(
    `SELECT name, digest, by_daemon AS by, ${millisecondsOf('since')} AS since_ms
     FROM tidegauge.identity WHERE ${condition} ORDER BY name`,
    values,
  )
  return rows.map(({ since_ms: sinceMs, ...row }) => ({ ...row, sinceMs }))
}
