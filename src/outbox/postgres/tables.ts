import type { Time } from '../../edge/time.ts'
import { version } from '../../edge/version.ts'
import { Fault } from '../../model/fault.ts'
import { stepsFrom } from '../../model/migrations.ts'
import { identityTables, leaseTable, migrations, postgresTables, tablesVersion } from '../store/schema.ts'
import type { PostgresDatabase, Transaction } from './connection/database.ts'
import { codeOfDatabase, OtherTablesError } from './connection/errors.ts'

/** Tables and columns that only daemons of a fleet share. */
const sharedTables = `
  -- With "salt" keys are compared: only their digests are stored.
  CREATE TABLE tidegauge.version (
    version integer NOT NULL PRIMARY KEY CHECK (version > 0),
    salt uuid NOT NULL DEFAULT gen_random_uuid()
  );

  -- The versions of these tables that the database has had, and which tidegauge made each. No later version changes this table.
  CREATE TABLE tidegauge.migration (
    version integer NOT NULL PRIMARY KEY,
    made_by text NOT NULL,
    at text NOT NULL DEFAULT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
  );

  -- Where the hours of a collector are collected.
  ALTER TABLE tidegauge.collector ADD COLUMN lane text COLLATE "C";

  -- The instant from which the next push is in time with the pace of the whole fleet.
  ALTER TABLE tidegauge.destination ADD COLUMN pace_tat timestamptz;

  -- What a daemon of a fleet says of itself. "clock_off_ms" is its machine's clock minus the database's. Its lease says whether it lives.
  CREATE TABLE tidegauge.daemon (
    name text COLLATE "C" PRIMARY KEY,
    version text NOT NULL,
    config bytea,
    lanes text[] NOT NULL DEFAULT '{}',
    pid integer NOT NULL,
    host text NOT NULL,
    config_file text NOT NULL,
    instance uuid NOT NULL,
    clock_off_ms bigint NOT NULL,
    started timestamptz NOT NULL DEFAULT now()
  );

  -- Hours of a backfill that was asked for and is not done: jobs are made of it, also once the engine's schema was dropped.
  CREATE TABLE tidegauge.backfill_window (
    id uuid PRIMARY KEY,
    lane text COLLATE "C" NOT NULL,
    collectors text[] NOT NULL CHECK (cardinality(collectors) > 0),
    first_hour integer NOT NULL CHECK (first_hour > 0),
    last_hour integer NOT NULL,
    what text NOT NULL CHECK (what IN ('missing', 'overwrite')),
    hour_order text NOT NULL CHECK (hour_order IN ('oldest-first', 'newest-first')),
    CHECK (last_hour >= first_hour)
  );
${identityTables}${leaseTable}
  INSERT INTO tidegauge.version (version) VALUES (${tablesVersion});
`

const noteVersion = `
  INSERT INTO tidegauge.migration (version, made_by) VALUES ($1, $2) ON CONFLICT (version) DO UPDATE SET made_by = excluded.made_by`

/** `server_version_num` of the oldest server that has all that the statements use. */
const serverVersionMin = 130_000

/** The first version of the tables in which a lease says that a daemon lives. */
const leasesSince = 14

/** SQLSTATE of a schema or table that another process has just made. */
const madeByAnother: ReadonlySet<string> = new Set(['42P06', '42P07', '23505'])

/** Who may bring older tables up to date: a daemon at any time, a command only while no daemon is alive. */
export type Migrator = 'daemon' | 'command'

/**
 * Makes the tables in a database that has none. Processes that do so at once end with the tables of one of them.
 *
 * @returns `older` when `migrateTables` is to be called
 * @throws OtherTablesError when the server is too old, its encoding is not UTF8, or the tables are those of another version and stay
 * so; errors of the database
 */
export async function prepareTables(database: PostgresDatabase, migrator: Migrator): Promise<'current' | 'older'> {
  await requireServer(database)
  for (;;) {
    const foundVersion = await foundTables(database)
    if (foundVersion === tablesVersion) return 'current'
    if (foundVersion !== undefined) {
      await requireMigratable(database, foundVersion, migrator)
      return 'older'
    }
    try {
      await made(database)
    } catch (error) {
      if (!madeByAnother.has(codeOfDatabase(error))) throw error
    }
  }
}

