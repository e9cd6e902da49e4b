import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Role, startRole } from '../role.ts'

/** Where a part of the benchmark runs: a folder, and processes that end with it. */
export class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'))
  readonly #errors = join(this.folder, 'stderr.log')
  readonly #descriptor = openSync(this.#errors, 'a')
  readonly #roles: Role[] = []

  /** A file of this place that is not there yet. */
  file(name: string): string {
    return join(this.folder, name)
  }

  /** Starts one of the processes in `roles`; what it logs goes to a file, as a daemon's log does. */
  start(script: string, ...args: (string | number)[]): Role {
    const role = startRole(new URL(`roles/${script}`, import.meta.url), args.map(String), this.#descriptor)
    this.#roles.push(role)
    return role
  }

  /** Runs one of the processes in `roles` to its end, for the one line it prints. */
  async run<T>(script: string, ...args: (string | number)[]): Promise<T> {
    const role = this.start(script, ...args)
    const said = await role.readLine<T>().catch(error => {
      throw new Error(`${error.message}: ${this.lastErrors()}`)
    })
    await role.stop()
    return said
  }

  /** Runs a script under `strace`, which writes the syncs it sees to a file; throws when the script fails. */
  trace(log: string, args: readonly string[]): void {
    const flags = ['-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', log]
    const stdio = ['ignore', 'ignore', this.#descriptor] as const
    const { status } = spawnSync('strace', [...flags, process.execPath, ...args], { stdio: [...stdio] })
    if (status !== 0) throw new Error(`strace ended with ${status}: ${this.lastErrors()}`)
  }

  /** Last output of the processes on stderr. */
  lastErrors(): string {
    return readFileSync(this.#errors, 'utf8').split('\n').slice(-20).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#roles.map(role => role.stop()))
    rmSync(this.folder, { recursive: true })
  }
}

/** A sink: a process that says yes to every push. */
export interface Sink {
  readonly url: string
  /** Throws when it has not been given exactly this many metrics since the last look. */
  expect(metrics: number): Promise<void>
  /** Resolves when it has been given that many metrics, or more, since the last look; looks often. */
  until(metrics: number): Promise<void>
  /** Forgets what it was given. */
  forget(): Promise<void>
  /** Lets it answer after a while, from now on. */
  delay(ms: number): Promise<void>
}

/** Starts a sink that answers at once. */
export async function startSink(place: Place): Promise<Sink> {
  const role = place.start('sink.ts')
  const { url } = await role.readLine<{ url: string }>()
  const given = async (wanted: { readonly delayMs?: number } = {}) => {
    role.writeLine(wanted)
    return (await role.readLine<{ metrics: number }>()).metrics
  }
  return {
    url,
    async expect(metrics) {
      const found = await given()
      if (found !== metrics) throw new Error(`the sink was given ${found} metrics, not ${metrics}`)
    },
    async until(metrics) {
      for (let found = 0; found < metrics; found += await given()) await sleep(50)
    },
    forget: async () => void (await given()),
    delay: async delayMs => void (await given({ delayMs })),
  }
}
