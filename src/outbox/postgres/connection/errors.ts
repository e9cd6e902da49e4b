import { networkWords } from '../../../edge/network-reason.ts'
import { Fault } from '../../../model/fault.ts'

/**
 * Meaning of a database's error.
 *
 * - `conflict`: the same work may succeed at once: another transaction was in its way
 * - `broken`: the connection is gone, or none can be had now
 * - `blocked`: it has ended a statement that took too long, as one that waits for a lock
 * - `full`: it has no room for new rows
 * - `read-only`: its session can only read, as on a standby; another session may be able to write
 * - `refused`: it does not let this user in, or not do this
 * - `other`: of the database, and none of these
 */
type DatabaseTrouble = 'conflict' | 'broken' | 'blocked' | 'full' | 'read-only' | 'refused' | 'other'

/** A connection that ended, or could not be made in time. */
export class LostConnectionError extends Error {}

/** A connection that the client itself refuses: its message says why, without what the address holds. */
export class RefusedConnectionError extends Error {}

/** SQLSTATE codes by their meaning; a code of two letters stands for its class. */
const troubles: Readonly<Record<string, DatabaseTrouble>> = {
  // serialization_failure, which CockroachDB's retry errors are, too; deadlock_detected
  '40001': 'conflict',
  '40P01': 'conflict',
  // connection_exception, and what poolers answer
  '08': 'broken',
  // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped
  '57P01': 'broken',
  '57P02': 'broken',
  '57P03': 'broken',
  '57P04': 'broken',
  // query_canceled: `statement_timeout`
  '57014': 'blocked',
  // idle_in_transaction_session_timeout, idle_session_timeout, transaction_timeout
  '25P03': 'broken',
  '57P05': 'broken',
  '25P04': 'broken',
  // too_many_connections
  '53300': 'broken',
  // disk_full
  '53100': 'full',
  // read_only_sql_transaction
  '25006': 'read-only',
  // invalid_authorization_specification
  '28': 'refused',
  // invalid_catalog_name
  '3D000': 'refused',
  // insufficient_privilege
  '42501': 'refused',
}

/** Codes of Node for a connection that cannot be made, or ended. */
const lostCodes =
  /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ERR_SOCKET|ERR_SSL)/

/** Codes of OpenSSL and Node for a certificate that is not accepted. */
const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/

/** SQLSTATE of a server's error, else a code of Node; empty when there is none. */
export function codeOfDatabase(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' ? code : ''
}

/** Whether a server has sent an error, rather than a client met one. */
export function isOfServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && /^[0-9A-Z]{5}$/.test(codeOfDatabase(error))
}

/** Meaning of an error; `undefined` when it is not of a database. */
export function databaseTrouble(error: unknown): DatabaseTrouble | undefined {
  if (error instanceof LostConnectionError) return 'broken'
  if (error instanceof RefusedConnectionError) return 'refused'
  const code = codeOfDatabase(error)
  if (isOfServer(error)) return troubles[code] ?? troubles[code.slice(0, 2)] ?? 'other'
  return lostCodes.test(code) ? 'broken' : undefined
}

/** Gives an error that the client threw without a server's code its meaning; returns any other unchanged. */
export function clientError(error: unknown): unknown {
  if (!(error instanceof Error) || databaseTrouble(error) !== undefined) return error
  const { message } = error
  const [code, cause] = [codeOfDatabase(error), { cause: error }]
  if (certificateCodes.test(code)) {
    const cure = 'set NODE_EXTRA_CA_CERTS for an authority of your own'
    return new RefusedConnectionError(`has a certificate that is not accepted (${code}): ${cure}`, cause)
  }
  if (message.startsWith('The server does not support SSL')) {
    return new RefusedConnectionError(
      'has no TLS: add sslmode=disable to its address, only where its network is private',
      cause,
    )
  }
  if (message.startsWith('SASL')) {
    return new RefusedConnectionError('asks for a password, and the address has none that it takes', cause)
  }
  const isLost =
    /^(Connection terminated|Client (has|was)|timeout (exceeded|expired)|Query read timeout|There was an error establishing)/
  return isLost.test(message) ? new LostConnectionError('the connection was lost', cause) : error
}

/** A database cannot be used by this version as it is: its tables, its server or its encoding. */
export class OtherTablesError extends Error {
  /**
   * Version that wrote the tables, compared with this one; `waiting`: an older one whose tables can be migrated; `unsupported`: the
   * server is too old for any.
   */
  readonly madeBy: 'newer' | 'older' | 'waiting' | 'unsupported' | 'encoded'

