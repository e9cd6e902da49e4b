import { networkWords } from '../../../edge/network-reason.ts'
import { Fault } from '../../../model/fault.ts'
import { codeOfDatabase, databaseTrouble, isOfServer, RefusedConnectionError } from './errors.ts'

/** A database cannot be used by this version as it is: its tables, its server or its encoding. */
export class OtherTablesError extends Error {
  /** Version that wrote the tables, compared with this one; `unsupported`: the server is too old for any. */
  readonly madeBy: 'newer' | 'older' | 'unsupported' | 'encoded'

  constructor(madeBy: OtherTablesError['madeBy'], message: string) {
    super(message)
    this.madeBy = madeBy
  }
}

const otherTablesFixes: Readonly<Record<OtherTablesError['madeBy'], string>> = {
  newer: 'run the version of tidegauge that the other daemons run, or a newer one',
  older: 'stop the daemons of the version that wrote it, and use an empty database',
  unsupported: 'use PostgreSQL 13 or newer',
  encoded: "name a database in UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
}

/** Words and cure of a refusal, by SQLSTATE. */
const refusals: Readonly<Record<string, readonly [words: string, fix: string]>> = {
  '28P01': ['refuses the user or the password', 'correct the user or password in the address'],
  '28000': ['refuses the user from this machine', 'allow the user and this machine in pg_hba.conf'],
  '3D000': ['does not exist', 'create it: CREATE DATABASE'],
  '42501': [
    'gives this user too few rights',
    'let the user make schemas: GRANT CREATE ON DATABASE … TO …; or make them for it: CREATE SCHEMA tidegauge AUTHORIZATION …; CREATE SCHEMA tidegauge_jobs AUTHORIZATION …',
  ],
}

/** Sentence about a database that takes no new rows, for a person. */
export function fullSentenceOf(place: string, error: unknown): string {
  const isReadOnly = codeOfDatabase(error) === '25006'
  const why = isReadOnly ? 'can only be read now' : 'has no room on its disk'
  return `the database ${place} ${why}: nothing new is collected until it can be written again`
}

/**
 * Turns an error of a database into a Fault that names the place and the cure; returns any other error unchanged. Only a
 * server's words are repeated, which hold no password.
 *
 * @param place as `postgresPlaceOf` gives it
 */
export function databaseFault(place: string, error: unknown): unknown {
  if (error instanceof Fault) return error
  if (error instanceof OtherTablesError) {
    const fix = otherTablesFixes[error.madeBy]
    return new Fault('database-version', `cannot use the database ${place}: ${error.message}`, { fix })
  }
  const trouble = databaseTrouble(error)
  if (trouble === undefined) return error
  if (trouble === 'full') {
    return new Fault('disk-full', fullSentenceOf(place, error), { fix: 'free some room, or let it be written' })
  }
  if (trouble === 'refused') return refused(place, error)
  if (trouble === 'broken' || trouble === 'conflict') {
    return new Fault('database-unreachable', `the database ${place} cannot be reached${reasonOf(error)}`, {
      fix: 'nothing is lost: it is tried again; see that the server runs and can be reached from this machine',
    })
  }
  return new Fault('database-failed', `the database ${place} refuses a statement${reasonOf(error)}`)
}

function refused(place: string, error: unknown): Fault {
  if (error instanceof RefusedConnectionError) {
    return new Fault('database-unusable', `the database ${place} ${error.message}`, { fix: 'correct the address' })
  }
  const [words, fix] = refusals[codeOfDatabase(error)] ?? [
    `refuses the connection${reasonOf(error)}`,
    'correct the address',
  ]
  return new Fault('database-unusable', `the database ${place} ${words}`, { fix })
}

/** The server's words, or a code of Node: other words of a client may hold a part of an address. */
function reasonOf(error: unknown): string {
  const code = codeOfDatabase(error)
  if (isOfServer(error) && error instanceof Error) return ` (${error.message}, ${code})`
  return code === '' ? '' : ` (${networkWords(code)})`
}
