import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Certificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { findProgram, foldersIn } from './program.ts'

/** Debian keeps the programs of each version in a folder of its own, which is not on PATH. */
const debianFolders = foldersIn('/usr/lib/postgresql').map(folder => join(folder, 'bin'))

export const postgresPlace = findProgram('initdb', 'postgresql', debianFolders)

export const postgresPassword = 'pass word/of?the#test'

export interface PostgresServer {
  readonly port: number
  /** Address of the superuser `owner`, its password percent-encoded, followed by parameters. */
  address(parameters?: string): string
  stop(): Promise<void>
}

/** It refuses to run as root: then it runs as another user. */
const runAs = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A real PostgreSQL server on loopback that asks for a password and offers TLS; it keeps nothing safe from a crash. */
export async function startPostgres(initdb: string, certificate: Certificate): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    own(join(folder, name), 0o600)
    return join(folder, name)
  }
  own(folder, 0o700)
  const data = join(folder, 'data')
  mkdirSync(data)
  own(data, 0o700)
  const password = file('password', postgresPassword)
  const made = ['-D', data, '-U', 'owner', '-A', 'scram-sha-256', `--pwfile=${password}`, '-E', 'UTF8', '--no-sync']
  execFileSync(initdb, [...made, '--locale=C'], { ...runAs, cwd: folder, stdio: 'ignore' })
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: file('cert.pem', certificate.cert),
    ssl_key_file: file('key.pem', certificate.key),
    // Not UTC, so that a query that depends on it shows.
    timezone: 'Asia/Tokyo',
    shared_buffers: '16MB',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(dirname(initdb), 'postgres'), ['-D', data, '-p', String(port), ...flags], {
    ...runAs,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    closed.then(code => reject(new Error(`postgres ended with ${code} before it listened`)))
    createInterface({ input: child.stderr }).on('line', line => {
      if (line.includes('ready to accept connections')) resolve()
    })
  })
  return {
    port,
    address: (parameters = '') =>
      `postgres://owner:${encodeURIComponent(postgresPassword)}@127.0.0.1:${port}/postgres${parameters}`,
    async stop() {
      child.kill('SIGINT')
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function own(path: string, mode: number): void {
  chmodSync(path, mode)
  if (runAs.uid !== undefined) chownSync(path, runAs.uid, runAs.gid)
}
