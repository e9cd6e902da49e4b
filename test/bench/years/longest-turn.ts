import { setImmediate } from 'node:timers/promises'

/** Time of the processor for work, in milliseconds: in all, and of its longest turn of the event loop. */
export interface Turns {
  readonly allMs: number
  readonly longestMs: number
}

/** Measures a work in the thread of the event loop, as time of the processor: what else the machine does changes that little. */
export async function turnsOf(act: () => unknown): Promise<Turns> {
  let [isOver, longestMs] = [false, 0]
  const start = process.threadCpuUsage()
  const watching = (async () => {
    while (!isOver) {
      const before = process.threadCpuUsage()
      await setImmediate()
      longestMs = Math.max(longestMs, msSince(before))
    }
  })()
  await act()
  isOver = true
  await watching
  return { allMs: msSince(start), longestMs }
}

function msSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1_000
}
