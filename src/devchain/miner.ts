import type { Abi, Address, Hex, RpcTransactionReceipt } from 'viem'
import { decodeFunctionResult, encodeDeployData, encodeFunctionData, getAddress, numberToHex } from 'viem'
import type { Anvil } from './anvil.ts'
import type { Artifact } from './contracts.ts'

/** A transaction of one of the node's unlocked accounts. */
export interface Action {
  readonly from: Address
  readonly to: Address
  /** In wei. */
  readonly value?: bigint
  readonly input?: Hex
  /** Gas limit. */
  readonly gas?: number
}

const gasDefault = 500_000

// Said, because what the node proposes depends on how far its fee history is: the same past would differ by some wei.
const fees = { maxFeePerGas: numberToHex(2_000_000_000), maxPriorityFeePerGas: '0x0' }

/** A deployed contract. */
export interface Deployed {
  readonly address: Address
  readonly abi: Abi
}

/** Writes a chain block by block, each with its own timestamp; a node started with `--no-mining` does nothing else. */
export class Miner {
  /** Timestamp of the last block, in seconds since 1970. */
  lastSeconds: number
  readonly #anvil: Anvil

  constructor(anvil: Anvil, genesisSeconds: number) {
    this.#anvil = anvil
    this.lastSeconds = genesisSeconds
  }

  /** @throws Error when the timestamp does not follow the last block's */
  async mine(timestampSeconds: number, actions: readonly Action[]): Promise<void> {
    if (timestampSeconds <= this.lastSeconds) throw new Error(`a block at ${timestampSeconds} comes too late`)
    // One after another: two accounts' transactions stand in a block in the order in which they arrive.
    for (const action of actions) await this.#send(action)
    await this.#anvil.rpc('evm_setNextBlockTimestamp', timestampSeconds)
    await this.#anvil.rpc('evm_mine')
    this.lastSeconds = timestampSeconds
  }

  /** In a block of its own, a second after the last. */
  async deploy(from: Address, { abi, bytecode }: Artifact, args: readonly unknown[] = []): Promise<Deployed> {
    const data = encodeDeployData({ abi, bytecode, args })
    const hash = await this.#submit({ from, data, gas: numberToHex(6_000_000) })
    await this.mine(this.lastSeconds + 1, [])
    const receipt = await this.#anvil.rpc<RpcTransactionReceipt | null>('eth_getTransactionReceipt', hash)
    const address = receipt?.contractAddress
    if (!address || (await this.#anvil.rpc('eth_getCode', address, 'latest')) === '0x')
      throw new Error('a deployment failed')
    return { address: getAddress(address), abi }
  }

  /** A view call at the latest block. */
  async read({ address, abi }: Deployed, functionName: string, args: readonly unknown[] = []): Promise<unknown> {
    const data = encodeFunctionData({ abi, functionName, args })
    const output = await this.#anvil.rpc<Hex>('eth_call', { to: address, data }, 'latest')
    return decodeFunctionResult({ abi, functionName, args, data: output })
  }

  async #send({ from, to, value = 0n, input = '0x', gas = gasDefault }: Action): Promise<void> {
    await this.#submit({ from, to, value: numberToHex(value), data: input, gas: numberToHex(gas) })
  }

  /** The node chooses the nonce: a user may send from the same accounts. @returns the transaction's hash */
  async #submit(transaction: Readonly<Record<string, string>>): Promise<Hex> {
    return this.#anvil.rpc('eth_sendTransaction', { ...transaction, ...fees })
  }
}

/** A call of a contract, as an action. */
export function call(from: Address, { address, abi }: Deployed, functionName: string, ...args: readonly unknown[]) {
  return { from, to: address, input: encodeFunctionData({ abi, functionName, args }) } satisfies Action
}
