import type { ContractBasics, ContractLook } from '../../chain/read/node-questions.ts'
import type { ReadAnswer } from '../../chain/reads.ts'
import type { Hex } from '../../model/block.ts'
import { type Answered, type Asked, askedOf, nonsense, plainText, strictValue } from './answers.ts'
import { type StandardValues, type TokenFacts, tokenFunctions } from './identify.ts'
import { type StandardName, standardFunctions } from './standard-functions.ts'

/** A contract with all that it answered. */
export interface SeenContract {
  readonly basics: ContractBasics
  readonly values: StandardValues
  readonly own: TokenFacts
  readonly tokens: ReadonlyMap<string, TokenFacts>
  /** Functions that answered, those of the ABI file last. */
  readonly answered: readonly Answered[]
  /** Those of the ABI file among them. */
  readonly ofAbi: readonly Answered[]
}

const standards = Object.entries(standardFunctions).map(([name, one]) => [name as StandardName, askedOf(one)] as const)

/** The function as it was asked for. */
export function standardAsked(name: StandardName): Asked {
  return askedOf(standardFunctions[name])
}

const call = (to: Hex, input: Hex) => ({ kind: 'call', to, input }) as const

/** Asks a contract for the standard functions and those of an ABI, then the tokens that it names for symbol and decimals. */
export async function lookAtContract(look: ContractLook, address: Hex, abi: readonly Asked[]): Promise<SeenContract> {
  const asked = [...standards.map(([, one]) => one), ...abi]
  const inputs = [...nonsense, ...asked.map(({ input }) => input)]
  const { basics, answers } = await look.contract(
    address,
    inputs.map(input => call(address, input)),
  )
  const fallback = new Set(answers.slice(0, nonsense.length).flatMap(outputOf))
  const read = asked.map((one, index) => {
    const value = strictValue(one, answers[nonsense.length + index], fallback)
    return { ...one, value }
  })
  const values: StandardValues = Object.fromEntries(standards.map(([name], index) => [name, read[index]?.value]))
  const isBeacon = basics.beacon !== undefined && basics.implementation === undefined
  const { tokens, implementation } = await others(look, values, isBeacon ? basics.beacon : undefined)
  return {
    basics: { ...basics, ...(implementation && { implementation }) },
    values,
    own: factsOf(values.symbol ?? values.symbolBytes, values.decimals),
    tokens,
    answered: read.filter(({ value }) => value !== undefined),
    ofAbi: read.slice(standards.length).filter(({ value }) => value !== undefined),
  }
}

const outputOf = (answer: ReadAnswer): Hex[] =>
  answer.kind === 'returned' && answer.output !== '0x' ? [answer.output] : []

function factsOf(symbol: unknown, decimals: unknown): TokenFacts {
  const text = plainText(symbol)
  return { ...(text !== undefined && { symbol: text }), ...(typeof decimals === 'number' && { decimals }) }
}

/** Symbols and decimals of the tokens that a contract names, and what a beacon stands for, by one call. */
async function others(look: ContractLook, values: StandardValues, beacon: Hex | undefined) {
  const named = tokenFunctions.flatMap(name =>
    typeof values[name] === 'string' ? [values[name].toLowerCase() as Hex] : [],
  )
  const addresses = [...new Set(named)].filter(one => !/^0x0{40}$/.test(one))
  const facts = ['symbol', 'symbolBytes', 'decimals'] as const
  const asked = facts.map(standardAsked)
  const implementationOf = askedOf({ call: 'implementation() view returns (address)' })
  const calls = [
    ...addresses.flatMap(to => asked.map(({ input }) => call(to, input))),
    ...(beacon ? [call(beacon, implementationOf.input)] : []),
  ]
  if (calls.length === 0) return { tokens: new Map<string, TokenFacts>() }
  const answers = await look.read(calls)
  const tokens = new Map(
    addresses.map((one, index) => {
      const [symbol, bytes, decimals] = asked.map((each, at) =>
        strictValue(each, answers[index * asked.length + at], new Set()),
      )
      return [one as string, factsOf(symbol ?? bytes, decimals)]
    }),
  )
  const implementation = beacon && strictValue(implementationOf, answers.at(-1), new Set())
  return { tokens, ...(typeof implementation === 'string' && { implementation: implementation as Hex }) }
}
