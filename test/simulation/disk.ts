import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { ballastBytes } from '../../src/outbox/sqlite/file/disk.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'

type Sqlite = Database.Database

interface Statement {
  readonly database: Sqlite
  readonly source: string
  run(...values: unknown[]): unknown
}

/** Who decides about every durable step on one file: throws when it must not be done, or when it was the last one. */
export interface StepWatch {
  before(database: Sqlite): void
  after(database: Sqlite): void
}

const watches = new Map<string, StepWatch>()

/**
 * Every durable step of a database, a commit or a write outside of a transaction, goes through the `run` of a prepared
 * statement: there it is seen, and there the process can be stopped.
 */
function watchSteps(): void {
  const database = new Database(':memory:')
  const prototype: Statement = Object.getPrototypeOf(database.prepare('SELECT 1'))
  database.close()
  const { run } = prototype
  prototype.run = function (this: Statement, ...values) {
    const { database } = this
    const kind = kindOf(this)
    const isDurable = database.inTransaction ? kind === 'commit' : kind !== 'begin'
    const watch = isDurable ? watches.get(database.name) : undefined
    watch?.before(database)
    const result = run.apply(this, values)
    watch?.after(database)
    return result
  }
}

const kinds = new WeakMap<Statement, 'begin' | 'commit' | 'other'>()

/** Remembered, since there are many runs of few statements. */
function kindOf(statement: Statement): 'begin' | 'commit' | 'other' {
  const known = kinds.get(statement)
  if (known) return known
  const { source } = statement
  const kind = source.startsWith('BEGIN') ? 'begin' : source === 'COMMIT' ? 'commit' : 'other'
  kinds.set(statement, kind)
  return kind
}

watchSteps()

/** In memory where there is room for it: what is promised of the disk is scripted. */
function place(): string {
  const { bavail, bsize } = existsSync('/dev/shm') ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 }
  return bavail * bsize > 8 * ballastBytes ? '/dev/shm' : tmpdir()
}

const folder = mkdtempSync(join(place(), 'tidegauge-simulation-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** An empty outbox, so that not every world has to make its schema. */
const template = join(folder, 'template.db')
new SqliteOutbox(template).close()

const endings = ['', '-wal']

/** The disk under the file: it survives the process, and a power cut takes back what was not waited for. */
export class Disk {
  readonly file: string
  readonly #folder: string
  /** The files as they are certain to be found after a power cut. */
  readonly #safe: string
  readonly #ballast: string

  constructor(seed: number) {
    this.#folder = join(folder, `${seed}`)
    mkdirSync(this.#folder)
    this.file = join(this.#folder, 'outbox.db')
    this.#safe = join(this.#folder, 'safe.db')
    this.#ballast = join(this.#folder, 'ballast')
    copyFileSync(template, this.file)
    this.makeBallast()
  }

  watch(watch: StepWatch): void {
    watches.set(this.file, watch)
  }

  /** As upkeep makes it, though of no room: writing it would take long. */
  makeBallast(): void {
    closeSync(openSync(this.#ballast, 'a'))
    truncateSync(this.#ballast, ballastBytes)
  }

  get hasBallast(): boolean {
    return existsSync(this.#ballast)
  }

  /** All that was committed is on disk for good. */
  sync(): void {
    copy(this.file, this.#safe)
  }

  /** Leaves only what was synced. No process may have the file open. */
  cutPower(): void {
    rmSync(`${this.file}-shm`, { force: true })
    copy(this.#safe, this.file)
  }

  remove(): void {
    watches.delete(this.file)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function copy(from: string, to: string): void {
  for (const ending of endings) {
    rmSync(`${to}${ending}`, { force: true })
    if (existsSync(`${from}${ending}`)) copyFileSync(`${from}${ending}`, `${to}${ending}`)
  }
}

/** Whether the commit that was just made waited for the disk. */
export function isSynced(database: Sqlite): boolean {
  return database.pragma('synchronous', { simple: true }) === 2
}

/** As SQLite says it. */
export function diskIsFull(): Error {
  return new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
}
