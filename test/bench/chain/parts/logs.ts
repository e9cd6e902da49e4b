import type { Figure } from '../../figures.ts'
import { startRole } from '../../role.ts'
import type { LogsRead } from '../logs/reader.ts'

const distanceMs = 60
const hourBlocks = 14_400
const rounds = 3

interface NodeTraits {
  readonly distanceMs: number
  readonly logBlocksMax: number
  readonly logsInBlock: number
  readonly takesBatches: boolean
}

/** Reads an hour's logs twice with a reader that has not met the node before. */
async function readTwice({ distanceMs, logBlocksMax, logsInBlock, takesBatches }: NodeTraits): Promise<LogsRead[]> {
  const args = [distanceMs, logBlocksMax, logsInBlock, ...(takesBatches ? [] : ['alone'])]
  const node = startRole(new URL('../logs/node.ts', import.meta.url), args.map(String))
  const { url } = await node.readLine<{ url: string }>()
  const reader = startRole(new URL('../logs/reader.ts', import.meta.url), [url])
  const reads: LogsRead[] = []
  for (const line of ['first', 'again']) {
    reader.writeLine(line)
    const read = await reader.readLine<LogsRead>()
    if (read.logs !== hourBlocks * logsInBlock) throw new Error(`${read.logs} logs were read`)
    reads.push(read)
  }
  await reader.stop()
  await node.stop()
  return reads
}

/** Cost of an hour of logs on a chain with four blocks a second, by how many blocks a node takes at once. */
export async function* hourOfLogs(): AsyncGenerator<Figure> {
  const cases = [
    { logBlocksMax: 100, takesBatches: true, atMost: 5 },
    { logBlocksMax: 100, takesBatches: false, atMost: 5 },
    { logBlocksMax: 10, takesBatches: true, atMost: 60 },
    { logBlocksMax: 10, takesBatches: false, atMost: 60 },
  ]
  for (const { atMost, ...traits } of cases) {
    const seconds: number[][] = []
    for (let round = 0; round < rounds; round++) {
      const reads = await readTwice({ distanceMs, logsInBlock: 1, ...traits })
      seconds.push(reads.map(({ ms }) => ms / 1_000))
    }
    const how = `${traits.logBlocksMax} a call${traits.takesBatches ? '' : ', no batches'}, ${distanceMs} ms away`
    for (const [index, when] of ['first', 'then'].entries()) {
      const values = seconds.map(read => read[index] ?? Number.NaN)
      yield { what: `logs of ${hourBlocks} blocks, ${how}: ${when}`, values, unit: ' s', target: { atMost } }
    }
  }
  yield* memory()
}

/** Growth of the process that reads very many logs, against what they are as JSON. */
async function* memory(): AsyncGenerator<Figure> {
  const [dense, none] = [6, 0].map(logsInBlock =>
    readTwice({ distanceMs: 0, logBlocksMax: hourBlocks, logsInBlock, takesBatches: true }),
  )
  const [many = [], few = []] = [await dense, await none]
  const grownMb = (many.at(-1)?.peakMb ?? Number.NaN) - (few.at(-1)?.peakMb ?? Number.NaN)
  const jsonMb = (hourBlocks * 6 * jsonBytesOfLog) / 1_048_576
  yield { what: `memory for ${hourBlocks * 6} logs`, values: [grownMb], unit: ' MB' }
  yield {
    what: `memory for ${hourBlocks * 6} logs, of their JSON`,
    values: [grownMb / jsonMb],
    target: { atMost: 5 },
  }
}

/** A log as a node writes it, with one topic and one word. */
const jsonBytesOfLog = 560
