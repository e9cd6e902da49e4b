import { hash, randomBytes } from 'node:crypto'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { jsonOf } from '../model/json.ts'
import { openDatabase, type Schema, type Sqlite } from '../sqlite/database.ts'
import { groupCommit } from '../sqlite/group-commit.ts'
import { migrateFile } from '../sqlite/migrate.ts'
import { withFileFaults } from '../sqlite/trouble.ts'

/**
 * The service's tables. The key of a value is (protocol, instant, metric): a push writes neighbouring rows, and the
 * last hour of a protocol is one range.
 */
const serviceSchema: Schema = {
  version: 1,
  sql: `
    -- A key is known by its SHA-256 and shown by its first characters; rotating changes both and keeps the owner.
    CREATE TABLE api_key (
      no INTEGER PRIMARY KEY,
      name TEXT NOT NULL CHECK (name <> ''),
      prefix TEXT NOT NULL UNIQUE,
      hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
      created_at_ms INTEGER NOT NULL,
      revoked_at_ms INTEGER
    ) STRICT;

    CREATE TABLE protocol (
      no INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE CHECK (id <> '' AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
      name TEXT NOT NULL CHECK (name <> ''),
      logo TEXT,
      chains TEXT CHECK (json_type(chains) = 'array'),
      visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public')),
      owner_no INTEGER NOT NULL REFERENCES api_key (no),
      created_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER protocol_id_is_immutable BEFORE UPDATE OF id ON protocol
      BEGIN SELECT raise(ABORT, 'a protocol id does not change'); END;

    -- Rows are never deleted: a number once given stays, so that it may be remembered outside the file.
    CREATE TABLE metric (
      no INTEGER PRIMARY KEY,
      protocol_no INTEGER NOT NULL REFERENCES protocol (no),
      id TEXT NOT NULL,
      latest_at_ms INTEGER NOT NULL,
      UNIQUE (protocol_no, id)
    ) STRICT;

    -- Unit and module of a value, each pair once.
    CREATE TABLE form (
      no INTEGER PRIMARY KEY,
      unit TEXT,
      module TEXT NOT NULL
    ) STRICT;

    CREATE TABLE metric_value (
      protocol_no INTEGER NOT NULL,
      at_ms INTEGER NOT NULL,
      metric_no INTEGER NOT NULL,
      value REAL NOT NULL,
      form_no INTEGER NOT NULL,
      key_no INTEGER NOT NULL,
      PRIMARY KEY (protocol_no, at_ms, metric_no)
    ) STRICT, WITHOUT ROWID;
  `,
}

/** An owner, independent of its present key. */
export interface StoredKey {
  /** Number of the owner. */
  readonly no: number
  readonly name: string
}

const prefixChars = 11

/** Creates 256 random bits: a hash without salt is enough, and allows to look the key up by it. */
function newKey() {
  const key = `tg_${randomBytes(32).toString('base64url')}`
  return { key, prefix: key.slice(0, prefixChars), hash: keyHash(key) }
}

