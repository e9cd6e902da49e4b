import { closeSync, fsyncSync, openSync } from 'node:fs'
import { metricsAnHour } from '../metrics.ts'
import { peakMb } from './peak.ts'

/** Arrival of metrics: all of them before the first is sent, or each hour's after those before it were acknowledged. */
export type Pace = 'at-once' | 'by-the-hour'

/** Report of a sending process when all is acknowledged. */
export interface Sent {
  readonly ms: number
  readonly peakMb: number
}

/** A way from values in memory to the service. */
export interface Sender {
  /** Hands over an hour. */
  take(hour: number): Promise<void> | void
  /** Resolves when all that was taken is acknowledged. */
  flush(): Promise<void>
}

/**
 * Sends `metrics` and prints `Sent`.
 *
 * @param mark is synced before and after, for who counts the calls of this process
 */
export async function send({ take, flush }: Sender, metrics: number, pace: Pace, mark?: string): Promise<void> {
  setMark(mark)
  const startMs = performance.now()
  for (let hour = 0; hour < metrics / metricsAnHour; hour += 1) {
    await take(hour)
    if (pace === 'by-the-hour') await flush()
  }
  await flush()
  const ms = performance.now() - startMs
  setMark(mark)
  process.stdout.write(`${JSON.stringify({ ms, peakMb: peakMb() } satisfies Sent)}\n`)
}

function setMark(file: string | undefined): void {
  if (file === undefined) return
  const descriptor = openSync(file, 'w')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
