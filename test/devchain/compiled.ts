import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatAbi } from 'abitype'
import type { Hex } from 'viem'
import { compiledContracts } from '../support/contracts.ts'

const require = createRequire(import.meta.url)
const folder = fileURLToPath(new URL('../../src/devchain/contracts/', import.meta.url))
const names = ['Token', 'Vault', 'Feed', 'PairFactory', 'Trader'] as const

/** Text of `src/devchain/contracts.json`: what the sources next to it are compiled to, and Multicall3. */
export async function compiledText(): Promise<string> {
  const compiled = await compiledContracts(folder, names)
  const contracts = names.map(name => {
    const { abi, bytecode } = compiled[name]
    return [name, { abi: formatAbi(abi), bytecode }] as const
  })
  const multicall = { abi: [], bytecode: multicall3Bytecode() }
  return `${JSON.stringify({ ...Object.fromEntries(contracts), Multicall3: multicall }, null, 2)}\n`
}

/** Multicall3's creation code, which viem carries without exporting it. */
function multicall3Bytecode(): Hex {
  const constants = join(dirname(require.resolve('viem')), 'constants/contracts.js')
  const { multicall3Bytecode } = require(constants) as { multicall3Bytecode: Hex }
  return multicall3Bytecode
}
