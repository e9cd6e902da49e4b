import { systemTime } from '../../src/edge/time.ts'
import { configured } from './setup.ts'

/** Collectors that must not notice what a bad one does. */
export const good = (count: number) =>
  Array.from({ length: count }, (_, index) => configured('./good.ts', { id: `good/${index}` }))

/** Outcome of each run of a good collector. */
export const fine = { readings: { Level: 1 }, failures: {}, pins: [] }

/** Counts turns of this process's event loop, as delivery would need them, until it is stopped. */
export function ticking(): () => number {
  const stop = new AbortController()
  let ticks = 0
  const tick = async () => {
    while (!stop.signal.aborted) {
      await systemTime.sleep(1)
      ticks += 1
    }
  }
  void tick()
  return () => {
    stop.abort()
    return ticks
  }
}
