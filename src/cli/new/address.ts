import { isAddress } from 'viem'
import type { Hex } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'

/** @throws Fault `usage` for what is no address, or has a checksum that is wrong */
export function addressOf(text: string): Hex {
  if (isAddress(text, { strict: true })) return text
  const isMistyped = isAddress(text, { strict: false })
  throw new Fault('usage', isMistyped ? 'the checksum of the address is wrong' : 'this is no address', {
    fix: isMistyped ? 'copy it again; or write it in lower case' : 'write 0x and 40 digits from 0 to 9 and a to f',
  })
}
