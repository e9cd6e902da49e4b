/**
 * Loaded before a program (`node --expose-gc --import after-gc.ts …`): writes down what memory it has, once a second, right
 * after a garbage collection, to the file that `TIDEGAUGE_BENCH_MEMORY` names. Its collectors' process writes nothing.
 */
import { appendFileSync } from 'node:fs'

/** In MB. */
export interface Memory {
  readonly heapMb: number
  readonly residentMb: number
}

const sampleMs = 1_000
const file = process.env['TIDEGAUGE_BENCH_MEMORY']
const program = process.argv[1] ?? ''

function sample(): void {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  const memory: Memory = { heapMb: heapUsed / 2 ** 20, residentMb: rss / 2 ** 20 }
  appendFileSync(file ?? '', `${JSON.stringify(memory)}\n`)
}

if (file !== undefined && program.endsWith('/src/bin.cjs')) setInterval(sample, sampleMs).unref()
