import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import type { Certificate } from '../certificate.ts'
import { freePort } from '../free-port.ts'
import { notRoot } from '../unprivileged.ts'

export const postgresPassword = 'pass word/of?the#test'

/** Settings of a server, by their names in `postgresql.conf`. */
export type PostgresSettings = Readonly<Record<string, string>>

/**
 * Runs the server until this process ends, however it ends: then its standard input ends, and the server is stopped at
 * once, and its folder removed.
 */
const guard = `folder="$1"; shift; "$@" & server=$!; read -r line; kill -QUIT $server; wait $server; [ "$line" = keep ] || rm -rf "$folder"`

/** A real PostgreSQL server on loopback that asks for a password. Its commits survive a crash. */
export class PostgresServer {
  readonly port: number
  readonly #initdb: string
  readonly #folder: string
  readonly #settings: PostgresSettings
  #child: ChildProcess | undefined

  private constructor(initdb: string, folder: string, port: number, settings: PostgresSettings) {
    this.#initdb = initdb
    this.#folder = folder
    this.port = port
    this.#settings = settings
  }

  /**
   * @param initdb path of the program
   * @param certificate lets it offer TLS
   */
  static async started(
    initdb: string,
    { certificate, settings }: { readonly certificate?: Certificate; readonly settings?: PostgresSettings } = {},
  ): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
    own(folder, 0o700)
    const password = file(folder, 'password', postgresPassword)
    mkdirSync(join(folder, 'data'))
    own(join(folder, 'data'), 0o700)
    const made = ['-D', join(folder, 'data'), '-U', 'owner', '-A', 'scram-sha-256', `--pwfile=${password}`]
    const shape = ['-E', 'UTF8', '--locale=C', '--no-sync']
    execFileSync(initdb, [...made, ...shape], { ...notRoot, cwd: folder, stdio: 'ignore' })
    const tls = certificate && {
      ssl: 'on',
      ssl_cert_file: file(folder, 'cert.pem', certificate.cert),
      ssl_key_file: file(folder, 'key.pem', certificate.key),
    }
    const server = new PostgresServer(initdb, folder, await freePort(), { ...tls, ...settings })
    await server.start()
    return server
  }

  /** A standby of this server, which follows it; it needs the program `pg_basebackup`. */
  async standby(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
    own(folder, 0o700)
    const program = join(dirname(this.#initdb), 'pg_basebackup')
    const from = ['-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'owner']
    execFileSync(program, [...from, '-D', join(folder, 'data'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync'], {
      ...notRoot,
      cwd: folder,
      stdio: 'ignore',
      env: { ...process.env, PGPASSWORD: postgresPassword },
    })
    const standby = new PostgresServer(this.#initdb, folder, await freePort(), this.#settings)
    await standby.start()
    return standby
  }

  /** Resolves when a standby has all that its primary has committed. */
  async caughtUpWith(primary: PostgresServer): Promise<void> {
    const [now] = await primary.query('SELECT pg_current_wal_flush_lsn()::text AS lsn')
    for (let isThere: unknown = false; isThere !== true; ) {
      const [row] = await this.query('SELECT pg_last_wal_receive_lsn() >= $1::pg_lsn AS is_there', [now?.['lsn']])
      isThere = row?.['is_there']
    }
  }

  /** Makes a standby the primary. It resolves when the server says that it can be written. */
  async promote(): Promise<void> {
    const isWritable = new Promise<void>(resolve => {
      this.#child?.stderr?.on('data', chunk => {
        if (`${chunk}`.includes('ready to accept connections')) resolve()
      })
    })
    // Without `false` the statement waits for the last of the log, which may wait for the statement.
    await this.query('SELECT pg_promote(false)')
    await isWritable
  }

  /** Starts it after `kill` or `pause`, on the same data. @param more settings of this run */
  async start(more: PostgresSettings = {}): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // Not UTC, so that a query that depends on it shows.
      timezone: 'Asia/Tokyo',
      shared_buffers: '32MB',
      ...this.#settings,
      ...more,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const program = [join(dirname(this.#initdb), 'postgres'), '-D', join(this.#folder, 'data'), '-p', `${this.port}`]
    const child = spawn('/bin/sh', ['-c', guard, 'sh', this.#folder, ...program, ...flags], {
      ...notRoot,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    // It is written to when the server has ended already.
    child.stdin.on('error', () => {})
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      // A client that comes too early is refused with such a line, too.
      let fatal = ''
      child.once('error', reject)
      child.once('close', () => reject(new Error(`postgres did not start: ${fatal}`)))
      createInterface({ input: child.stderr }).on('line', line => {
        if (/ready to accept (read-only )?connections/.test(line)) resolve()
        if (line.includes('FATAL:')) fatal = line
      })
    })
  }

  /** Address of a database for the superuser `owner`, its password percent-encoded, followed by parameters. */
  address(parameters = '', database = 'postgres'): string {
    return `postgres://owner:${encodeURIComponent(postgresPassword)}@127.0.0.1:${this.port}/${database}${parameters}`
  }

  /** Runs statements of the superuser. @returns the rows of the last */
  async query(
    text: string,
    values: readonly unknown[] = [],
    database = 'postgres',
  ): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.address('', database))
    client.on('error', () => {})
    await client.connect()
    try {
      const result = await client.query(text, [...values])
      return result.rows
    } finally {
      await client.end()
    }
  }

  /** Ends it as a crash does (`SIGKILL`). */
  async kill(): Promise<void> {
    const [pid] = readFileSync(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
    await this.#ended('keep')
  }

  /** Stops it at once, and keeps its data for `start`. */
  async pause(): Promise<void> {
    await this.#ended('keep')
  }

  /** Stops it, and removes its data. */
  async stop(): Promise<void> {
    await this.#ended('')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #ended(word: string): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    const closed = new Promise(resolve => child.once('close', resolve))
    child.stdin?.end(`${word}\n`)
    await closed
  }
}

function file(folder: string, name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  own(join(folder, name), 0o600)
  return join(folder, name)
}

function own(path: string, mode: number): void {
  chmodSync(path, mode)
  if (notRoot.uid !== undefined) chownSync(path, notRoot.uid, notRoot.gid)
}