function keyHash(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** Public data of a key: never the key itself. Instants in milliseconds since 1970. */
interface KeyRow {
  /** The first characters of the key. */
  readonly prefix: string
  readonly name: string
  readonly createdAtMs: number
  /** `null` while the key is valid. */
  readonly revokedAtMs: number | null
}

/** The keys of the service: who may call, and who owns what. */
function keysIn(database: Sqlite, time: Time) {
  const insert = database.prepare<[string, string, Buffer, number]>(
    'INSERT INTO api_key (name, prefix, hash, created_at_ms) VALUES (?, ?, ?, ?)',
  )
  const byHash = database.prepare<[Buffer], StoredKey>(
    'SELECT no, name FROM api_key WHERE hash = ? AND revoked_at_ms IS NULL',
  )
  const allKeys = database.prepare<[], KeyRow>(
    'SELECT prefix, name, created_at_ms AS createdAtMs, revoked_at_ms AS revokedAtMs FROM api_key ORDER BY no',
  )
  const byText = database.prepare<{ text: string }, { no: number; prefix: string }>(
    'SELECT no, prefix FROM api_key WHERE revoked_at_ms IS NULL AND (name = :text OR prefix = :text)',
  )
  const setRevoked = database.prepare<[number, number]>('UPDATE api_key SET revoked_at_ms = ? WHERE no = ?')
  const setSecret = database.prepare<[string, Buffer, number]>('UPDATE api_key SET prefix = ?, hash = ? WHERE no = ?')

  const findKeyNo = (text: string): number => {
    const [key, ...otherKeys] = byText.all({ text })
    if (!key) throw new Fault('usage', `no valid key has the name or prefix "${text}"`)
    if (otherKeys.length === 0) return key.no
    const prefixes = [key, ...otherKeys].map(({ prefix }) => prefix).join(', ')
    throw new Fault('usage', `${otherKeys.length + 1} keys are named "${text}"`, { fix: `give a prefix: ${prefixes}` })
  }

  return {
    /**
     * Creates a key, as the mobile app does for the real service.
     *
     * @param name for people, to tell keys apart; need not be unique
     * @returns the key: only now, as only its hash is stored
     * @throws Fault `usage` for an empty name
     */
    create(name: string): string {
      if (name.trim() === '') throw new Fault('usage', 'a key needs a name', { fix: 'name what will use it' })
      const made = newKey()
      insert.run(name, made.prefix, made.hash, time.nowMs())
      return made.key
    },
    /** The owner of a valid key; `undefined` for others. */
    find: (key: string) => byHash.get(keyHash(key)),
    /** All keys, oldest first, revoked ones included. */
    list: () => allKeys.all().map(({ revokedAtMs, ...rest }) => ({ ...rest, revokedAtMs: revokedAtMs ?? undefined })),
    /** Makes a key invalid at once. @throws Fault `usage` when no key, or more than one, has that name or prefix */
    revoke(nameOrPrefix: string): void {
      setRevoked.run(time.nowMs(), findKeyNo(nameOrPrefix))
    },
    /**
     * Gives an owner a new key; the old one is invalid at once, and ownership stays.
     *
     * @throws Fault `usage` when no key, or more than one, has that name or prefix
     */
    rotate(nameOrPrefix: string): string {
      const made = newKey()
      setSecret.run(made.prefix, made.hash, findKeyNo(nameOrPrefix))
      return made.key
    },
  }
}

type Visibility = 'private' | 'public'

/** A registered protocol. */
export interface Protocol {
  /** Number of the protocol in the file. */
  readonly no: number
  /** A slug. */
  readonly id: string
  readonly name: string
  readonly logo?: string | undefined
  readonly chains?: readonly string[] | undefined
  readonly visibility: Visibility
  /** Number of the owner. */
  readonly ownerNo: number
}

/** Whether a key may read and write a protocol: only its owner's may, unless it is public. */
export function isOpenTo(protocol: Protocol, key: StoredKey | undefined): boolean {
  return protocol.visibility === 'public' || protocol.ownerNo === key?.no
}

interface ProtocolRow {
  readonly no: number
  readonly id: string
  readonly name: string
  readonly logo: string | null
  readonly chains: string | null
  readonly visibility: Visibility
  readonly ownerNo: number
}

const columns = 'no, id, name, logo, chains, visibility, owner_no AS ownerNo'

/** The protocols of the service. None is ever removed, and no id changes. */
function protocolsIn(database: Sqlite, time: Time) {
  const insert = database.prepare<
    [string, string, string | null, string | null, Visibility, number, number],
    ProtocolRow
  >(
    `INSERT INTO protocol (id, name, logo, chains, visibility, owner_no, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING RETURNING ${columns}`,
  )
  const byId = database.prepare<[string], ProtocolRow>(`SELECT ${columns} FROM protocol WHERE id = ?`)
  const writable = database.prepare<[number], ProtocolRow>(
    `SELECT ${columns} FROM protocol WHERE owner_no = +? OR visibility = 'public' ORDER BY id`,
  )
  const setVisibility = database.prepare<[Visibility, string]>('UPDATE protocol SET visibility = ? WHERE id = ?')

  return {
    /** @returns `undefined` when the id is taken */
    register(protocol: Omit<Protocol, 'no' | 'ownerNo'>, owner: StoredKey): Protocol | undefined {
      const { id, name, logo, chains, visibility } = protocol
      const chainsText = chains ? JSON.stringify(chains) : null
      return protocolOf(insert.get(id, name, logo ?? null, chainsText, visibility, owner.no, time.nowMs()))
    },
    find: (id: string) => protocolOf(byId.get(id)),
    /** Every protocol a key may write: its own and public ones, by id. */
    writableBy: (key: StoredKey) => writable.all(key.no).flatMap(row => protocolOf(row) ?? []),
    /** @throws Fault `usage` for an unknown protocol */
    setVisibility(id: string, visibility: Visibility): void {
      if (setVisibility.run(visibility, id).changes > 0) return
      throw new Fault('usage', `no protocol "${id}" is registered`, { fix: 'register it first' })
    },
  }
}

function protocolOf(row: ProtocolRow | undefined): Protocol | undefined {
  if (!row) return undefined
  const { logo, chains, ...rest } = row
  return { ...rest, logo: logo ?? undefined, chains: chains === null ? undefined : (jsonOf(chains) as string[]) }
}

/** One metric of a push, ready to be stored. */
export interface NewValue {
  readonly protocolNo: number
  /** Metric id. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly value: number
  /** Absent: the metric has none. */
  readonly unit: string | undefined
  readonly module: string
}

/** The newest value of a metric. */
export interface LatestValue {
  readonly metricNo: number
  readonly id: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly value: number
  /** Unit of the value; `null` when it has none. */
  readonly unit: string | null
}

/** The values of all metrics. */
function valuesIn(database: Sqlite) {
  const putValue = putIn(database)
  const latest = database.prepare<[number], LatestValue>(
    `SELECT metric.no AS metricNo, metric.id, at_ms AS atMs, value, unit
     FROM metric JOIN metric_value ON metric_value.protocol_no = metric.protocol_no
       AND at_ms = latest_at_ms AND metric_no = metric.no
     JOIN form ON form.no = form_no WHERE metric.protocol_no = +? ORDER BY metric.id`,
  )
  // SQLite takes the bare column `value` from the row with the max.
  const selectNewest = database.prepare<[number, number, number], { metricNo: number; value: number; atMs: number }>(
    `SELECT metric_no AS metricNo, value, max(at_ms) AS atMs FROM metric_value
     WHERE protocol_no = +? AND at_ms > ? AND at_ms <= ? GROUP BY metric_no`,
  )
  const inTransaction = groupCommit(database)
  return {
    /**
     * Stores a push in one transaction, all or nothing.
     *
     * @param keyNo the pushing key
     * @returns indexes in `values` of metrics that existed with the same id and instant and were updated
     */
    put: (values: readonly NewValue[], keyNo: number) =>
      inTransaction(() => values.flatMap((value, place) => (putValue(value, keyNo) === 'updated' ? [place] : []))),
    /** The newest value of every metric of a protocol, by metric id. */
    latest: (protocolNo: number) => latest.all(protocolNo),
    /** The newest value of each metric of a protocol in `(afterMs, untilMs]`, by metric number. */
    newestWithin: (protocolNo: number, afterMs: number, untilMs: number) =>
      new Map(selectNewest.all(protocolNo, afterMs, untilMs).map(({ metricNo, value }) => [metricNo, value])),
  }
}

/** Stores a value, within a transaction. */
function putIn(database: Sqlite): (value: NewValue, keyNo: number) => 'added' | 'updated' {
  const metricNoOf = database
    .prepare<[number, string, number], number>(
      `INSERT INTO metric (protocol_no, id, latest_at_ms) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET latest_at_ms = max(latest_at_ms, excluded.latest_at_ms) RETURNING no`,
    )
    .pluck()
  const formNoOf = database
    .prepare<[string | null, string], number>('SELECT no FROM form WHERE unit IS ? AND module = ?')
    .pluck()
  const addForm = database.prepare('INSERT INTO form (unit, module) VALUES (?, ?)')
  const isStored = database
    .prepare<[number, number, number], number>(
      'SELECT 1 FROM metric_value WHERE protocol_no = ? AND at_ms = ? AND metric_no = ?',
    )
    .pluck()
  const upsert = database.prepare(
    `INSERT INTO metric_value (protocol_no, at_ms, metric_no, value, form_no, key_no) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, form_no = excluded.form_no, key_no = excluded.key_no`,
  )
  return ({ protocolNo, id, atMs, value, unit = null, module }, keyNo) => {
    const metricNo = metricNoOf.get(protocolNo, id, atMs) ?? 0
    const formNo = formNoOf.get(unit, module) ?? addForm.run(unit, module).lastInsertRowid
    const isKnown = isStored.get(protocolNo, atMs, metricNo) !== undefined
    upsert.run(protocolNo, atMs, metricNo, value, formNo, keyNo)
    return isKnown ? 'updated' : 'added'
  }
}

/** A position in the stored values of a protocol, newest first: the next values are strictly before it. */
export interface HistoryCursor {
  readonly protocolNo: number
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly metricNo: number
}

/** One stored value. */
export interface StoredValue extends HistoryCursor {
  readonly id: string
  readonly value: number
  readonly unit: string | null
  readonly module: string
}

/** The position before every value of a protocol. */
export function newestOf(protocolNo: number): HistoryCursor {
  return { protocolNo, atMs: Number.MAX_SAFE_INTEGER, metricNo: 0 }
}

/** @returns reads at most `count` values that `keyNo` stored in a protocol, newest first, from a position on */
function storedIn(database: Sqlite) {
  const page = database.prepare<HistoryCursor & { keyNo: number; count: number }, StoredValue>(
    `SELECT metric_value.protocol_no AS protocolNo, at_ms AS atMs, metric_no AS metricNo, metric.id, value, unit, module
     FROM metric_value JOIN metric ON metric.no = metric_no JOIN form ON form.no = form_no
     WHERE metric_value.protocol_no = +:protocolNo AND key_no = +:keyNo AND (at_ms, metric_no) < (:atMs, :metricNo)
     ORDER BY at_ms DESC, metric_no DESC LIMIT +:count`,
  )
  return (keyNo: number, from: HistoryCursor, count: number) => page.all({ ...from, keyNo, count })
}

/** The service's file. Several processes may have it open at once. */
export type Store = ReturnType<typeof openStore>

/**
 * Opens the service's file, creating it if missing.
 *
 * @param file `:memory:` for a temporary one
 * @throws Fault `outbox-unusable` or `disk-full`; other errors of `openDatabase`
 */
export function openStore(file: string, time: Time) {
  const database = withFileFaults('the service’s file', file, () => {
    migrateFile(file, serviceSchema)
    return openDatabase(file, serviceSchema)
  })
  database.exec('CREATE INDEX IF NOT EXISTS form_by_unit ON form (unit, module)')
  return {
    keys: keysIn(database, time),
    protocols: protocolsIn(database, time),
    values: valuesIn(database),
    storedBy: storedIn(database),
    close: () => void database.close(),
  }
}
