import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Anvil {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** One JSON-RPC call; throws the node's error. */
  rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>
  readonly pid: number | undefined
  /** Resolves when the node has ended, for whatever reason. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/**
 * A real EVM node on a port the system picks unless the flags name one, mining a block for each transaction.
 *
 * @param genesisSeconds timestamp of block 0
 */
export async function startAnvil(genesisSeconds: number, ...flags: readonly string[]): Promise<Anvil> {
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const child = spawn('anvil', [...port, '--timestamp', String(genesisSeconds), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Not `events.once`: that rejects where anvil is missing, and nothing would catch it.
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', () =>
      reject(new Error('anvil is not on PATH: it comes with `npm ci` on Linux x64, elsewhere install Foundry')),
    )
    closed.then(code => reject(new Error(`anvil ended with ${code} before it listened`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const address = /Listening on (\S+)/.exec(line)?.[1]
      if (address) resolve(`http://${address}`)
    })
    child.stderr.resume()
  })
  return {
    url,
    pid: child.pid,
    ended: closed.then(() => undefined),
    async rpc<T>(method: string, ...params: readonly unknown[]) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      const answer = (await response.json()) as { result?: T; error?: { message: string } }
      if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
      return answer.result as T
    },
    async stop() {
      child.kill('SIGTERM')
      await closed
    },
  }
}
