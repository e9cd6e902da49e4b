import { Fault } from '../../model/fault.ts'
import { type Hour, hourFromNumber, hourNumber } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import type {
  AskedWindow,
  BackfillStore,
  BackfillWindow,
  CollectorLane,
  CollectorScope,
  DefinitionSupport,
  DueLane,
  DueLaneHour,
  FleetStore,
  Identity,
  LaneWork,
  PushSlot,
  SeenDaemon,
  SharedTransaction,
  StoredIdentity,
} from '../contract/fleet-store.ts'
import { faultColumns } from '../store/end-of-hour.ts'
import type { PostgresDatabase, Transaction } from './connection/database.ts'
import { identityRows, millisecondsOf, renewedMsOf } from './rows.ts'

/** Longest wait for a slot that is believed: the server's clock may have been set back. */
const slotMsMax = 60_000

/** Time after which a daemon that was not seen is forgotten. */
const forgottenAfter = '1 day'

/** `SeenDaemon.leftBehind` by the daemons that are `living`. */
const leftBehind = `CASE WHEN own.until < now() THEN ARRAY(
  SELECT id FROM unnest(daemon.agreeing) AS id
  WHERE EXISTS (SELECT FROM living) AND NOT EXISTS (SELECT FROM living WHERE noted = '-infinity')
    AND id NOT IN (SELECT unnest(agreeing) FROM living)
    AND (id IN (SELECT unnest(differing) FROM living)
      OR NOT EXISTS (SELECT FROM living WHERE ${millisecondsOf('living.started')} > ${renewedMsOf('own')}))
  ORDER BY id) ELSE '{}' END`

