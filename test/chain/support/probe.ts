import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { encodeFunctionData, parseAbi } from 'viem'
import { z } from 'zod'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import type { Anvil } from '../../../src/devchain/anvil.ts'
import type { Hex } from '../../../src/model/block.ts'

const require = createRequire(import.meta.url)

export const probeAbi = parseAbi([
  'error TooLow(uint256 have, uint256 need)',
  'event Stored(address indexed by, uint256 amount)',
  'function stored() view returns (uint256)',
  'function pair() view returns (uint256 amount, address self)',
  'function plus(uint256 more) view returns (uint256)',
  'function plus(uint256 more, uint256 evenMore) view returns (uint256)',
  'function divided(uint256 by) view returns (uint256)',
  'function refusesInWords() view returns (uint256)',
  'function refusesByError() view returns (uint256)',
  'function refusesSilently() view returns (uint256)',
  'function caller() view returns (address)',
  'function usesAllGas() view returns (uint256)',
  'function store(uint256 amount)',
])

/** First of anvil's unlocked accounts. */
export const sender: Hex = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const compiled = z.object({
  contracts: z.object({
    'Probe.sol': z.object({ Probe: z.object({ evm: z.object({ bytecode: z.object({ object: z.string() }) }) }) }),
  }),
})

/** Creation code of Probe.sol. The compiler runs in a process of its own: it installs handlers of uncaught errors. */
export async function compileProbe(): Promise<Hex> {
  const content = await readFile(new URL('Probe.sol', import.meta.url), 'utf8')
  const input = {
    language: 'Solidity',
    sources: { 'Probe.sol': { content } },
    settings: { evmVersion: 'paris', outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
  }
  const output = await new Promise<string>((resolve, reject) => {
    const compiler = execFile(
      process.execPath,
      [require.resolve('solc/solc.js'), '--standard-json'],
      { maxBuffer: 1e8 },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    )
    compiler.stdin?.end(JSON.stringify(input))
  })
  const json = output.slice(output.indexOf('{'))
  return `0x${compiled.parse(JSON.parse(json)).contracts['Probe.sol'].Probe.evm.bytecode.object}`
}

/** Sends a transaction, which anvil mines at once, in a block with the timestamp. */
export async function sendAt(anvil: Anvil, seconds: number, transaction: { to?: Hex; data: Hex }): Promise<Receipt> {
  await anvil.rpc('evm_setNextBlockTimestamp', seconds)
  const hash = await anvil.rpc<Hex>('eth_sendTransaction', { from: sender, gas: '0x300000', ...transaction })
  // Mined at once, but its receipt may be a moment behind.
  for (;;) {
    const receipt = await anvil.rpc<Receipt | null>('eth_getTransactionReceipt', hash)
    if (receipt) return receipt
  }
}

export interface Receipt {
  readonly contractAddress: Hex
  readonly blockNumber: Hex
}

export async function mineAt(anvil: Anvil, ...seconds: readonly number[]): Promise<void> {
  for (const at of seconds) {
    await anvil.rpc('evm_setNextBlockTimestamp', at)
    await anvil.rpc('evm_mine')
  }
}

export function storeInput(amount: bigint): Hex {
  return encodeFunctionData({ abi: probeAbi, functionName: 'store', args: [amount] })
}

/** Puts Multicall3 where every chain has it. Blocks mined before do not have it. */
export async function placeMulticall3(anvil: Anvil): Promise<void> {
  const constants: { multicall3Bytecode: Hex } = require(
    join(dirname(require.resolve('viem')), 'constants/contracts.js'),
  )
  const code = await anvil.rpc<Hex>('eth_call', { data: constants.multicall3Bytecode }, 'latest')
  await anvil.rpc('anvil_setCode', multicall3Address, code)
}
