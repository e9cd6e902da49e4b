import { address, type ChainAsOf, z } from 'tidegauge'
import { lacksFunction } from './contracts.ts'

/** Decimals of a value: a number, `true` for those that its own contract says, or `{ address }` for those of a token. */
export const decimalsOption = z.union([z.int().min(0).max(255), z.literal(true), z.strictObject({ address })], {
  error: 'must be a whole number from 0 to 255, true (the contract’s own), or { address: "0x…" } (a token’s)',
})

/** Decimals in place of those that a token says. */
export const tokenDecimals = z
  .int({ error: 'must be a whole number from 0 to 255' })
  .min(0)
  .max(255)
  .optional()
  .describe('in place of its decimals(), of a token that has none')

/** `decimals()`; some tokens return a wider number than the standard says. */
const decimalsAbi = [
  { type: 'function', name: 'decimals', stateMutability: 'view', inputs: [], outputs: [{ type: 'uint256', name: '' }] },
] as const

/**
 * The decimals of the contracts of one chain and hour: each contract is asked once.
 *
 * @param offer what to write for a contract that has no `decimals()`, such as `decimals: 18`. Default: nothing, where a
 * collector takes them from nowhere else
 */
export function decimalsReader(chain: ChainAsOf, offer?: string): (contract: `0x${string}`) => Promise<number> {
  const asked = new Map<string, Promise<number>>()
  const ask = async (contract: `0x${string}`) => {
    const answer = chain.read({ address: contract, abi: decimalsAbi, functionName: 'decimals' })
    const decimals = await answer.catch((error: unknown) => {
      if (offer === undefined || !lacksFunction(error)) throw error
      const { fix } = error as { readonly fix?: string }
      const written = `for a contract without decimals() write ${offer}`
      // The fault of the read, which says whether it may pass, with one more thing to do.
      throw Object.assign(error as Error, { fix: fix === undefined ? written : `${fix}; ${written}` })
    })
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