/** The outbox for daemons that share it, in PostgreSQL. */
export class PostgresFleetStore implements FleetStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async salt(): Promise<string> {
    const [row] = await this.#database.rows<{ salt: string }>('SELECT salt FROM tidegauge.version')
    return row?.salt ?? ''
  }

  async nowMs(): Promise<number> {
    const [row] = await this.#database.rows<{ now_ms: number }>(
      `SELECT ${millisecondsOf('clock_timestamp()')} AS now_ms`,
    )
    return row?.now_ms ?? 0
  }

  transaction<T>(act: (transaction: SharedTransaction) => Promise<T>): Promise<T> {
    return this.#database.write(act, 'unsynced')
  }

  async assignLanes(lanes: readonly CollectorLane[]): Promise<ReadonlyMap<string, string>> {
    const names = lanes.map(({ collector }) => collector)
    await this.#database.write(async transaction => {
      transaction.later(
        `UPDATE tidegauge.collector AS own SET lane = wanted.lane
         FROM unnest($1::text[], $2::text[], $3::boolean[]) AS wanted (name, lane, is_first)
         WHERE own.name = wanted.name AND own.lane IS DISTINCT FROM wanted.lane
           AND NOT (wanted.is_first AND coalesce(own.lane, '') LIKE 'machine/%')`,
        [names, lanes.map(({ lane }) => lane), lanes.map(({ isFirst }) => isFirst)],
      )
      // A machine that no daemon was ever on is forgotten, too: a lease that has ended says since when.
      transaction.later(
        `INSERT INTO tidegauge.lease (name, holder, term, until)
         SELECT DISTINCT 'daemon/' || substr(lane, length('machine/') + 1), '', 0, now() - interval '1 millisecond'
         FROM tidegauge.collector WHERE name = ANY($1) AND lane LIKE 'machine/%' ON CONFLICT (name) DO NOTHING`,
        [names],
      )
    })
    const rows = await this.#database.rows<{ name: string; lane: string }>(
      'SELECT name, lane FROM tidegauge.collector WHERE name = ANY($1) AND lane IS NOT NULL',
      [names],
    )
    return new Map(rows.map(({ name, lane }) => [name, lane]))
  }

  async scopeOf(collectors: readonly string[]): Promise<CollectorScope> {
    const [row] = await this.#database.rows<{ up_to: number; except: number[] }>(
      `SELECT (SELECT coalesce(max(id), 0) FROM tidegauge.collector) AS up_to, ARRAY(
         SELECT id FROM tidegauge.collector AS own LEFT JOIN unnest($1::text[]) AS known (name) ON known.name = own.name
         WHERE known.name IS NULL ORDER BY id
       ) AS except`,
      [collectors],
    )
    return { upTo: row?.up_to ?? 0, excludedNumbers: row?.except ?? [] }
  }

  async dueLaneHours(scope: CollectorScope, nowMs: number, limit: number): Promise<readonly DueLaneHour[]> {
    const rows = await this.#database.rows<{ lane: string; hour: number }>(
      `SELECT lane, hour FROM tidegauge.collector JOIN tidegauge.collection ON collection.collector = collector.id
       WHERE id <= $1 AND id <> ALL($2::int[]) AND lane IS NOT NULL AND state = 0 AND next_attempt_ms <= $3
       GROUP BY lane, hour ORDER BY hour DESC, lane LIMIT $4`,
      [scope.upTo, scope.excludedNumbers, nowMs, limit],
    )
    return rows.map(({ lane, hour }) => ({ lane, hour: hourFromNumber(hour) }))
  }

  async laneWork(lanes: readonly string[], scope: CollectorScope, nowMs: number): Promise<LaneWork> {
    const rows = await this.#database.rows<{ lane: string; is_due: boolean; has_windows: boolean }>(
      `SELECT lane, EXISTS (
         SELECT 1 FROM tidegauge.collector AS own JOIN tidegauge.collection ON collection.collector = own.id
         WHERE own.lane = wanted.lane AND id <= $2 AND id <> ALL($3::int[]) AND state = 0 AND next_attempt_ms <= $4
       ) AS is_due, EXISTS (
         SELECT 1 FROM tidegauge.backfill_window AS own WHERE own.lane = wanted.lane
       ) AS has_windows FROM unnest($1::text[]) AS wanted (lane)`,
      [lanes, scope.upTo, scope.excludedNumbers, nowMs],
    )
    return {
      due: rows.filter(row => row.is_due).map(({ lane }) => lane),
      windows: rows.filter(row => row.has_windows).map(({ lane }) => lane),
    }
  }

  async dueLanes(collectors: readonly string[], upTo: Hour): Promise<readonly DueLane[]> {
    const rows = await this.#database.rows<{ lane: string; hours: number; oldest: number }>(
      `SELECT lane, count(DISTINCT hour)::int AS hours, min(hour) AS oldest
       FROM tidegauge.collector JOIN tidegauge.collection ON collection.collector = collector.id
       WHERE name = ANY($1) AND lane IS NOT NULL AND state = 0 AND hour <= $2 GROUP BY lane ORDER BY lane`,
      [collectors, hourNumber(upTo)],
    )
    return rows.map(({ lane, hours, oldest }) => ({ lane, hours, oldest: hourFromNumber(oldest) }))
  }

  async isDue(collectors: readonly string[], hour: Hour): Promise<boolean> {
    const rows = await this.#database.rows(
      `SELECT 1 FROM tidegauge.collector JOIN tidegauge.collection ON collection.collector = collector.id
       WHERE name = ANY($1) AND hour = $2 AND state = 0 LIMIT 1`,
      [collectors, hourNumber(hour)],
    )
    return rows.length > 0
  }

  async isLaneDue(
    { lane, hour }: DueLaneHour,
    { upTo, excludedNumbers }: CollectorScope,
    beforeMs: number,
    transaction?: SharedTransaction,
  ): Promise<boolean> {
    const text = `SELECT 1 FROM tidegauge.collector JOIN tidegauge.collection ON collection.collector = collector.id
      WHERE lane = $1 AND id <= $2 AND id <> ALL($3::int[]) AND hour = $4 AND state = 0 AND next_attempt_ms < $5 LIMIT 1`
    const values = [lane, upTo, excludedNumbers, hourNumber(hour), beforeMs]
    const rows = transaction ? transaction.query(text, values) : this.#database.rows(text, values)
    return (await rows).length > 0
  }

  async takeSlot(destination: string, intervalMs: number, transaction: SharedTransaction): Promise<PushSlot> {
    // A row without a pace is one of a retry-after; "least" passes over what is NULL.
    const [row] = await transaction.query<{ wait_ms: number; not_before_ms: number }>(
      `INSERT INTO tidegauge.destination AS own (name, pace_tat)
       VALUES ($1, clock_timestamp() + $2::float8 * interval '1 ms')
       ON CONFLICT (name) DO UPDATE SET pace_tat = $2::float8 * interval '1 ms' + greatest(
         clock_timestamp(), least(coalesce(own.pace_tat, clock_timestamp()), clock_timestamp() + $3::float8 * interval '1 ms'))
       RETURNING extract(epoch FROM own.pace_tat - clock_timestamp())::float8 * 1000 - $2::float8 AS wait_ms, own.not_before_ms`,
      [destination, intervalMs, slotMsMax],
    )
    return { waitMs: Math.max(0, row?.wait_ms ?? 0), notBeforeMs: row?.not_before_ms ?? 0 }
  }

  noteRetryAfter(destination: string, notBeforeMs: number): Promise<void> {
    // An instant long after the new one was written by a clock that was wrong.
    return this.#database.write(async transaction =>
      transaction.later(
        `INSERT INTO tidegauge.destination AS own (name, not_before_ms) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET not_before_ms = CASE
           WHEN $2 > 0 AND own.not_before_ms BETWEEN $2 AND $2 + ${hourMs} THEN own.not_before_ms ELSE $2 END`,
        [destination, notBeforeMs],
      ),
    )
  }

  async agree(identities: readonly Identity[], daemon: string): Promise<readonly StoredIdentity[]> {
    await this.#database.write(async transaction =>
      transaction.later(`${insertIdentities} DO NOTHING`, valuesOf(identities, daemon)),
    )
    return this.identities(identities.map(({ name }) => name))
  }

  take(identities: readonly Identity[], daemon: string): Promise<void> {
    const replace = 'DO UPDATE SET digest = excluded.digest, since = now(), by_daemon = excluded.by_daemon'
    return this.#database.write(async transaction =>
      transaction.later(`${insertIdentities} ${replace}`, valuesOf(identities, daemon)),
    )
  }

  identities(names: readonly string[], transaction?: SharedTransaction): Promise<readonly StoredIdentity[]> {
    const query: SharedTransaction['query'] = (text, values) => this.#database.rows(text, values)
    return identityRows(transaction ?? { query }, 'name = ANY($1)', [names])
  }

  noteDefinitions(
    daemon: string,
    definitions: { readonly agreeing: readonly string[]; readonly differing: readonly string[] },
  ): Promise<void> {
    return this.#database.write(async transaction =>
      transaction.later('UPDATE tidegauge.daemon SET agreeing = $2, differing = $3, noted = now() WHERE name = $1', [
        ...[daemon, definitions.agreeing, definitions.differing],
      ]),
    )
  }

  async supported(collectors: readonly string[], daemon: string): Promise<readonly DefinitionSupport[]> {
    const rows = await this.#database.rows<{ collector: string; is_supported: boolean; is_left: boolean }>(
      `SELECT asked.name AS collector, EXISTS (
         SELECT 1 FROM tidegauge.daemon AS other JOIN tidegauge.lease ON lease.name = 'daemon/' || other.name
         WHERE other.name <> $2 AND until >= now() AND (asked.name = ANY(agreeing) OR noted <= identity.since)
           AND coalesce((SELECT lane FROM tidegauge.collector WHERE collector.name = asked.name) = ANY(lanes), true)
       ) AS is_supported, EXISTS (
         SELECT 1 FROM tidegauge.daemon AS writer
         WHERE writer.name = by_daemon AND asked.name = ANY(writer.differing) AND noted > identity.since
       ) AS is_left
       FROM unnest($1::text[]) AS asked (name) JOIN tidegauge.identity ON identity.name = 'collector/' || asked.name`,
      [collectors, daemon],
    )
    return rows.map(({ collector, is_supported: isSupported, is_left: isLeft }) => ({
      ...{ collector, isSupported, isLeft },
    }))
  }

  forgetDaemons(ownName: string): Promise<readonly string[]> {
    return this.#database.write(async transaction => {
      const rows = await transaction.query<{ name: string }>(
        `DELETE FROM tidegauge.lease
         WHERE name LIKE 'daemon/%' AND name <> 'daemon/' || $1 AND until < now() - interval '${forgottenAfter}' RETURNING name`,
        [ownName],
      )
      const names = rows.map(({ name }) => name.slice('daemon/'.length))
      if (names.length > 0) transaction.later('DELETE FROM tidegauge.daemon WHERE name = ANY($1)', [names])
      for (const name of names) forgetMachine(transaction, name)
      return names
    }, 'unsynced')
  }

  async daemons(): Promise<readonly SeenDaemon[]> {
    const rows = await this.#database.rows<{
      name: string
      version: string
      config: Buffer | null
      lanes: string[]
      roles: string[]
      pid: number
      host: string
      config_file: string
      namesake: string | null
      clock_off_ms: number
      differing: string[]
      left_behind: string[]
      failing: string | null
      started_ms: number
      seen_ms: number
    }>(
      `WITH living AS (
         SELECT daemon.* FROM tidegauge.daemon JOIN tidegauge.lease ON lease.name = 'daemon/' || daemon.name WHERE until >= now()
       ) SELECT daemon.name, version, config, lanes, pid, host, config_file, clock_off_ms, differing, failing,
         ${leftBehind} AS left_behind,
         (SELECT holder FROM tidegauge.lease AS other WHERE other.name = 'namesake/' || daemon.name AND other.until >= now()) AS namesake,
         ARRAY(SELECT name FROM tidegauge.lease AS role WHERE role.holder = own.name AND role.term = own.term ORDER BY name) AS roles,
         ${millisecondsOf('started')} AS started_ms, ${renewedMsOf('own')} AS seen_ms
       FROM tidegauge.daemon JOIN tidegauge.lease AS own ON own.name = 'daemon/' || daemon.name ORDER BY daemon.name`,
    )
    return rows.map(
      ({ config, config_file, left_behind, namesake, failing, clock_off_ms, started_ms, seen_ms, ...rest }) => ({
        ...rest,
        ...(failing !== null && { failing }),
        ...(namesake !== null && { namesake }),
        leftBehind: left_behind,
        clockOffMs: clock_off_ms,
        configFile: config_file,
        digest: config ?? Buffer.alloc(0),
        startedAtMs: started_ms,
        seenAtMs: seen_ms,
      }),
    )
  }
}

