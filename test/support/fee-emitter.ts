import { parseAbi, toEventSelector } from 'viem'
import type { Artifact } from '../../src/devchain/contracts.ts'

/** The event of `feeEmitter`. */
export const feeEvent = 'Fee(address token, uint256 amount)'

/** A contract that emits the two words that it is called with as a fee. */
export function feeEmitter(): Artifact {
  const runtime = `604060046000377f${toEventSelector(`event ${feeEvent}`).slice(2)}60406000a100`
  const length = (runtime.length / 2).toString(16).padStart(4, '0')
  return {
    abi: parseAbi(['function pay(address token, uint256 amount)']),
    bytecode: `0x61${length}80600c6000396000f3${runtime}`,
  }
}
