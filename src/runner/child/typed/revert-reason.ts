import { decodeErrorResult } from 'viem/utils'
import type { Hex } from '../../../model/block.ts'
import { shortened } from '../../../model/text.ts'

type Abi = NonNullable<Parameters<typeof decodeErrorResult>[0]['abi']>

/** Panic codes of Solidity (https://docs.soliditylang.org/en/latest/control-structures.html). */
const panicReasons: Readonly<Record<string, string>> = {
  '1': 'an assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'conversion to an enum value that does not exist',
  '34': 'a badly encoded storage array',
  '49': 'pop of an empty array',
  '50': 'an array index out of bounds',
  '65': 'too much memory',
  '81': 'a call of a function that was not set',
}

const reasonCharsMax = 200

/** Why a call reverted: the reason string, the panic, or the custom error of the ABI with its arguments. */
export function revertReason(abi: Abi, output: Hex): string {
  if (output === '0x') return 'it gave no reason'
  try {
    const { errorName, args } = decodeErrorResult<Abi>({ abi, data: output })
    if (errorName === 'Error') return shortened(`"${args?.[0]}"`, reasonCharsMax)
    if (errorName === 'Panic') return panicReasons[String(args?.[0])] ?? `panic ${args?.[0]}`
    return shortened(`${errorName}(${(args ?? []).map(text).join(', ')})`, reasonCharsMax)
  } catch {
    return `an error its ABI does not describe, ${output.slice(0, 10)}`
  }
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)).replaceAll(
    '"',
    '',
  )
}
