import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Anvil {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** One JSON-RPC call; throws the node's error. */
  rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>
  stop(): Promise<void>
}

/**
 * A real EVM node on a port the system picks, mining a block for each transaction.
 *
 * @param genesisSeconds timestamp of block 0
 */
export async function startAnvil(genesisSeconds: number, ...flags: readonly string[]): Promise<Anvil> {
  const child = spawn('anvil', ['--port', '0', '--timestamp', String(genesisSeconds), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', () =>
      reject(new Error('anvil is not on PATH: it comes with `npm ci` on Linux x64, elsewhere install Foundry')),
    )
    closed.then(([code]) => reject(new Error(`anvil ended with ${code} before it listened`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const address = /Listening on (\S+)/.exec(line)?.[1]
      if (address) resolve(`http://${address}`)
    })
    child.stderr.resume()
  })
  return {
    url,
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
