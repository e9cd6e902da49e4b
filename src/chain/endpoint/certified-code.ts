import type { Hex } from '../../model/block.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { isBytes } from '../shapes.ts'

/** The block that a call saw itself run in: the certificate of what it read. */
export interface SeenBlock {
  readonly number: bigint
  /** Seconds since 1970. */
  readonly timestampSeconds: bigint
  /** Zero where a node does not know it; absent where it was not asked for. */
  readonly parentHash?: Hex | undefined
}

/**
 * EVM code that makes one read and returns it with the number, the timestamp and the parent hash of the block it runs
 * in: value and certificate are of one execution, which no load balancer can divide. It runs as code of the reader
 * (a state override of `eth_call`) and as creation code alike, as all it needs is within it.
 */
export function certifiedCode(request: ReadRequest): Hex {
  switch (request.kind) {
    case 'balance':
      return `0x73${digits(request.address)}31${ofWord}`
    case 'storage':
      return `0x7f${digits(request.slot)}54${ofWord}`
    case 'call':
    case 'call-from': {
      const input = digits(request.input)
      const code = callCode(digits(request.to), input.length / 2, 0)
      return `0x${callCode(digits(request.to), input.length / 2, code.length / 2)}${input}`
    }
  }
}

const digits = (hex: Hex) => hex.slice(2).toLowerCase()
const push4 = (value: number) => `63${value.toString(16).padStart(8, '0')}`

/** MSTORE of success at 0x60, NUMBER at 0, TIMESTAMP at 0x20, BLOCKHASH(NUMBER - 1) at 0x40. */
const certificate = '606052' + '43600052' + '42602052' + '60014303' + '40604052'

/** The word on the stack is the answer, at 0x80: MSTORE, success, certificate, RETURN of five words. */
const ofWord = `608052${'6001'}${certificate}60a06000f3`

/** The input stands after the code: CODECOPY to 0, CALL, certificate, RETURNDATACOPY to 0x80, RETURN. */
function callCode(to: string, inputBytes: number, codeBytes: number): string {
  const copy = `${push4(inputBytes)}${push4(codeBytes)}600039`
  const call = `60006000${push4(inputBytes)}6000600073${to}5af1`
  return `${copy}${call}${certificate}3d600060803e3d6080016000f3`
}

/** An answer to certified code. */
export interface CertifiedAnswer {
  readonly seen: SeenBlock
  readonly answer: ReadAnswer
}

/** Parses the output of certified code; undefined for anything else. */
export function certifiedAnswer(output: unknown): CertifiedAnswer | undefined {
  if (!isBytes(output) || output.length < 2 + 4 * 64) return undefined
  const word = (index: number): Hex => `0x${output.slice(2 + index * 64, 2 + (index + 1) * 64)}`
  const success = BigInt(word(3))
  if (success > 1n) return undefined
  return {
    seen: { number: BigInt(word(0)), timestampSeconds: BigInt(word(1)), parentHash: word(2) },
    answer: { kind: success === 1n ? 'returned' : 'reverted', output: `0x${output.slice(2 + 4 * 64)}` },
  }
}
