import type { Time } from '../time.ts'
import type { CollectorChild, Lost } from './child.ts'
import type { Task, TaskEnd } from './messages.ts'

/** The process that all collectors share. */
export interface Shared {
  /** Never rejects. */
  run(task: Task): Promise<TaskEnd | Lost>
  /** Complete when it returns. */
  stop(): Promise<void>
}

/**
 * Starts the process when there is work, and replaces it when it is gone, or when a run has left something behind in
 * it that never settles: then as soon as the others in it have finished, so that leaks cannot pile up.
 *
 * @param idleMsMax without work it is ended after this long; an edited collector's imports are then read again, too
 */
export function createShared(
  start: () => CollectorChild,
  idleMsMax: number,
  time: Time,
  stopping: AbortSignal,
): Shared {
  const children = new Set<CollectorChild>()
  let current: CollectorChild | undefined
  let uses = 0
  /** Aborted when a later rest begins: of many runs that end, one waits. */
  let resting = new AbortController()

  function sound(): CollectorChild {
    if (current?.sound()) return current
    current = start()
    children.add(current)
    return current
  }

  async function end(child: CollectorChild): Promise<void> {
    if (child === current) current = undefined
    await child.end()
    children.delete(child)
  }

  async function endWhenIdle(child: CollectorChild, use: number): Promise<void> {
    resting.abort()
    resting = new AbortController()
    try {
      await time.sleep(idleMsMax, AbortSignal.any([stopping, resting.signal]))
    } catch {
      return
    }
    if (use === uses && child.idle()) await end(child)
  }

  return {
    async run(task) {
      uses += 1
      const child = sound()
      const taskEnd = await child.run(task)
      if (child.idle()) void (child.sound() ? endWhenIdle(child, uses) : end(child))
      return taskEnd
    },
    async stop() {
      await Promise.all([...children].map(end))
    },
  }
}
