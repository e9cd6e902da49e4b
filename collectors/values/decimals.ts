import { address, type ChainAsOf, z } from 'tidegauge'

/** Decimals of a value: a number, `true` for those that its own contract says, or `{ address }` for those of a token. */
export const decimalsOption = z.union([z.int().min(0).max(255), z.literal(true), z.strictObject({ address })], {
  error: 'must be a whole number from 0 to 255, true (the contract’s own), or { address: "0x…" } (a token’s)',
})

/** `decimals()`; some tokens return a wider number than the standard says. */
const decimalsAbi = [
  { type: 'function', name: 'decimals', stateMutability: 'view', inputs: [], outputs: [{ type: 'uint256', name: '' }] },
] as const

/** The decimals of the contracts of one chain and hour: each contract is asked once. */
export function decimalsReader(chain: ChainAsOf): (contract: `0x${string}`) => Promise<number> {
  const asked = new Map<string, Promise<number>>()
  const ask = async (contract: `0x${string}`) => {
    const decimals = await chain.read({ address: contract, abi: decimalsAbi, functionName: 'decimals' })
    if (decimals > 255n) throw new Error(`decimals() of ${contract} is ${decimals}: more than 255`)
    return Number(decimals)
  }
  return contract => {
    const key = contract.toLowerCase()
    const answer = asked.get(key) ?? ask(contract)
    asked.set(key, answer)
    return answer
  }
}