async function requireServer(database: PostgresDatabase): Promise<void> {
  const [row] = await database.rows<{ number: number; words: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS words,
       current_setting('server_encoding') AS encoding`,
  )
  if (row && row.number < serverVersionMin) {
    throw new OtherTablesError('unsupported', `its server has version ${row.words}`)
  }
  if (row && row.encoding !== 'UTF8') {
    throw new OtherTablesError(
      'encoded',
      `its encoding is ${row.encoding}, which does not hold all that a service or node may say`,
    )
  }
}

/** The version of the tables; `undefined` when there are none. */
async function foundTables(database: PostgresDatabase): Promise<number | undefined> {
  const [table] = await database.rows<{ is_there: boolean }>(
    `SELECT to_regclass('tidegauge.version') IS NOT NULL AS is_there`,
  )
  if (!table?.is_there) return undefined
  const [row] = await database.rows<{ version: number }>('SELECT version FROM tidegauge.version')
  return row?.version ?? 0
}

/** @throws OtherTablesError when tables of another version stay as they are */
async function requireMigratable(database: PostgresDatabase, foundVersion: number, migrator: Migrator): Promise<void> {
  const words = `its tables have version ${foundVersion}, another version of the daemon; this one reads ${tablesVersion}`
  if (stepsFrom(foundVersion, migrations).length === 0) {
    const writer = foundVersion > tablesVersion ? await writerOf(database) : undefined
    const made = writer === undefined ? '' : ` (made by tidegauge ${writer}; this is ${version})`
    throw new OtherTablesError(foundVersion > tablesVersion ? 'newer' : 'older', `${words}${made}`)
  }
  if (migrator === 'daemon') return
  const livingRows =
    foundVersion < leasesSince
      ? "tidegauge.daemon WHERE seen > now() - interval '1 minute'"
      : "tidegauge.daemon JOIN tidegauge.lease ON lease.name = 'daemon/' || daemon.name WHERE until >= now()"
  const [livingDaemon] = await database.rows<{ name: string; version: string }>(
    `SELECT daemon.name, version FROM ${livingRows} LIMIT 1`,
  )
  if (livingDaemon) {
    throw new OtherTablesError(
      'waiting',
      `${words} (the daemon ${livingDaemon.name} of tidegauge ${livingDaemon.version} uses them)`,
    )
  }
}

/** The version of tidegauge that made the tables, as far as they say. */
async function writerOf(database: PostgresDatabase): Promise<string | undefined> {
  const newest = 'SELECT made_by FROM tidegauge.migration ORDER BY version DESC LIMIT 1'
  const [row] = await database.rows<{ made_by: string }>(newest).catch(() => [])
  return row?.made_by
}

/** Time for which a migration waits for the locks of others: as long, those that come later wait for it. */
const lockMsMax = 2_000

/** Attempts to get all locks, and the wait between them, in which others work on. */
const [lockAttempts, lockRestMs] = [5, 2_000]

/** SQLSTATE of a lock that is not to be had in time. */
const lockNotAvailable = '55P03'

/** SQLSTATE of a right that the user lacks. */
const insufficientPrivilege = '42501'

/**
 * Brings the tables up to date in one transaction, which first copies them into the schema `tidegauge_before_VERSION`. Daemons
 * of an older version wait for it, and then refuse the tables. Of several processes that do so at once, one does.
 *
 * @throws Fault `database-unreachable` that names who reads the tables meanwhile, as a dump does; errors of the database
 */
export async function migrateTables(database: PostgresDatabase, time: Pick<Time, 'sleep'>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.write(migrate)
    } catch (error) {
      if (codeOfDatabase(error) === insufficientPrivilege) throw refusedCopy(database, error)
      if (codeOfDatabase(error) !== lockNotAvailable) throw error
      if (attempt === lockAttempts) throw await blockedFault(database)
    }
    await time.sleep(lockRestMs)
  }
}

/** Of an update, the schemas that a daemon needs are there: what it lacks is the right to make that of the copy. */
function refusedCopy({ place }: PostgresDatabase, cause: unknown): Fault {
  return new Fault('database-unusable', `the database ${place} does not let this user update its tables`, {
    fix: `let the user make the schema of the copy that an update begins with: GRANT CREATE ON DATABASE … TO …; and own the tables: ALTER TABLE … OWNER TO …`,
    cause,
  })
}

async function migrate(transaction: Transaction): Promise<void> {
  // Names are written as they are stored, whatever schemas the user looks into first.
  transaction.later(`SET LOCAL search_path = pg_catalog; SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockMsMax}`)
  // Every transaction of a daemon begins with a look at this table.
  transaction.later('LOCK TABLE tidegauge.version IN ACCESS EXCLUSIVE MODE')
  const [row] = await transaction.query<{ version: number }>('SELECT version FROM tidegauge.version')
  const steps = stepsFrom(row?.version ?? 0, migrations)
  if (steps.length === 0) return
  // All before the copy is made: who reads one of them would hold up the others when it is done.
  const tables = (await tablesOf(transaction)).map(name => `tidegauge.${name}`)
  transaction.later(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`)
  await copySchema(transaction, `tidegauge_before_${tablesVersion}`)
  for (const { to, postgres } of steps) {
    transaction.later(postgres)
    transaction.later('UPDATE tidegauge.version SET version = $1', [to])
    transaction.later(noteVersion, [to, version])
  }
  // Daemons of the version before may not write any more: what they had is free at once.
  transaction.later('DELETE FROM tidegauge.lease')
}

