import { hash, randomBytes } from 'node:crypto'
import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { Sqlite } from '../../sqlite/database.ts'

/** An owner, independent of its present key. */
export interface StoredKey {
  /** Number of the owner. */
  readonly no: number
  readonly name: string
}

/** Public data of a key: never the key itself. */
export interface KeyListing {
  /** The first characters of the key. */
  readonly prefix: string
  readonly name: string
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
  /** Absent while the key is valid. */
  readonly revokedAtMs?: number
}

/** The keys of the service: who may call, and who owns what. */
export interface Keys {
  /**
   * Creates a key, as the mobile app does for the real service.
   *
   * @param name for people, to tell keys apart; need not be unique
   * @returns the key: only now, as only its hash is stored
   * @throws Fault `usage` for an empty name
   */
  create(name: string): string
  /** The owner of a valid key; `undefined` for others. */
  find(key: string): StoredKey | undefined
  /** All keys, oldest first, revoked ones included. */
  list(): KeyListing[]
  /** Makes a key invalid at once. @throws Fault `usage` when no key, or more than one, has that name or prefix */
  revoke(nameOrPrefix: string): void
  /**
   * Gives an owner a new key; the old one is invalid at once, and ownership stays.
   *
   * @throws Fault `usage` when no key, or more than one, has that name or prefix
   */
  rotate(nameOrPrefix: string): string
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

interface ListedRow {
  readonly prefix: string
  readonly name: string
  readonly createdAtMs: number
  readonly revokedAtMs: number | null
}

/** The keys in an open file of the service. Instants come from the given clock. */
export function keysIn(database: Sqlite, time: Time): Keys {
  const insert = database.prepare<[string, string, Buffer, number]>(
    'INSERT INTO api_key (name, prefix, hash, created_at_ms) VALUES (?, ?, ?, ?)',
  )
  const byHash = database.prepare<[Buffer], StoredKey>(
    'SELECT no, name FROM api_key WHERE hash = ? AND revoked_at_ms IS NULL',
  )
  const all = database.prepare<[], ListedRow>(
    'SELECT prefix, name, created_at_ms AS createdAtMs, revoked_at_ms AS revokedAtMs FROM api_key ORDER BY no',
  )
  const named = database.prepare<{ text: string }, { no: number; prefix: string }>(
    'SELECT no, prefix FROM api_key WHERE revoked_at_ms IS NULL AND (name = :text OR prefix = :text)',
  )
  const setRevoked = database.prepare<[number, number]>('UPDATE api_key SET revoked_at_ms = ? WHERE no = ?')
  const setSecret = database.prepare<[string, Buffer, number]>('UPDATE api_key SET prefix = ?, hash = ? WHERE no = ?')

  const only = (text: string): number => {
    const [found, ...others] = named.all({ text })
    if (!found) throw new Fault('usage', `no valid key has the name or prefix "${text}"`)
    if (others.length === 0) return found.no
    const prefixes = [found, ...others].map(({ prefix }) => prefix).join(', ')
    throw new Fault('usage', `${others.length + 1} keys are named "${text}"`, { fix: `give a prefix: ${prefixes}` })
  }

  return {
    create(name) {
      if (name.trim() === '') throw new Fault('usage', 'a key needs a name', { fix: 'name what will use it' })
      const made = newKey()
      insert.run(name, made.prefix, made.hash, time.nowMs())
      return made.key
    },
    find: key => byHash.get(keyHash(key)),
    list: () => all.all().map(({ revokedAtMs, ...rest }) => (revokedAtMs === null ? rest : { ...rest, revokedAtMs })),
    revoke(nameOrPrefix) {
      setRevoked.run(time.nowMs(), only(nameOrPrefix))
    },
    rotate(nameOrPrefix) {
      const made = newKey()
      setSecret.run(made.prefix, made.hash, only(nameOrPrefix))
      return made.key
    },
  }
}
