import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { numberToHex } from 'viem'
import { onTestFinished } from 'vitest'
import { multicall3Address } from '../../src/chain/read/read-memory.ts'
import { Anvil } from '../../src/devchain/anvil.ts'
import { artifact } from '../../src/devchain/contracts.ts'
import type { Hex } from '../../src/model/block.ts'
import { freePort } from './free-port.ts'

/** EVM nodes that others wrote. Hardhat and ganache are installed by `npm ci --prefix test/nodes`, anvil by `npm ci`. */
export type NodeName = 'anvil' | 'hardhat' | 'ganache'

const folder = fileURLToPath(new URL('../nodes/', import.meta.url))

/**
 * Whether the nodes of `test/nodes` are installed.
 * @throws Error when they are not and `REQUIRE_SERVERS=1` says that they must be
 */
export function hasNodes(): boolean {
  const found = existsSync(join(folder, 'node_modules'))
  if (!found && process.env['REQUIRE_SERVERS'] === '1') throw new Error('run npm ci --prefix test/nodes')
  return found
}

/** A node of its own process, which ends with the test. It mines only what the test says. */
export class RealNode {
  readonly name: NodeName
  readonly url: string
  #sender: Hex | undefined

  private constructor(name: NodeName, url: string) {
    this.name = name
    this.url = url
  }

  /** @param flags of anvil or ganache; Hardhat takes those of its task `node` */
  static async start(name: NodeName, genesisSeconds: number, ...flags: readonly string[]): Promise<RealNode> {
    if (name !== 'anvil') return new RealNode(name, await startProgram(name, genesisSeconds, flags))
    const anvil = await Anvil.start(genesisSeconds, flags)
    onTestFinished(() => anvil.stop())
    return new RealNode(name, anvil.url)
  }

  /** One JSON-RPC call; throws the node's error. */
  async rpc<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answer = (await response.json()) as { result?: T; error?: { message: string } }
    if (answer.error) throw new Error(`${this.name}: ${method}: ${answer.error.message}`)
    return answer.result as T
  }

  async sender(): Promise<Hex> {
    this.#sender ??= (await this.rpc<Hex[]>('eth_accounts'))[0]
    if (!this.#sender) throw new Error('the node has no accounts')
    return this.#sender
  }

  /** Mines a block with a timestamp, and with a transaction where one is given. Returns the block's number. */
  async mine(seconds: number, transaction?: { readonly to?: Hex; readonly data: Hex }): Promise<bigint> {
    if (transaction) {
      const sent = {
        from: await this.sender(),
        gas: '0x300000',
        gasPrice: numberToHex(100_000_000_000n),
        ...transaction,
      }
      await this.rpc(
        this.name === 'ganache' ? 'miner_stop' : 'evm_setAutomine',
        ...(this.name === 'ganache' ? [] : [false]),
      )
      await this.rpc('eth_sendTransaction', sent)
    }
    if (this.name === 'ganache') await this.rpc('evm_mine', seconds)
    else {
      await this.rpc('evm_setNextBlockTimestamp', seconds)
      await this.rpc('evm_mine')
    }
    return BigInt(await this.rpc<Hex>('eth_blockNumber'))
  }

  /** Puts Multicall3 where every chain has it. Blocks mined before do not have it. */
  async placeMulticall3(): Promise<void> {
    const code = await this.rpc<Hex>('eth_call', { data: artifact('Multicall3').bytecode }, 'latest')
    const method = { anvil: 'anvil_setCode', hardhat: 'hardhat_setCode', ganache: 'evm_setAccountCode' }[this.name]
    await this.rpc(method, multicall3Address, code)
  }
}

/** @returns the node's address */
async function startProgram(
  name: Exclude<NodeName, 'anvil'>,
  genesisSeconds: number,
  flags: readonly string[],
): Promise<string> {
  const port = String(await freePort())
  const time = new Date(genesisSeconds * 1000).toISOString()
  const args = {
    ganache: ['--server.host', '127.0.0.1', '--server.port', port, '--chain.chainId', '31337', '--chain.time', time],
    hardhat: ['node', '--hostname', '127.0.0.1', '--port', port],
  }[name]
  const child = spawn(join(folder, 'node_modules/.bin', name), [...args, ...flags], {
    cwd: folder,
    env: { ...process.env, GENESIS_SECONDS: String(genesisSeconds), HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  onTestFinished(() => {
    child.kill('SIGKILL')
    return closed
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    void closed.then(() => reject(new Error(`${name} ended before it listened`)))
    createInterface({ input: child.stdout }).on('line', line => {
      if (/listening on|Started HTTP/i.test(line)) resolve()
    })
  })
  return `http://127.0.0.1:${port}`
}
