import { setFlagsFromString } from 'node:v8'

/** How much the heap may grow, in percent, before it is collected. */
const growingPercent = 30

/**
 * Keeps the memory of a long run near what it needs. By itself V8 lets a heap of 60 MB grow to several hundred where there
 * is memory to be had; this costs a few percent of time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`)
}
