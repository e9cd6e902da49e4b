import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { PostgresAddress } from '../../../src/model/postgres-address.ts'
import { freePort } from '../free-port.ts'
import { findProgram } from '../program.ts'
import { notRoot } from '../unprivileged.ts'

export const poolerPlace = findProgram('pgbouncer', 'pgbouncer', ['/usr/sbin'])

/** Ends the pooler with this process. */
const guard = '"$@" & pooler=$!; read -r line; kill -KILL $pooler; wait $pooler'

/** A real pgbouncer in transaction mode: each transaction may run on another connection to the server. */
export class Pooler {
  readonly #child: ChildProcess
  readonly #folder: string
  /** Address of the database behind it. */
  readonly address: PostgresAddress

  private constructor(child: ChildProcess, folder: string, address: PostgresAddress) {
    this.#child = child
    this.#folder = folder
    this.address = address
  }

  /** @param path of the program */
  static async started(path: string, behind: PostgresAddress): Promise<Pooler> {
    const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
    const port = await freePort()
    const users = join(folder, 'users.txt')
    const settings = join(folder, 'pgbouncer.ini')
    writeFileSync(users, `"${behind.user}" "${behind.password}"\n`)
    writeFileSync(
      settings,
      `[databases]
${behind.database} = host=${behind.host} port=${behind.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = 2
server_round_robin = 1
`,
    )
    for (const file of [folder, users, settings]) {
      chmodSync(file, 0o700)
      if (notRoot.uid !== undefined) chownSync(file, notRoot.uid, notRoot.gid)
    }
    const child = spawn('/bin/sh', ['-c', guard, 'sh', path, settings], {
      ...notRoot,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      createInterface({ input: child.stderr }).on('line', line => {
        if (/process up/.test(line)) resolve()
        if (/ FATAL /.test(line)) reject(new Error(`pgbouncer did not start: ${line}`))
      })
    })
    return new Pooler(child, folder, { ...behind, host: '127.0.0.1', port })
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#child.once('close', resolve))
    this.#child.stdin?.end('\n')
    await closed
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
