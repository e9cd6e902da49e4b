/** Entry of the thread that checks a large file for damage. */
import { parentPort, workerData } from 'node:worker_threads'
import type { PageCheck } from './look-through.ts'
import { outboxSalvage } from './outbox-salvage.ts'

parentPort?.postMessage(look(String(workerData)))

function look(file: string): PageCheck {
  try {
    return { damage: outboxSalvage.brokenPages(file) }
  } catch (error) {
    const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) }
    return { failure: { message, ...(code !== undefined && { code }) } }
  }
}
