import {
  type DaemonEntry,
  type Identity,
  type LeaseHolder,
  type LeaseStore,
  type RenewedLease,
  recentIdentityMs,
  type SharedTransaction,
  serviceIdentity,
} from '../contract/fleet-store.ts'
import type { PostgresDatabase, Transaction } from './connection/database.ts'
import { identityRows, leaseEnd, millisecondsOf } from './rows.ts'

/** Condition for the rows of daemons' own leases. */
const isOfDaemon = "name >= 'daemon/' AND name < 'daemon0'"

/** Locks the row that counts: one takes or frees names at a time. */
const lockNames = `INSERT INTO tidegauge.lease AS own (name, holder, term) VALUES ('freed', '', 0)
  ON CONFLICT (name) DO UPDATE SET term = own.term`

const countFreed = "UPDATE tidegauge.lease SET term = term + 1 WHERE name = 'freed'"

/** Leases in PostgreSQL. */
export class PostgresLeaseStore implements LeaseStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  renew({ daemon, instance, term }: LeaseHolder, entry?: DaemonEntry): Promise<RenewedLease> {
    return this.#database.write(async transaction => {
      const name = leaseOf(daemon)
      const renewalRows = transaction.query<{ term: number }>(
        `INSERT INTO tidegauge.lease AS own (name, holder, term, until) VALUES ($1, $2, 1, ${leaseEnd})
         ON CONFLICT (name) DO UPDATE SET holder = $2, until = ${leaseEnd},
           term = CASE WHEN own.holder = $2 AND own.term = $3 THEN own.term ELSE own.term + 1 END
         WHERE own.holder = $2 OR own.until < now() RETURNING term`,
        [name, instance, term],
      )
      if (entry) describe(transaction, entry)
      const leaseRows = transaction.query<{ name: string; term: number; is_over: boolean; holder: string; ms: number }>(
        `SELECT name, term, holder, until < now() AS is_over, ${millisecondsOf('until')} AS ms FROM tidegauge.lease
         WHERE ${isOfDaemon} OR name = 'freed'`,
      )
      const countRows = transaction.query<{ held: number }>(
        'SELECT count(*)::int AS held FROM tidegauge.lease WHERE holder = $1 AND term = $2',
        [name, term],
      )
      const recentIdentities = identityRows(
        transaction,
        `name = '${serviceIdentity}' OR since > now() - interval '${recentIdentityMs} milliseconds'`,
      )
      const [[ownLease], leases, [counters], identities] = await Promise.all([
        renewalRows,
        leaseRows,
        countRows,
        recentIdentities,
      ])
      const otherLeases = leases.filter(lease => lease.name !== name && lease.name !== 'freed')
      const namesake = ownLease ? undefined : leases.find(lease => lease.name === name)
      return {
        ...(ownLease && { term: ownLease.term }),
        ...(namesake && { othersUntilMs: namesake.ms }),
        held: counters?.held ?? 0,
        freed: leases.find(lease => lease.name === 'freed')?.term ?? 0,
        isAnyOver: otherLeases.some(({ is_over: isOver, holder }) => isOver && holder !== ''),
        hasOthers: otherLeases.some(({ is_over: isOver }) => !isOver),
        identities,
      }
    }, 'unsynced')
  }

  claim(
    { daemon, instance, term }: LeaseHolder,
    names: readonly string[],
    { digest }: Identity,
  ): Promise<readonly string[]> {
    // Of two that take a name one has it, also after a power cut of the server.
    return this.#database.write(async transaction => {
      transaction.later(lockNames)
      // A commit that is under way with a lease holds its row: that daemon keeps what it has for as long.
      const endedLeases = await transaction.query(
        `WITH over AS (
           SELECT name FROM tidegauge.lease WHERE ${isOfDaemon} AND until < now() AND holder <> '' FOR UPDATE SKIP LOCKED
         ) UPDATE tidegauge.lease AS own SET holder = '', term = own.term + 1 FROM over WHERE own.name = over.name RETURNING 1`,
      )
      // Those of a process that was restarted under its name are of an earlier term.
      const free = await transaction.query(
        `DELETE FROM tidegauge.lease AS own WHERE until IS NULL AND name <> 'freed'
           AND NOT EXISTS (SELECT 1 FROM tidegauge.lease AS holding WHERE holding.name = own.holder AND holding.term = own.term) RETURNING 1`,
      )
      if (endedLeases.length + free.length > 0) transaction.later(countFreed)
      transaction.later(
        `INSERT INTO tidegauge.lease (name, holder, term)
         SELECT wanted.name, holding.name, holding.term FROM unnest($4::text[]) AS wanted (name), tidegauge.lease AS holding
         WHERE holding.name = $1 AND holding.holder = $2 AND holding.term = $3 AND holding.until >= now()
           AND (wanted.name NOT LIKE 'deliver/%'
             OR EXISTS (SELECT 1 FROM tidegauge.identity WHERE name = '${serviceIdentity}' AND digest = decode($5, 'hex')))
         ON CONFLICT (name) DO NOTHING`,
        [leaseOf(daemon), instance, term, names, digest.toString('hex')],
      )
      // One that is run again finds what it has taken.
      const rows = await transaction.query<{ name: string }>(
        'SELECT name FROM tidegauge.lease WHERE holder = $1 AND term = $2 AND name = ANY($3) ORDER BY name',
        [leaseOf(daemon), term, names],
      )
      return rows.map(({ name }) => name)
    })
  }

  release({ daemon, term }: LeaseHolder, names: readonly string[]): Promise<void> {
    return this.#database.write(async transaction => {
      transaction.later(lockNames)
      transaction.later('DELETE FROM tidegauge.lease WHERE holder = $1 AND term = $2 AND name = ANY($3)', [
        ...[leaseOf(daemon), term, names],
      ])
      transaction.later(countFreed)
    })
  }

  leave({ daemon, instance, term }: LeaseHolder): Promise<void> {
    const name = leaseOf(daemon)
    return this.#database.write(async transaction => {
      transaction.later(lockNames)
      transaction.later('DELETE FROM tidegauge.lease WHERE holder = $1 AND term = $2', [name, term])
      // Its row stays, so that no term comes again.
      transaction.later(
        `UPDATE tidegauge.lease SET holder = '', term = term + 1, until = now() - interval '1 millisecond' WHERE name = $1 AND holder = $2`,
        [name, instance],
      )
      transaction.later('DELETE FROM tidegauge.daemon WHERE name = $1 AND instance = $2', [daemon, instance])
      transaction.later(countFreed)
    })
  }

  noteNamesake(daemon: string, place: string): Promise<void> {
    return this.#database.write(
      async transaction =>
        transaction.later(
          `INSERT INTO tidegauge.lease (name, holder, term, until) VALUES ($1, $2, 1, ${leaseEnd})
           ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
          [`namesake/${daemon}`, place],
        ),
      'unsynced',
    )
  }

  async isHeld({ daemon, instance, term }: LeaseHolder, transaction: SharedTransaction): Promise<boolean> {
    const rows = await transaction.query(
      'SELECT 1 FROM tidegauge.lease WHERE name = $1 AND holder = $2 AND term = $3 FOR KEY SHARE',
      [leaseOf(daemon), instance, term],
    )
    return rows.length > 0
  }
}

/** Name of a daemon's own lease. */
function leaseOf(daemon: string): string {
  return `daemon/${daemon}`
}

/** Stores what a daemon says of itself, if it has its lease. */
function describe(transaction: Transaction, entry: DaemonEntry): void {
  const { name, version, digest, lanes, pid, host, configFile, instance, clockOffMs, failing: reason = null } = entry
  transaction.later(
    `INSERT INTO tidegauge.daemon AS own (name, version, config, lanes, pid, host, config_file, instance, clock_off_ms, failing)
     SELECT $1::text, $2::text, $3::bytea, $4::text[], $5::int, $6::text, $7::text, $8::uuid, $9::bigint, $10::text
     WHERE EXISTS (SELECT 1 FROM tidegauge.lease WHERE name = $11 AND holder = $8::uuid::text)
     ON CONFLICT (name) DO UPDATE SET version = $2, config = $3, lanes = $4, pid = $5, host = $6, config_file = $7,
       instance = $8, clock_off_ms = $9, failing = $10,
       started = CASE WHEN own.instance = $8 THEN own.started ELSE now() END`,
    [name, version, digest, lanes, pid, host, configFile, instance, Math.round(clockOffMs), reason, leaseOf(name)],
  )
}
