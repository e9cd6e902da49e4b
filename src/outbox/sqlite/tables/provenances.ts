import { jsonOf } from '../../../model/json.ts'
import type { Provenance } from '../../../model/metric.ts'
import type { Sqlite } from '../../../sqlite/database.ts'

interface RawProvenance extends Omit<Provenance, 'hosts'> {
  readonly hosts: string
}

/** Table of how values came about: few rows, each shared by many hours. */
export class Provenances {
  readonly #statements

  constructor(database: Sqlite) {
    this.#statements = {
      add: database.prepare<[string, string, string, string]>(
        'INSERT INTO provenance (version, code, options, hosts) VALUES (?, ?, ?, ?)',
      ),
      id: database
        .prepare<[string, string, string, string], number>(
          'SELECT id FROM provenance WHERE version = ? AND code = ? AND options = ? AND hosts = ?',
        )
        .pluck(),
      ofHour: database.prepare<[number, string], RawProvenance>(
        `SELECT version, code, options, hosts FROM collection JOIN provenance ON provenance.id = provenance
         WHERE hour = ? AND collector = (SELECT id FROM collector WHERE name = ?)`,
      ),
    }
  }

  /** The number of a provenance; a new one is inserted. Within a transaction. */
  add({ version, code, options, hosts }: Provenance): number {
    const { id, add } = this.#statements
    const row = [version, code, options, JSON.stringify(hosts, Object.keys(hosts).sort())] as const
    return id.get(...row) ?? (add.run(...row).lastInsertRowid as number)
  }

  /** That of the latest values of an hour. @param hour in hours since 1970 */
  ofHour(hour: number, collector: string): Provenance | undefined {
    const row = this.#statements.ofHour.get(hour, collector)
    return row && { ...row, hosts: jsonOf(row.hosts) as Provenance['hosts'] }
  }
}
