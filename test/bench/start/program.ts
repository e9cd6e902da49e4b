import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A daemon that answers. */
export interface StartedDaemon {
  readonly pid: number
  /** From its start until `/livez` answers. */
  readonly readyMs: number
  /** Ends it as an orchestrator does, and waits until it has ended. */
  stop(): Promise<void>
}

/** The command line that is measured: an entry of the program, and a configuration. */
export class Program {
  readonly #entry: string
  readonly #config: string
  readonly #port: number

  /** @param port of its `status.listen`, on 127.0.0.1 */
  constructor(entry: string, config: string, port: number) {
    this.#entry = entry
    this.#config = config
    this.#port = port
  }

  /** Milliseconds until a command has ended; throws unless it ends with one of the codes. */
  ended(command: readonly string[], codes: readonly number[] = [0]): number {
    return endedMs([this.#entry, ...command, '--config', this.#config], codes)
  }

  /** As `ended`, without a configuration. */
  version(): number {
    return endedMs([this.#entry, '--version'], [0])
  }

  /** Milliseconds until a command has printed a line that fits. */
  async printed(command: readonly string[], line: RegExp): Promise<number> {
    const startMs = performance.now()
    const child = spawn(process.execPath, [this.#entry, ...command, '--config', this.#config], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let [text, printedMs] = ['', Number.NaN]
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (Number.isNaN(printedMs) && line.test(text)) printedMs = performance.now() - startMs
    })
    await once(child, 'close')
    if (Number.isNaN(printedMs)) throw new Error(`${command.join(' ')} printed no such line:\n${text}`)
    return printedMs
  }

  async daemon(): Promise<StartedDaemon> {
    const startMs = performance.now()
    const child = spawn(process.execPath, [this.#entry, 'run', '--config', this.#config], { stdio: 'ignore' })
    while (!(await isLive(this.#port))) {
      if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`)
      await sleep(2)
    }
    return { pid: child.pid ?? 0, readyMs: performance.now() - startMs, stop: () => ended(child) }
  }
}

/** Milliseconds until a bare Node has ended. */
export function bareMs(): number {
  return endedMs(['-e', '0'], [0])
}

/** A bare Node that sleeps. */
export function sleepingNode(): Pick<StartedDaemon, 'pid' | 'stop'> {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1e9)'], { stdio: 'ignore' })
  return { pid: child.pid ?? 0, stop: () => ended(child) }
}

/** Resident memory of a process in MB: `VmRSS`, what the page of a container or `ps` shows. */
export function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** Processes that a process has started and that live. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

function endedMs(args: readonly string[], codes: readonly number[]): number {
  const startMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  if (!codes.includes(status ?? -1)) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return performance.now() - startMs
}

async function isLive(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  get({ host: '127.0.0.1', port, path: '/livez', agent: false }, answer => {
    answer.resume()
    resolve(answer.statusCode === 200)
  }).on('error', () => resolve(false))
  return promise
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}
