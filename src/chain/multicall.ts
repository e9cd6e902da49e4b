import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'
import type { Hex, ReadAnswer, ReadRequest } from './reads.ts'

/** Where Multicall3 lives on every chain that has it (https://www.multicall3.com). */
export const multicall3Address: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

const multicall3Abi = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) view returns (Result[] results)',
  'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
  'function getEthBalance(address owner) view returns (uint256 balance)',
])

/**
 * Call data of one `aggregate3` that first asks for the timestamp of the block it runs in, so that the answer says
 * which block it was read from, and lets each read fail alone.
 */
export function aggregateInput(requests: readonly ReadRequest[]): Hex {
  const calls = requests.map(request =>
    request.kind === 'call'
      ? { target: lowerCase(request.to), allowFailure: true, callData: request.input }
      : { target: multicall3Address, allowFailure: true, callData: balanceInput(request.address) },
  )
  return encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [[{ target: multicall3Address, allowFailure: true, callData: timestampInput }, ...calls]],
  })
}

const timestampInput = encodeFunctionData({ abi: multicall3Abi, functionName: 'getCurrentBlockTimestamp' })

function balanceInput(address: Hex): Hex {
  return encodeFunctionData({ abi: multicall3Abi, functionName: 'getEthBalance', args: [lowerCase(address)] })
}

/** viem refuses an address whose capitals are no valid checksum; one such read would fail the whole aggregate. */
function lowerCase(address: Hex): Hex {
  return `0x${address.slice(2).toLowerCase()}`
}

/** What one `aggregate3` came to. */
export interface Aggregated {
  /** Of the block the reads were made in: seconds since 1970. */
  readonly timestampSeconds: bigint
  readonly answers: readonly ReadAnswer[]
}

/** Undefined when the bytes are no answer to `aggregateInput` of that many requests. */
export function aggregated(output: Hex, count: number): Aggregated | undefined {
  try {
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: output })
    const [timestamp, ...answers] = results.map(answerOf)
    if (timestamp?.kind !== 'returned' || answers.length !== count) return undefined
    return { timestampSeconds: BigInt(timestamp.output), answers }
  } catch {
    return undefined
  }
}

function answerOf({ success, returnData }: { success: boolean; returnData: Hex }): ReadAnswer {
  return { kind: success ? 'returned' : 'reverted', output: returnData }
}
