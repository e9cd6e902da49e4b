/**
 * Reads the logs of an hour as the daemon does, in a process of its own, from the URL in its argument; a line for each line in:
 * `LogsRead`.
 */
import { createInterface } from 'node:readline'
import { createChainReader } from '../../../../src/chain/read/reader.ts'
import { systemTime } from '../../../../src/edge/time.ts'
import { hourAfter, hourAt } from '../../../../src/model/hour.ts'

/** Result of reading. */
export interface LogsRead {
  readonly logs: number
  readonly ms: number
  /** The largest that the process was so far. */
  readonly peakMb: number
}

const hour = hourAfter(hourAt(1_700_002_800_000), 1)
const filter = { address: `0x${'c0'.repeat(20)}`, topics: [`0x${'77'.repeat(32)}`] } as const
const [url = ''] = process.argv.slice(2)
const reader = createChainReader({ name: 'bench', id: 1, endpoints: [url], time: systemTime })
const { signal } = new AbortController()
await reader.block(hour, signal)
await reader.block(hourAfter(hour, -1), signal)

for await (const _ of createInterface({ input: process.stdin })) {
  const startMs = performance.now()
  const { value } = await reader.logs(hour, filter, signal)
  const ms = performance.now() - startMs
  const read: LogsRead = { logs: value.length, ms, peakMb: process.resourceUsage().maxRSS / 1_024 }
  console.log(JSON.stringify(read))
}
reader.close()
