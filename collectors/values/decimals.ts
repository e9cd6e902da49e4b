import type { ChainAsOf } from 'tidegauge'
import { isLasting } from './lasting.ts'
import { reworded } from './reworded.ts'

/** Addresses that stand for the coin of a chain wherever a token may stand. */
const coinAddresses: readonly string[] = [`0x${'0'.repeat(40)}`, `0x${'e'.repeat(40)}`]

/** The coin of a chain, where an address is needed. */
export const coin = coinAddresses[0] as `0x${string}`

/** Whether an address stands for the coin of its chain, which is no contract. */
export function isCoin(token: string): boolean {
  return coinAddresses.includes(token.toLowerCase())
}

/** The addresses that mean the same token: both of the coin, or the one of a contract. In lower case. */
export function spellingsOf(token: string): readonly string[] {
  return isCoin(token) ? coinAddresses : [token.toLowerCase()]
}

const coinDecimals = 18

/** `decimals()`; some tokens return a wider number than the standard says. */
const decimalsAbi = [
  { type: 'function', name: 'decimals', stateMutability: 'view', inputs: [], outputs: [{ type: 'uint256', name: '' }] },
] as const

/** Advice for a token that has no `decimals()`: the option whose number counts for such tokens alone. */
export function ofOption(option: string): string {
  return `for a token without decimals() write its number as ${option}: N, which counts for such tokens alone, and for each of them`
}

/** Advice for a call: there a number is the scale of what is returned. */
export const scaleAdvice = 'for a contract without decimals() write decimals: N, the digits of what the call returns'

/**
 * The decimals of a token: 18 of a coin, else those that it tells.
 *
 * @param ofSilent those of a token that tells none. Default: such a token fails
 */
export type DecimalsOf = (token: `0x${string}`, ofSilent?: number | undefined) => Promise<number>

/**
 * The decimals of the tokens of one chain and hour: each is asked once, and nothing that is written replaces its answer.
 *
 * @param advice for a token that tells none. Default: nothing, where a collector takes them from nowhere else
 */
export function decimalsReader(chain: Pick<ChainAsOf, 'read'>, advice?: string): DecimalsOf {
  const answers = new Map<string, Promise<bigint>>()
  const ask = (token: `0x${string}`) => {
    const key = token.toLowerCase()
    const answer = answers.get(key) ?? chain.read({ address: token, abi: decimalsAbi, functionName: 'decimals' })
    answers.set(key, answer)
    return answer
  }
  return async (token, ofSilent) => {
    if (isCoin(token)) return coinDecimals
    try {
      const decimals = await ask(token)
      if (decimals <= 255n) return Number(decimals)
      throw new Error(`decimals() of ${token} is ${decimals}: more than 255`)
    } catch (error) {
      if (!isLasting(error)) throw error
      if (ofSilent !== undefined) return ofSilent
      throw advice === undefined ? error : advised(error, advice)
    }
  }
}

/** The same error with one more thing to do. A copy: the answer of a token is that of all who ask. */
function advised(error: unknown, advice: string): unknown {
  const { fix, message } = error as { readonly fix?: string; readonly message: string }
  return Object.assign(reworded(error, message) as Error, { fix: fix === undefined ? advice : `${fix}; ${advice}` })
}
