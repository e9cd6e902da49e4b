import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Fault, type FaultCode } from '../model/fault.ts'
import { codesOf } from './damage.ts'
import { OtherSchemaError } from './database.ts'
import { hasLocks } from './lock.ts'

/** Reasons why a file cannot be used, as a closed list. */
type TroubleKind =
  | 'read-only'
  | 'denied'
  | 'no-room'
  | 'failing'
  | 'too-many-files'
  | 'no-locks'
  | 'not-a-file'
  | 'loop'
  | 'missing'
  | 'busy'
  | 'other'

/** A reason why a file, or its folder, cannot be used. */
export interface FileTrouble {
  readonly kind: TroubleKind
  /** Path of the file, of SQLite's files next to it, or of a folder above. */
  readonly path: string
}

const kindByErrno: Readonly<Record<string, TroubleKind>> = {
  EROFS: 'read-only',
  EACCES: 'denied',
  EPERM: 'denied',
  ENOSPC: 'no-room',
  EDQUOT: 'no-room',
  EIO: 'failing',
  ENXIO: 'failing',
  ENODEV: 'failing',
  ESTALE: 'failing',
  ENOTCONN: 'failing',
  EMFILE: 'too-many-files',
  ENFILE: 'too-many-files',
  ENOLCK: 'no-locks',
  EOPNOTSUPP: 'no-locks',
  ENOTSUP: 'no-locks',
  EISDIR: 'not-a-file',
  ENOTDIR: 'not-a-file',
  EEXIST: 'not-a-file',
  ELOOP: 'loop',
  ENOENT: 'missing',
  EBUSY: 'busy',
}

/** SQLite's codes that say more than the file system shows. */
const kindByCode: readonly (readonly [code: RegExp, kind: TroubleKind])[] = [
  [/^SQLITE_BUSY|^SQLITE_LOCKED/, 'busy'],
  [/^SQLITE_(FULL|IOERR_SHMSIZE)$/, 'no-room'],
  [
    /^SQLITE_(IOERR_(LOCK|RDLOCK|UNLOCK|CHECKRESERVEDLOCK|SHM(OPEN|MAP|LOCK))|PROTOCOL|NOLFS|NO_SHARED_MEMORY)$/,
    'no-locks',
  ],
]

/** Meaning of SQLite's codes where the file system shows nothing. */
const kindByLastCode: readonly (readonly [code: RegExp, kind: TroubleKind])[] = [
  // An exceeded quota gives this code and no other.
  [/^SQLITE_IOERR_WRITE$/, 'no-room'],
  // Its longer codes have other reasons, which SQLite's own message says.
  [/^SQLITE_READONLY$/, 'read-only'],
  [/^SQLITE_(PERM|AUTH)/, 'denied'],
  [/^SQLITE_IOERR/, 'failing'],
]

/** Whether an error means that a file or its folder cannot be read or written: `troubleOf` says why. */
export function isTrouble(error: unknown): boolean {
  return codesOf(error).some(
    code => code in kindByErrno || /^SQLITE_(?!CONSTRAINT|ERROR|MISUSE|RANGE|MISMATCH|ABORT|INTERRUPT)/.test(code),
  )
}

/**
 * Finds out why a file cannot be used. SQLite's messages ("unable to open database file", "disk I/O error") leave that
 * open, so the file system is asked.
 *
 * @param file the database
 * @param error thrown when it was opened, read or written
 */
export function troubleOf(file: string, error: unknown): FileTrouble {
  const codes = codesOf(error)
  const path = pathOf(error) ?? file
  const own = codes.flatMap(code => kindByErrno[code] ?? [])[0]
  if (own !== undefined) return { kind: own, path }
  const said = kindOf(kindByCode, codes)
  if (said === 'busy' && !hasLocks(dirname(file))) return { kind: 'no-locks', path }
  if (said !== undefined) return { kind: said, path }
  return seenAt(file) ?? { kind: kindOf(kindByLastCode, codes) ?? 'other', path: file }
}

function kindOf(kinds: typeof kindByCode, codes: readonly string[]): TroubleKind | undefined {
  return kinds.find(([pattern]) => codes.some(code => pattern.test(code)))?.[1]
}

function pathOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { path } = error as { path?: unknown }
  return typeof path === 'string' && path !== '' ? path : pathOf(error.cause)
}

/** Trouble visible without opening the file: closing any descriptor of it would release this process's locks on it. */
function seenAt(file: string): FileTrouble | undefined {
  const folder = dirname(file)
  return (
    accessTrouble(folder) ??
    [file, `${file}-wal`, `${file}-shm`].reduce<FileTrouble | undefined>(
      (found, path) => found ?? seenAtFile(path),
      undefined,
    ) ??
    writingTrouble(folder) ??
    attempt(file, tryOpeningMore)
  )
}

function seenAtFile(path: string): FileTrouble | undefined {
  return attempt(path, () => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    if (found) accessSync(path, constants.R_OK | constants.W_OK)
  })
}

/** Why a folder cannot be used, as far as visible without writing to it; `undefined` when it can. */
export function accessTrouble(folder: string): FileTrouble | undefined {
  const { R_OK, W_OK, X_OK } = constants
  return attempt(folder, () => accessSync(folder, R_OK | W_OK | X_OK))
}

/** Why nothing can be written into a folder; `undefined` when it can. */
export function writingTrouble(folder: string): FileTrouble | undefined {
  return attempt(folder, () => tryWriting(join(folder, probeName)))
}

const probeName = '.probe'

/** Writes as much as a page: a full disk may still accept an empty file. */
function tryWriting(path: string): void {
  const descriptor = openSync(path, 'w', 0o600)
  try {
    writeSync(descriptor, Buffer.alloc(4_096, 0x5a))
  } finally {
    closeSync(descriptor)
    unlinkSync(path)
  }
}

