import { type Abi, type Hex, parseAbi } from 'viem'
import compiled from './contracts.json' with { type: 'json' }

/** A contract ready to deploy: `bytecode` is creation code, to which encoded constructor arguments are appended. */
export interface Artifact {
  readonly abi: Abi
  readonly bytecode: Hex
}

/** A contract of the local chain, as `contracts.json` has it: no compiler is needed to run the chain. */
export function artifact(name: keyof typeof compiled): Artifact {
  const { abi, bytecode } = compiled[name]
  return { abi: parseAbi(abi), bytecode: bytecode as Hex }
}
