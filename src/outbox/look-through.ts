import { Worker } from 'node:worker_threads'
import { DamageError } from '../sqlite/damage.ts'
import type { Disk } from './file/disk.ts'

/** What the thread that looks through a file says at its end. */
export interface LookedThrough {
  /** What shows damage; absent when none does. */
  readonly damage?: string | undefined
  /** What kept it from looking. */
  readonly failure?: { readonly message: string; readonly code?: string }
}

const entry = new URL('./look-through-thread.ts', import.meta.url)

/**
 * Looks through every page of the outbox's file in a thread of its own: a second for each 200 MB, which the event loop does
 * not wait for. What is damaged is told to the disk.
 *
 * @returns resolves once it is known that the file is sound, or that it cannot be known; rejects when it is damaged
 */
export async function lookThrough(file: string, disk: Pick<Disk, 'recover'>): Promise<void> {
  const { damage, failure } = await answerFor(file)
  if (damage === undefined && !failure) return
  const error = failure
    ? Object.assign(new Error(failure.message), { code: failure.code })
    : new DamageError(damage ?? '')
  if (disk.recover(error) === 'broken') throw error
}

function answerFor(file: string): Promise<LookedThrough> {
  const { promise, resolve } = Promise.withResolvers<LookedThrough>()
  const thread = new Worker(entry, { workerData: file })
  // A process that is to end does not wait for it.
  thread.unref()
  thread.once('message', (answer: LookedThrough) => resolve(answer))
  thread.once('error', ({ message }) => resolve({ failure: { message } }))
  return promise
}