async function tablesOf(transaction: Transaction): Promise<readonly string[]> {
  const tables = await transaction.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'tidegauge'::regnamespace AND relkind = 'r' ORDER BY relname`,
  )
  return tables.map(({ name }) => name)
}

/** Why the tables cannot be locked, with the session that has read them for longest. Others' sessions hide some of it. */
async function blockedFault(database: PostgresDatabase): Promise<Fault> {
  const [holder] = await database.rows<{ pid: number; program: string | null; since: string | null }>(
    `SELECT locks.pid, nullif(application_name, '') AS program,
       to_char(coalesce(xact_start, query_start) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
     FROM pg_locks AS locks JOIN pg_class ON pg_class.oid = locks.relation
       LEFT JOIN pg_stat_activity AS activity ON activity.pid = locks.pid
     WHERE relnamespace = 'tidegauge'::regnamespace AND locks.granted AND locks.pid <> pg_backend_pid()
       AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     ORDER BY coalesce(xact_start, query_start) LIMIT 1`,
  )
  const parts = holder && [...(holder.program === null ? [] : [holder.program]), `pid ${holder.pid}`]
  const sessions = parts
    ? `${parts.join(', ')} has a lock on them${holder.since === null ? '' : ` since ${holder.since}`}`
    : 'others have locks on them'
  const fix = holder ? `wait for it, or end it: SELECT pg_terminate_backend(${holder.pid})` : 'try again'
  return new Fault(
    'database-unreachable',
    `the tables of the database ${database.place} cannot be brought to version ${tablesVersion} now: ${sessions}`,
    { fix: `nothing is lost, and daemons of the older version work on; ${fix}` },
  )
}

/** Copies the tables with all that belongs to them, so that the schema can take the place of the other one by its name. */
async function copySchema(transaction: Transaction, copy: string): Promise<void> {
  transaction.later(`DROP SCHEMA IF EXISTS ${copy} CASCADE`)
  transaction.later(`CREATE SCHEMA ${copy}`)
  for (const name of await tablesOf(transaction)) {
    transaction.later(`CREATE TABLE ${copy}.${name} (LIKE tidegauge.${name} INCLUDING ALL)`)
    transaction.later(`INSERT INTO ${copy}.${name} SELECT * FROM tidegauge.${name}`)
  }
  const tablesWithId = await transaction.query<{ name: string; id: string }>(
    `SELECT table_name AS name, column_name AS id FROM information_schema.columns
     WHERE table_schema = 'tidegauge' AND is_identity = 'YES'`,
  )
  for (const { name, id } of tablesWithId) {
    transaction.later(
      `SELECT setval(pg_get_serial_sequence('${copy}.${name}', '${id}'), max(${id})) FROM ${copy}.${name}`,
    )
  }
  const parts = await transaction.query<{ sql: string }>(
    `SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS sql
       FROM pg_constraint WHERE connamespace = 'tidegauge'::regnamespace AND contype = 'f'
     UNION ALL SELECT format('CREATE VIEW %s AS %s', oid::regclass, pg_get_viewdef(oid))
       FROM pg_class WHERE relnamespace = 'tidegauge'::regnamespace AND relkind = 'v'`,
  )
  for (const { sql } of parts) transaction.later(sql.replaceAll('tidegauge.', `${copy}.`))
  const grants = await transaction.query<{ sql: string }>(grantsOf, [copy])
  for (const { sql } of grants) transaction.later(sql)
}

/** Statements that give the copy the rights that others have on the schema, its tables and view, and columns of these. */
const grantsOf = `
  WITH granted AS (
    SELECT privilege_type AS right, 'SCHEMA ' || quote_ident($1) AS object, grantee, is_grantable
      FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'tidegauge' AND grantee <> nspowner
    UNION ALL SELECT privilege_type, format('%I.%I', $1, relname), grantee, is_grantable
      FROM pg_class, aclexplode(relacl)
      WHERE relnamespace = 'tidegauge'::regnamespace AND relkind IN ('r', 'v') AND grantee <> relowner
    UNION ALL SELECT format('%s (%I)', privilege_type, attname), format('%I.%I', $1, relname), grantee, is_grantable
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl)
      WHERE relnamespace = 'tidegauge'::regnamespace AND relkind IN ('r', 'v') AND grantee <> relowner)
  SELECT format('GRANT %s ON %s TO %s%s', granted.right, object,
    CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS sql FROM granted`

/** All in one transaction: another process sees all of it or nothing. */
async function made(database: PostgresDatabase): Promise<void> {
  await database.write(async transaction => {
    // The schema may have been made by who may make one, for a user who may not.
    const found = await transaction.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'tidegauge'`)
    if (found.length === 0) await transaction.query('CREATE SCHEMA tidegauge')
    for (const statement of `${postgresTables}${sharedTables}`.split(/;\s*\n/)) {
      if (statement.trim() !== '') transaction.later(statement)
    }
    transaction.later(noteVersion, [tablesVersion, version])
  })
}