/** Ends the due hours of a machine as gaps, and that collectors belong to it. */
function forgetMachine(transaction: Transaction, name: string): void {
  const fault = new Fault('machine-forgotten', `the machine ${name} was not seen for a day`, {
    fix: 'start its daemon again, then tidegauge backfill where the past can be read; or name another machine',
  })
  transaction.later(
    `WITH of_machine AS (UPDATE tidegauge.collector SET lane = NULL WHERE lane = 'machine/' || $1 RETURNING id)
     UPDATE tidegauge.collection SET state = 2, fault = $2, fault_code = $3
     FROM of_machine WHERE collection.collector = of_machine.id AND state = 0`,
    [name, ...faultColumns(fault)],
  )
}

const insertIdentities = `INSERT INTO tidegauge.identity (name, digest, by_daemon)
  SELECT name, decode(digest, 'hex'), $3 FROM unnest($1::text[], $2::text[]) AS own (name, digest) ON CONFLICT (name)`

function valuesOf(identities: readonly Identity[], daemon: string): unknown[] {
  return [identities.map(({ name }) => name), identities.map(({ digest }) => digest.toString('hex')), daemon]
}

interface WindowRow extends Omit<BackfillWindow, 'from' | 'to'>, Pick<AskedWindow, 'id' | 'lane'> {
  readonly first: number
  readonly last: number
}

