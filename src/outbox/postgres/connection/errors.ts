/**
 * Meaning of a database's error.
 *
 * - `conflict`: the same work may succeed at once: another transaction was in its way
 * - `broken`: the connection is gone, or none can be had now
 * - `full`: it takes no new rows
 * - `refused`: it does not let this user in, or not do this
 * - `other`: of the database, and none of these
 */
export type DatabaseTrouble = 'conflict' | 'broken' | 'full' | 'refused' | 'other'

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
  // query_canceled: `statement_timeout`, as of a lock that is not given back
  '57014': 'broken',
  // idle_in_transaction_session_timeout, idle_session_timeout, transaction_timeout
  '25P03': 'broken',
  '57P05': 'broken',
  '25P04': 'broken',
  // too_many_connections
  '53300': 'broken',
  // disk_full; read_only_sql_transaction
  '53100': 'full',
  '25006': 'full',
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
