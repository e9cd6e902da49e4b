/**
 * A node with four blocks a second and logs, for the benchmark. Its arguments: milliseconds of way, blocks of one
 * `eth_getLogs`, logs in a block, and `alone` where it takes no batches. Prints `{ url }`.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { archive } from '../../../chain/support/archive.ts'
import { json, startNode } from '../../../chain/support/node.ts'
import { scriptedChain } from '../../../chain/support/scripted-chain.ts'

const [distanceMs = '0', logBlocksMax = '1', logs = '1', alone] = process.argv.slice(2)
/** Whole seconds, four blocks in each; the first full hour is 2,800 s later. */
const chain = scriptedChain(60_000, number => 1_700_000_000 + Math.floor(number / 4))
const honest = archive(chain, { logBlocksMax: BigInt(logBlocksMax), logsIn: () => Number(logs) })
const node = await startNode(async (calls, response, body) => {
  await sleep(Number(distanceMs))
  if (alone && calls.length > 1) {
    json(response, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } })
  } else await honest(calls, response, body)
})
console.log(JSON.stringify({ url: node.url }))
process.stdin.resume()
await once(process.stdin, 'end')
await node.stop()
