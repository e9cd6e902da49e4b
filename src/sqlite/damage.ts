/** An own error that shows a damaged file, as SQLite's `SQLITE_CORRUPT` does. */
export class DamageError extends Error {
  readonly code = 'SQLITE_CORRUPT'
}

/** Damage: pages that make no sense, are missing, or cannot be read. */
const damage = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS))/

/** No room, on the disk or in a quota; SQLite reports some of it as a write error. */
const full = /^(SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)|ENOSPC|EDQUOT)$/

/** Whether an error or one of its causes means that a file is damaged. */
export function isDamage(error: unknown): boolean {
  return codesOf(error).some(code => damage.test(code))
}

/** Whether an error or one of its causes means that there is no room to write. */
export function isFull(error: unknown): boolean {
  return codesOf(error).some(code => full.test(code))
}

/** Codes of an error and its causes, the outermost first. */
export function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const { code } = error as { code?: unknown }
  return [...(typeof code === 'string' ? [code] : []), ...codesOf(error.cause)]
}

/** Whether another process or connection has the lock that is needed. It passes. */
export function isBusy(error: unknown): boolean {
  return codesOf(error).some(code => /^SQLITE_(BUSY|LOCKED)/.test(code))
}
