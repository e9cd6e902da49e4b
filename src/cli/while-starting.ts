import { systemTime } from '../edge/time.ts'

/** Time in which a process of collectors is started. */
const startedAfterMs = 10

/**
 * Loads what a command needs next, after the process of collectors that it waits for was started: loading blocks, and the
 * two go on side by side.
 */
export async function whileStarting<T>(load: () => Promise<T>): Promise<T> {
  await systemTime.sleep(startedAfterMs)
  return load()
}
