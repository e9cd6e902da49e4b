import type { Task, TaskEnd } from '../messages.ts'
import type { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import type { ProcessGroup } from './processes.ts'

/** Runs tasks each in a process of its own, a few at a time. */
export interface IsolatedProcess {
  /**
   * Runs a task. Never rejects.
   *
   * @param known whether the collector has failed before: it waits behind those that are probably innocent
   */
  run(task: Task, group: ProcessGroup, known: boolean): Promise<TaskEnd | Lost>
  /** Stops the service; resolves when it has stopped. */
  stop(): Promise<void>
}

interface PendingRun {
  readonly id: string
  readonly known: boolean
  start(): void
}

/**
 * Creates the pool. A collector holds one place at a time, however many hours of it wait, so that one culprit never
 * takes all places.
 *
 * @param places concurrent tasks, at most
 */
export function createIsolatedProcess(
  start: (group: ProcessGroup) => Promise<CollectorChild>,
  places: number,
  stopping: AbortSignal,
): IsolatedProcess {
  const children = new Set<CollectorChild>()
  const waiting: PendingRun[] = []
  const busy = new Set<string>()

  function startNext(): void {
    const next = busy.size < places ? nextOf(waiting, busy) : undefined
    if (!next) return
    waiting.splice(waiting.indexOf(next), 1)
    busy.add(next.id)
    next.start()
    startNext()
  }

  async function runInOwn(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    if (stopping.aborted) return { kind: 'lost', how: 'was stopped' }
    const child = await start(group)
    children.add(child)
    if (stopping.aborted) await child.end()
    const end = await child.run(task)
    await child.end()
    children.delete(child)
    return end
  }

  return {
    async run(task, group, known) {
      const { id } = task.collector
      await new Promise<void>(begin => {
        waiting.push({ id, known, start: begin })
        startNext()
      })
      const end = await runInOwn(task, group)
      busy.delete(id)
      startNext()
      return end
    },
    async stop() {
      await Promise.all([...children].map(child => child.end()))
    },
  }
}

function nextOf(waiting: readonly PendingRun[], busy: ReadonlySet<string>): PendingRun | undefined {
  const free = waiting.filter(({ id }) => !busy.has(id))
  return free.find(({ known }) => !known) ?? free[0]
}
