import type { Hex } from '../../model/block.ts'
import type { JoinableRead } from '../reads.ts'

/** Usual address of Multicall3, on almost every chain that has it (https://www.multicall3.com). */
export const multicall3Address: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Number of reads before the requested ones: number, timestamp and parent hash of the block they run in. */
export const certifyingReads = 3

/** First four bytes of the Keccak hash of each signature in Multicall3's ABI. */
const selectors = {
  /** `aggregate3((address target, bool allowFailure, bytes callData)[])` */
  aggregate3: '82ad56cb',
  /** `getBlockNumber()` */
  blockNumber: '42cbb15c',
  /** `getCurrentBlockTimestamp()` */
  timestamp: '0f28c97d',
  /** `getLastBlockHash()` */
  parentHash: '27e86d6e',
  /** `getEthBalance(address)` */
  balance: '4d2301cc',
}

/**
 * Call data of one `aggregate3`. It first reads the number, the timestamp and the parent hash of its block, so that the
 * answer names the block it was read from, and lets each read fail alone. Written by hand, as its layout is fixed
 * (https://docs.soliditylang.org/en/latest/abi-spec.html): viem's encoder would take 27 MB and 135 ms of a daemon that
 * needs it for nothing else.
 *
 * @param requests valid ones: whole addresses, whole bytes
 * @param multicall address of Multicall3
 */
export function aggregateInput(requests: readonly JoinableRead[], multicall: Hex = multicall3Address): Hex {
  const calls = [selectors.blockNumber, selectors.timestamp, selectors.parentHash].map(input =>
    callOf(multicall, input),
  )
  for (const request of requests) {
    if (request.kind === 'call') calls.push(callOf(request.to, request.input.slice(2)))
    else calls.push(callOf(multicall, `${selectors.balance}${addressWord(request.address)}`))
  }
  // Each call's offset counts from the end of the list's length.
  let distance = calls.length * 32
  const distances = calls.map(call => {
    const own = distance
    distance += call.length / 2
    return numberWord(own)
  })
  return `0x${selectors.aggregate3}${numberWord(32)}${numberWord(calls.length)}${distances.join('')}${calls.join('')}`
}

/** One `Call3`: target, allowFailure, data offset, data length, data. */
function callOf(to: Hex, input: string): string {
  const missing = (64 - (input.length % 64)) % 64
  return `${addressWord(to)}${mayFailAndStart}${numberWord(input.length / 2)}${input}${zeros.slice(0, missing)}`
}

const zeros = '0'.repeat(64)
const mayFailAndStart = `${numberWord(1)}${numberWord(96)}`

function addressWord(address: Hex): string {
  return `${zeros.slice(0, 24)}${address.slice(2).toLowerCase()}`
}

function numberWord(number: number): string {
  return number.toString(16).padStart(64, '0')
}
