import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { endWithThis } from '../edge/end-with-this.ts'
import { HttpExchange } from '../edge/http-exchange.ts'
import { systemTime } from '../edge/time.ts'
import { unlessAborted } from '../edge/unless-aborted.ts'
import { jsonOf } from '../model/json.ts'

const answerBytesMax = 64 * 1_048_576

/** A real EVM node in a process of its own, which does not outlive this one. */
export class Anvil {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Resolves when the node has ended, for whatever reason. */
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #http: HttpExchange

  private constructor(url: string, child: ChildProcess, ended: Promise<void>) {
    this.url = url
    this.ended = ended
    this.#child = child
    this.#http = new HttpExchange({ url, connections: 10, time: systemTime })
  }

  /**
   * Starts a node on a port that the system picks unless the flags name one. It mines a block for each transaction.
   *
   * @param genesisSeconds timestamp of block 0
   * @throws Error when there is no anvil, or it ends before it listens; the signal's reason
   */
  static async start(
    genesisSeconds: number,
    flags: readonly string[] = [],
    signal = new AbortController().signal,
  ): Promise<Anvil> {
    const program = anvilProgram()
    const port = flags.includes('--port') ? [] : ['--port', '0']
    // It keeps states that it has no memory for, 250 KB each, and never removes them.
    const states = await mkdtemp(join(tmpdir(), 'tidegauge-chain-'))
    // In a group of its own, which is what ends: a package of npm puts a script before the program, and Ctrl-C is for us.
    const own = [...port, '--cache-path', states, '--timestamp', String(genesisSeconds)]
    const child = spawn(program, [...own, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    endWithThis(child, 'group')
    // Not `events.once`: that rejects where it cannot be started, and nothing would catch it.
    const exit = new Promise<number | null>(resolve => child.once('close', resolve))
    const cleanup = exit.then(() => rm(states, { recursive: true, force: true }))
    try {
      const url = await unlessAborted(listening(child, exit), signal)
      return new Anvil(url, child, cleanup)
    } catch (error) {
      kill(child)
      await cleanup
      throw error
    }
  }

  /** One JSON-RPC call; throws the node's error. */
  async rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const { text = '' } = await this.#http.ask({ method: 'POST', path: '/', headers, body, bytesMax: answerBytesMax })
    const answer = jsonOf(text) as { readonly result?: T; readonly error?: { readonly message: string } }
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result as T
  }

  async stop(): Promise<void> {
    kill(this.#child)
    await Promise.all([this.ended, this.#http.close()])
  }
}

/**
 * The program: of the packages of this folder or one above it, or on PATH.
 *
 * @throws Error when there is none
 */
function anvilProgram(folder = process.cwd()): string {
  const ofPackages = join(folder, 'node_modules/.bin/anvil')
  if (existsSync(ofPackages)) return ofPackages
  if (dirname(folder) !== folder) return anvilProgram(dirname(folder))
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map(each => resolve(each, 'anvil'))
  const found = onPath.find(existsSync)
  if (found !== undefined) return found
  throw new Error(
    'the local chain needs anvil, and there is none: npm install --save-dev @foundry-rs/anvil brings it into this folder, and https://getfoundry.sh onto this machine',
  )
}

/** Its address, as soon as it listens. */
function listening(child: ChildProcess, exit: Promise<number | null>): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    let last = ''
    child.once('error', error => reject(new Error(`anvil cannot be started: ${error.message}`)))
    void exit.then(code => reject(new Error(`anvil ended with ${code} before it listened${last && `: ${last}`}`)))
    for (const output of [child.stdout, child.stderr]) {
      if (!output) continue
      createInterface({ input: output }).on('line', line => {
        last = line.trim() || last
        const address = /Listening on (\S+)/.exec(line)?.[1]
        if (address) resolve(`http://${address}`)
      })
    }
  })
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM')
  } catch {
    // It has ended.
  }
}
