import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { jsonOf } from '../../model/json.ts'
import type { Sqlite } from '../../sqlite/database.ts'
import type { StoredKey } from './keys.ts'

export type Visibility = 'private' | 'public'

/** A registered protocol. */
export interface Protocol {
  /** Number of the protocol in the file. */
  readonly no: number
  /** A slug. */
  readonly id: string
  readonly name: string
  readonly logo?: string
  readonly chains?: readonly string[]
  readonly visibility: Visibility
  /** Number of the owner. */
  readonly ownerNo: number
}

/** The protocols of the service. None is ever removed, and no id changes. */
export interface Protocols {
  /** @returns `undefined` when the id is taken */
  register(protocol: Omit<Protocol, 'no' | 'ownerNo'>, owner: StoredKey): Protocol | undefined
  find(id: string): Protocol | undefined
  /** Every protocol a key may write: its own and public ones, by id. */
  writableBy(key: StoredKey): Protocol[]
  /** @throws Fault `usage` for an unknown protocol */
  setVisibility(id: string, visibility: Visibility): void
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

/** The protocols in an open file of the service. Instants come from the given clock. */
export function protocolsIn(database: Sqlite, time: Time): Protocols {
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
    register({ id, name, logo, chains, visibility }, owner) {
      const chainsText = chains ? JSON.stringify(chains) : null
      return protocolOf(insert.get(id, name, logo ?? null, chainsText, visibility, owner.no, time.nowMs()))
    },
    find: id => protocolOf(byId.get(id)),
    writableBy: key => writable.all(key.no).flatMap(row => protocolOf(row) ?? []),
    setVisibility(id, visibility) {
      if (setVisibility.run(visibility, id).changes > 0) return
      throw new Fault('usage', `no protocol "${id}" is registered`, { fix: 'register it first' })
    },
  }
}

function protocolOf(row: ProtocolRow | undefined): Protocol | undefined {
  if (!row) return undefined
  const { logo, chains, ...rest } = row
  return {
    ...rest,
    ...(logo === null ? {} : { logo }),
    ...(chains === null ? {} : { chains: jsonOf(chains) as string[] }),
  }
}
