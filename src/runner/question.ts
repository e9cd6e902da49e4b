import { z } from 'zod'
import { isAddress, isBytes, isHash } from '../chain/shapes.ts'
import type { Hex } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import { collectorTextCharsMax, readsMax } from './limits.ts'
import type { ChainQuestion } from './messages.ts'

const address = z.custom<Hex>(isAddress, { error: 'is no address: 0x and 40 hexadecimal digits' })
const topic = z.custom<Hex>(isHash, { error: 'is no topic: 0x and 64 hexadecimal digits' })
const slot = z.custom<Hex>(isHash, { error: 'is no storage slot: 0x and 64 hexadecimal digits' })
const input = z.custom<Hex>(isBytes, { error: 'is no call data: 0x and an even number of hexadecimal digits' })
const words = z.string().max(collectorTextCharsMax).optional()
const named = { name: words, returns: words }

const request = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('call'), to: address, input, ...named }),
  z.object({ kind: z.literal('balance'), address }),
  z.object({ kind: z.literal('call-from'), from: address, to: address, input, ...named }),
  z.object({ kind: z.literal('storage'), address, slot }),
])

const filter = z.object({
  address: z.union([address, z.array(address).min(1).max(readsMax)], {
    error: 'is neither an address nor a list of addresses',
  }),
  topics: z.array(z.union([topic, z.array(topic).max(readsMax), z.null()], { error: 'is no topic' })).max(4),
})

/**
 * Schema of a question about a chain. It is sent in one request with others, so a malformed one must be found first.
 * The child checks it, and the daemon again.
 */
export const question = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('block') }),
  z.object({ kind: z.literal('read'), requests: z.array(request).max(readsMax) }),
  z.object({ kind: z.literal('logs'), filter }),
]) satisfies z.ZodType<ChainQuestion>

/** The mistake in a collector's question, to follow its chain's name; `undefined` when it is valid. */
export function questionMistake(asked: ChainQuestion): string | undefined {
  const issue = question.safeParse(asked).error?.issues[0]
  return issue && `${String(issue.path.at(-1) ?? 'what is asked')} ${issue.message}`
}

/** The Fault when a collector asks for a chain that is not configured. */
export function unknownChain(name: string, known: readonly string[]): Fault {
  return new Fault('chain-unknown', `there is no chain "${name}" in the configuration`, {
    fix: known.length > 0 ? `configured are: ${known.join(', ')}` : 'add it under chains:',
  })
}
