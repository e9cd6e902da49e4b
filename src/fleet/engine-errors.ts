/** SQLSTATEs of a schema, table, function or type that is missing: somebody dropped the engine's schema. */
const goneStates = ['3F000', '42P01', '42883', '42704']

/** SQLSTATE of what a user may not do. */
const insufficientPrivilege = '42501'

/** Whether an error of the job engine says that its tables are gone. */
export function isGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return goneStates.includes(stateOf(error)) || /^Queue .* does not exist$/.test(error.message)
}

/** Whether an error of the job engine says that this user has too few rights. */
export function isForbidden(error: unknown): boolean {
  return stateOf(error) === insufficientPrivilege
}

/** SQLSTATEs of a schema or table that another daemon has just made. */
const madeStates = ['23505', '42P06', '42P07']

/** Whether an error of the job engine says that another daemon made its tables at the same time. */
export function isMadeByAnother(error: unknown): boolean {
  return madeStates.includes(stateOf(error))
}

/** SQLSTATE of an error; empty when there is none. */
function stateOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** An error as the engine reports it: some come as plain objects with the fields of one. */
export function emittedError(emitted: unknown): Error {
  if (emitted instanceof Error) return emitted
  const fields: object = typeof emitted === 'object' && emitted !== null ? emitted : { message: String(emitted) }
  return Object.assign(new Error(), fields)
}