  constructor(madeBy: OtherTablesError['madeBy'], message: string) {
    super(message)
    this.madeBy = madeBy
  }
}

const otherTablesFixes: Readonly<Record<OtherTablesError['madeBy'], string>> = {
  newer: 'run the version of tidegauge that the other daemons run, or a newer one; docs/install.md says how to go back',
  older: 'its version was never released: stop the daemons that wrote it, and use an empty database',
  waiting: 'start a daemon of this version, which brings the tables up to date, or use the version of the daemons',
  unsupported: 'use PostgreSQL 13 or newer',
  encoded: "name a database in UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
}

/** Words and cure of a refusal, by SQLSTATE. */
const refusals: Readonly<Record<string, readonly [words: string, fix: string]>> = {
  '28P01': ['refuses the user or the password', 'correct the user or password in the address'],
  '28000': ['refuses the user', 'see that the user exists and may log in: CREATE ROLE … LOGIN PASSWORD …'],
  '3D000': ['does not exist', 'create it: CREATE DATABASE'],
  '42501': [
    'gives this user too few rights',
    'let the user make schemas: GRANT CREATE ON DATABASE … TO …; or make them for it: CREATE SCHEMA tidegauge AUTHORIZATION …; CREATE SCHEMA tidegauge_jobs AUTHORIZATION …',
  ],
}

/** The server names its file where that is why; the rest of its words may be of any language. */
function refusalOf(error: unknown): readonly [words: string, fix: string] | undefined {
  if (codeOfDatabase(error) === '28000' && error instanceof Error && error.message.includes('pg_hba')) {
    return ['refuses the user from this machine', 'allow the user and this machine in pg_hba.conf']
  }
  return refusals[codeOfDatabase(error)]
}

/** The fault of a database that takes no new rows. */
export function fullFault(place: string, trouble: 'full' | 'read-only'): Fault {
  const [code, reason, fix] =
    trouble === 'full'
      ? (['disk-full', 'has no room on its disk', 'free some room'] as const)
      : ([
          'database-read-only',
          'can only be read now',
          'give the address of the writer, or let this one be written',
        ] as const)
  return new Fault(code, `the database ${place} ${reason}: nothing new is collected until it can be written again`, {
    fix,
  })
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
  if (trouble === 'full' || trouble === 'read-only') return fullFault(place, trouble)
  if (trouble === 'refused') return refused(place, error)
  if (trouble === 'blocked') return blockedFault(place, reasonOf(error))
  if (trouble === 'broken' || trouble === 'conflict') {
    return new Fault('database-unreachable', `the database ${place} cannot be reached${reasonOf(error)}`, {
      fix: 'nothing is lost: it is tried again; see that the server runs and can be reached from this machine',
    })
  }
  return new Fault('database-failed', `the database ${place} refuses a statement${reasonOf(error)}`)
}

/** The fault of a database that has not answered for a while. @param lostConnection why there is no connection; absent when there is one */
export function lateFault(place: string, lostConnection: unknown): unknown {
  if (lostConnection !== undefined) return databaseFault(place, lostConnection)
  return new Fault(
    'database-unreachable',
    `the database ${place} has not answered in time: a lock may hold it up, or its work`,
  )
}

/** The fault of a database that is reached, and has not ended a statement. @param reason in brackets, or empty */
function blockedFault(place: string, reason: string): Fault {
  const found = `the database ${place} is reached, and has not ended a statement in time, as one that waits for a lock`
  return new Fault('database-unreachable', `${found}${reason}`, {
    fix: 'nothing is lost: it is tried again; pg_stat_activity and pg_locks say which session has the lock',
  })
}

function refused(place: string, error: unknown): Fault {
  if (error instanceof RefusedConnectionError) {
    return new Fault('database-unusable', `the database ${place} ${error.message}`, { fix: 'correct the address' })
  }
  const [words, fix] = refusalOf(error) ?? [`refuses the connection${reasonOf(error)}`, 'correct the address']
  return new Fault('database-unusable', `the database ${place} ${words}`, { fix })
}

/** The server's words, or a code of Node: other words of a client may hold a part of an address. */
function reasonOf(error: unknown): string {
  const code = codeOfDatabase(error)
  if (isOfServer(error) && error instanceof Error) return ` (${error.message}, ${code})`
  return code === '' ? '' : ` (${networkWords(code)})`
}