/** The backfills that a fleet was asked for, in PostgreSQL. */
export class PostgresBackfillStore implements BackfillStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async ask(windows: readonly AskedWindow[]): Promise<void> {
    if (windows.length === 0) return
    await this.#database.write(async transaction => {
      for (const { id, lane, window } of windows) {
        const { collectors, from, to, what: scope, order } = window
        transaction.later(
          `INSERT INTO tidegauge.backfill_window (id, lane, collectors, first_hour, last_hour, what, hour_order)
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
          [id, lane, collectors, hourNumber(from), hourNumber(to), scope, order],
        )
      }
    })
  }

  async open(collectors: readonly string[], limit: number): Promise<readonly AskedWindow[]> {
    const rows = await this.#database.rows<WindowRow>(
      `SELECT id, lane, collectors, first_hour AS first, last_hour AS last, what, hour_order AS order
       FROM tidegauge.backfill_window WHERE collectors <@ $1::text[] ORDER BY first_hour, id LIMIT $2`,
      [collectors, limit],
    )
    return rows.map(({ id, lane, first, last, ...rest }) => ({
      ...{ id, lane },
      window: { ...rest, from: hourFromNumber(first), to: hourFromNumber(last) },
    }))
  }

  async finish(id: string, transaction: SharedTransaction): Promise<void> {
    await transaction.query('DELETE FROM tidegauge.backfill_window WHERE id = $1', [id])
  }
}
