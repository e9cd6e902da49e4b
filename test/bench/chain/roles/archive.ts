/**
 * A process with an archive node whose head moves with the machine's clock, for the benchmark: `node archive.ts KIND [DELAY_MS] [POOLS]`.
 * Prints `{ url }`; answers each line with what it was asked for so far.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { startArchive, syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { type SyntheticKind, syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'

export interface Asked {
  readonly requests: number
  readonly calls: number
  readonly callsByMethod: Readonly<Record<string, number>>
  /** Blocks that state was read at, and those of them it was read at more than once. */
  readonly blocksRead: number
  readonly blocksReadAgain: number
}

const [kind = 'slots', delayMs = '0', pools = '0'] = process.argv.slice(2)
const archive = syntheticArchive(syntheticKinds[kind as SyntheticKind](), { delayMs: Number(delayMs) })
archive.pools = Number(pools)
archive.beforeAnswer = () => {
  archive.head = archive.chain.asOf(Date.now() / 1_000)
}
const node = await startArchive(archive)
process.stdout.write(`${JSON.stringify({ url: node.url })}\n`)
const lines = createInterface({ input: process.stdin })
lines.on('line', () => {
  const { requests, calls, callsByMethod, ethCallsByBlock } = archive.counts
  const blocksReadAgain = [...ethCallsByBlock.values()].filter(count => count > 1).length
  const blocksRead = ethCallsByBlock.size
  const asked = { requests, calls, callsByMethod: Object.fromEntries(callsByMethod), blocksRead, blocksReadAgain }
  process.stdout.write(`${JSON.stringify(asked satisfies Asked)}\n`)
})
await once(lines, 'close')
await node.stop()
