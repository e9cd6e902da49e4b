import type { Provenance } from '../../../model/metric.ts'
import type { Transaction } from '../connection/transaction.ts'

interface ProvenanceRow extends Omit<Provenance, 'hosts'> {
  /** As JSON, sorted by chain. */
  readonly hosts: string
}

const wanted = `unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS wanted (version, code, options, hosts)`
const same = ['version', 'code', 'options', 'hosts'].map(name => `row.${name} = wanted.${name}`).join(' AND ')

/** The numbers of provenances, by `provenanceKey`; new ones are inserted. There are few, each shared by many hours. */
export async function provenanceNumbers(
  transaction: Transaction,
  all: readonly Provenance[],
): Promise<ReadonlyMap<string, number>> {
  const rows = [...new Map(all.map(one => [provenanceKey(one), rowOf(one)])).values()]
  if (rows.length === 0) return new Map()
  const known = await numbersOf(transaction, rows)
  const added = rows.filter(row => !known.has(keyOf(row)))
  if (added.length === 0) return known
  transaction.later(
    `INSERT INTO tidegauge.provenance (version, code, options, hosts) SELECT * FROM ${wanted} ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`,
    columns(added),
  )
  return numbersOf(transaction, rows)
}

/** Key of a provenance in `provenanceNumbers`. */
export function provenanceKey(provenance: Provenance): string {
  return keyOf(rowOf(provenance))
}

async function numbersOf(transaction: Transaction, rows: readonly ProvenanceRow[]): Promise<Map<string, number>> {
  const found = await transaction.query<ProvenanceRow & { id: number }>(
    `SELECT row.* FROM ${wanted} JOIN tidegauge.provenance AS row ON ${same}`,
    columns(rows),
  )
  return new Map(found.map(row => [keyOf(row), row.id]))
}

function rowOf({ version, code, options, hosts }: Provenance): ProvenanceRow {
  return { version, code, options, hosts: JSON.stringify(hosts, Object.keys(hosts).sort()) }
}

function keyOf({ version, code, options, hosts }: ProvenanceRow): string {
  return JSON.stringify([version, code, options, hosts])
}

function columns(rows: readonly ProvenanceRow[]): (readonly string[])[] {
  return [
    rows.map(({ version }) => version),
    rows.map(({ code }) => code),
    rows.map(({ options }) => options),
    rows.map(({ hosts }) => hosts),
  ]
}
