import {
  type Address,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  numberToHex,
} from 'viem'
import { multicall3Address } from '../../src/chain/read/read-memory.ts'
import { type ChainReaderDeps, createChainReader, type OpenChainReader } from '../../src/chain/read/reader.ts'
import { Anvil } from '../../src/devchain/anvil.ts'
import { type Artifact, artifact } from '../../src/devchain/contracts.ts'
import type { Deployed } from '../../src/devchain/miner.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { EarliestMs } from '../../src/model/clock.ts'
import { type Hour, hourAfter, hourAt } from '../../src/model/hour.ts'
import { type FakeNode, forwardingTo, startNode } from '../chain/support/node.ts'

interface Sent {
  /** Default: the owner. */
  readonly from?: Address
  /** In wei. */
  readonly value?: bigint
}

const firstHour = hourAt(Date.UTC(2026, 10, 20, 13))

/** A node on which a protocol's own contracts are deployed and used, each transaction in a block of its own. */
export class ProtocolChain {
  /** Of a server before the node, which counts. */
  readonly url: string
  readonly owner: Address
  readonly others: readonly Address[]
  readonly #anvil: Anvil
  readonly #id: number
  readonly #proxy: FakeNode
  readonly #blocks = new Map<Hour, number>()
  /** Of the last block. */
  #seconds: number
  #block = 0

  private constructor(
    anvil: Anvil,
    proxy: FakeNode,
    { id, seconds }: { readonly id: number; readonly seconds: number },
    [owner, ...others]: readonly Address[],
  ) {
    if (!owner) throw new Error('the node has no accounts')
    this.#anvil = anvil
    this.#id = id
    this.#seconds = seconds
    this.#proxy = proxy
    this.url = proxy.url
    this.owner = owner
    this.others = others
  }

  /** Begins within the hour before the first: 2026-11-20T13:00:00Z, where no other is given. */
  static async start(id = 31_337, first = firstHour): Promise<ProtocolChain> {
    const seconds = first / 1000 - 3_000
    const anvil = await Anvil.start(seconds, ['--no-mining', '--chain-id', String(id)])
    const proxy = await startNode(forwardingTo(anvil.url))
    const chain = new ProtocolChain(anvil, proxy, { id, seconds }, await anvil.rpc<Address[]>('eth_accounts'))
    const { address } = await chain.deploy(artifact('Multicall3'))
    await anvil.rpc('anvil_setCode', multicall3Address, await anvil.rpc<Hex>('eth_getCode', address, 'latest'))
    return chain
  }

  async deploy({ abi, bytecode }: Artifact, args: readonly unknown[] = []): Promise<Deployed> {
    const nonce = await this.#anvil.rpc<Hex>('eth_getTransactionCount', this.owner, 'latest')
    await this.#transact({ from: this.owner, data: encodeDeployData({ abi, bytecode, args }) })
    return { address: getContractAddress({ from: this.owner, nonce: BigInt(nonce) }), abi }
  }

  /** @throws Error when the transaction reverts */
  async send({ address, abi }: Deployed, functionName: string, args: readonly unknown[] = [], sent: Sent = {}) {
    const { from = this.owner, value = 0n } = sent
    const data = encodeFunctionData({ abi, functionName, args })
    await this.#transact({ from, to: address, value: numberToHex(value), data })
  }

  /** Result of a function at the end of an hour, or now. */
  async read<T = bigint>(
    { address, abi }: Deployed,
    functionName: string,
    args: readonly unknown[] = [],
    hour?: Hour,
  ): Promise<T> {
    const data = encodeFunctionData({ abi, functionName, args })
    const block = hour === undefined ? 'latest' : numberToHex(this.#blocks.get(hour) ?? -1)
    const output = await this.#anvil.rpc<Hex>('eth_call', { to: address, data }, block)
    return decodeFunctionResult({ abi, functionName, args, data: output }) as T
  }

  /** Time passes until the next full hour, on which a block stands. Returns the hour. */
  async nextHour(): Promise<Hour> {
    const hour = hourAfter(hourAt(this.#seconds * 1000), 1)
    await this.#mine(hour / 1000)
    this.#blocks.set(hour, this.#block)
    return hour
  }

  /** Result: replaces all blocks from now on, as a reorg does. */
  async replaceable(): Promise<() => Promise<void>> {
    const [seconds, block] = [this.#seconds, this.#block]
    const id = await this.#anvil.rpc('evm_snapshot')
    return async () => {
      await this.#anvil.rpc('evm_revert', id)
      this.#seconds = seconds
      this.#block = block
    }
  }

  reader(name: string, more: Partial<ChainReaderDeps> = {}): OpenChainReader {
    const earliestMs = () => (more.time ?? systemTime).nowMs() as EarliestMs
    return createChainReader({ name, id: this.#id, endpoints: [this.url], time: systemTime, earliestMs, ...more })
  }

  /** Methods of each request of readers so far. */
  get requests(): readonly (readonly string[])[] {
    return this.#proxy.requests
  }

  /** Number of `eth_call`s of readers that this work costs. */
  async ethCalls(work: () => Promise<unknown>): Promise<number> {
    const before = this.#proxy.requests.length
    await work()
    const methods = this.#proxy.requests.slice(before).flat()
    return methods.filter(method => method === 'eth_call').length
  }

  async stop(): Promise<void> {
    await this.#proxy.stop()
    await this.#anvil.stop()
  }

  async #transact(transaction: Readonly<Record<string, string>>): Promise<void> {
    // The limit is not estimated: a call may need more in the block than where it was estimated.
    const hash = await this.#anvil.rpc<Hex>('eth_sendTransaction', { gas: numberToHex(15_000_000), ...transaction })
    await this.#mine(this.#seconds + 1)
    const receipt = await this.#anvil.rpc<{ readonly status: Hex } | null>('eth_getTransactionReceipt', hash)
    if (receipt?.status === '0x1') return
    const { to = 'a deployment', data = '' } = transaction
    const why = await this.#anvil.rpc('eth_call', transaction, 'latest').catch((error: Error) => error.message)
    throw new Error(`${data.slice(0, 10)} of ${to} reverted: ${why}`)
  }

  async #mine(seconds: number): Promise<void> {
    await this.#anvil.rpc('evm_setNextBlockTimestamp', seconds)
    await this.#anvil.rpc('evm_mine')
    this.#seconds = seconds
    this.#block += 1
  }
}