/** SQLite needs several descriptors, and has given back those that it got. */
function tryOpeningMore(): void {
  const descriptors: number[] = []
  try {
    for (let more = 0; more < 8; more += 1) descriptors.push(openSync('/dev/null', 'r'))
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor)
  }
}

function attempt(path: string, look: () => void): FileTrouble | undefined {
  try {
    look()
    return undefined
  } catch (error) {
    return { kind: codesOf(error).flatMap(code => kindByErrno[code] ?? [])[0] ?? 'other', path }
  }
}

/** Description of a trouble, to follow the path. */
export const troubleWords: Readonly<Record<TroubleKind, string>> = {
  'read-only': 'the file system is read-only',
  denied: 'this user may not read and write it',
  'no-room': 'there is no room left',
  failing: 'the disk fails to read or write',
  'too-many-files': 'this process has too many files open',
  'no-locks': 'the file system has no working locks or shared memory, as many network file systems',
  'not-a-file': 'a file is expected where a folder is, or a folder where a file is',
  loop: 'symbolic links lead in a circle',
  missing: 'its folder, or what a symbolic link leads to, does not exist',
  busy: 'another process has been writing to it for too long',
  other: 'it cannot be used',
}

/** Instruction for a person. */
export function troubleFix({ kind, path }: FileTrouble): string {
  return fixes[kind](path)
}

const fixes: Readonly<Record<TroubleKind, (path: string) => string>> = {
  'read-only': () => 'make it writable again (mount -o remount,rw); the kernel log (dmesg) says why it is not',
  denied: path =>
    `give it to ${user()}: chown -R ${process.getuid?.() ?? 'USER'} ${there(path)}, or run as its owner (ls -ld ${there(path)})`,
  'no-room': path => (hasInodes(path) ? 'free some room' : 'delete files there: no inode is left (df -i)'),
  failing: () => 'look into the kernel log (dmesg), and move the data folder to a disk that works',
  'too-many-files': () => 'raise the limit (ulimit -n, LimitNOFILE of the service), or end what has them open',
  'no-locks': () => 'put the data folder on a local disk',
  'not-a-file': path => `move what lies at ${path} away`,
  loop: path => `repair the link (ls -l ${path})`,
  missing: path => `make the folder, or repair the link (ls -l ${path})`,
  busy: () => 'end the process that writes, or run this again later',
  other: path => `check the owner and the kind of file (ls -ld ${path})`,
}

/**
 * Whether the file system takes a further file; it also does when it does not say how many.
 *
 * @param path may be one that there is no inode for
 */
export function hasInodes(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(there(path))
    return files === 0 || ffree > 0
  } catch {
    return true
  }
}

/** The path, or the nearest folder above it that is there. */
function there(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : there(dirname(path))
}

function user(): string {
  const id = process.getuid?.()
  return id === undefined ? 'the user that runs this' : `uid ${id}, which runs this`
}

/**
 * Turns an error of a database file into a Fault: the file, why it cannot be used, and what to do.
 *
 * @param subject the file's role, such as `the outbox`
 * @param error thrown when it was opened, read or written; a Fault is returned unchanged
 */
export function fileFault(subject: string, file: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof OtherSchemaError) {
    const fix = otherSchemaFix(file, error)
    return new Fault('outbox-unusable', `cannot use ${subject}: ${error.message}`, { fix, cause: error })
  }
  return troubleFault(subject, file, troubleOf(file, error), error)
}

const otherSchemaFixes: Readonly<Record<OtherSchemaError['madeBy'], string>> = {
  newer: 'run the version of tidegauge that wrote it, or a newer one',
  older:
    'its version was never released: deliver what is due with the tidegauge that wrote it (flush), then move the file aside',
  waiting: 'stop the older tidegauge that works on it: this one then brings the file up to date, and keeps a copy',
  other: 'use another data folder, or move the file',
}

/** Advice about tables of another version. Going back is offered where there is the copy that a newer version made first. */
function otherSchemaFix(file: string, { madeBy, writer }: OtherSchemaError): string {
  if (madeBy !== 'newer') return otherSchemaFixes[madeBy]
  const run = writer === undefined ? otherSchemaFixes.newer : `run tidegauge ${writer} or newer`
  const prefix = `${basename(file)}.before-`
  const copies = readdirSync(dirname(file)).filter(
    name => name.startsWith(prefix) && /^\d+(-2)?$/.test(name.slice(prefix.length)),
  )
  const [copy] = copies.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  return copy === undefined
    ? run
    : `${run}; to go back, move the file and its -wal aside and rename ${copy} to ${basename(file)}`
}

/**
 * Runs work on a database file. Errors of the file or its disk are thrown as a Fault, others unchanged.
 *
 * @param subject the file's role, such as `the outbox`
 */
export function withFileFaults<T>(subject: string, file: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw isTrouble(error) || error instanceof OtherSchemaError ? fileFault(subject, file, error) : error
  }
}

const codes: Readonly<Partial<Record<TroubleKind, FaultCode>>> = {
  'no-room': 'disk-full',
  'read-only': 'database-read-only',
}

/** The Fault of a trouble. */
export function troubleFault(subject: string, file: string, trouble: FileTrouble, cause?: unknown): Fault {
  const { kind, path } = trouble
  const where = path === file ? file : `${file}: ${path}`
  const said = kind === 'other' && cause instanceof Error ? ` (${[cause.message, ...codesOf(cause)].join(', ')})` : ''
  const message = `cannot use ${subject} ${where}: ${troubleWords[kind]}${said}`
  return new Fault(codes[kind] ?? 'outbox-unusable', message, {
    fix: troubleFix(trouble),
    ...(cause === undefined ? {} : { cause }),
  })
}
