import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { writeConfig } from '../chain/configured.ts'
import type { Place } from '../delivery/place.ts'

/** As it is shipped: from source, each start of a daemon costs seconds of a processor. */
const main = fileURLToPath(new URL('../../../dist/bin.cjs', import.meta.url))
if (!existsSync(main)) throw new Error(`there is no ${main}: npm run build makes it`)

/** Where a daemon of the fleet finds what it works with. */
export interface MemberUrls {
  readonly rpc: string
  readonly service: string
  /** Of the database. */
  readonly address: string
}

/** A line of a daemon's log that is waited for. */
interface Awaited {
  readonly words: string
  readonly resolve: (atMs: number) => void
}

/** A daemon of the fleet, under a name. It may be killed and started again. */
export class Member {
  readonly #file: string
  readonly #env: NodeJS.ProcessEnv
  readonly #log: string
  #child: ChildProcess | undefined
  readonly #awaited = new Set<Awaited>()

  /** @param collectors how many it is configured with */
  constructor(place: Place, name: string, { address, ...urls }: MemberUrls, collectors?: number) {
    this.#file = place.file(`${name}.json`)
    this.#log = place.file(`${name}.log`)
    this.#env = { ...process.env, BENCH_KEY: 'bench-key', DATABASE_URL: address }
    writeConfig(this.#file, urls, collectors)
    const config = JSON.parse(readFileSync(this.#file, 'utf8'))
    const own = {
      data: { postgres: { env: 'DATABASE_URL' } },
      fleet: { name, folder: `./${name}` },
      log: { level: 'info' },
    }
    writeFileSync(this.#file, JSON.stringify({ ...config, ...own }))
  }

  /** Resolves when it runs. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [main, 'run', '--config', this.#file], {
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    const running = this.logged('"running"')
    createInterface({ input: child.stderr }).on('line', line => this.#hear(line))
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('a daemon ended before it ran')))
    ended.catch(() => {})
    await Promise.race([running, ended])
  }

  /** Resolves with the instant at which it logs some words from now on, in milliseconds of the steady clock. */
  logged(words: string): Promise<number> {
    return new Promise(resolve => this.#awaited.add({ words, resolve }))
  }

  #hear(line: string): void {
    for (const awaited of this.#awaited) {
      if (!line.includes(awaited.words)) continue
      this.#awaited.delete(awaited)
      awaited.resolve(performance.now())
    }
  }

  /** Sends it a signal, and resolves when it has ended. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  /** Runs a backfill to its end, which must be a good one. @param range words of the command */
  async backfill(range: readonly string[]): Promise<void> {
    const output = openSync(this.#log, 'a')
    const child = spawn(process.execPath, [main, 'backfill', '--config', this.#file, ...range], {
      env: this.#env,
      stdio: ['ignore', output, output],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`the backfill ended with ${code}: ${readFileSync(this.#log, 'utf8').slice(-2_000)}`)
  }
}
