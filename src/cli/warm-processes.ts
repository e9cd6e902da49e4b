import { systemTime } from '../edge/time.ts'
import { WarmProcesses } from '../runner/daemon/warm-processes.ts'

/** Processes for the runners of a command; ended when this is disposed of. */
export function warmProcesses(): WarmProcesses & Disposable {
  const warm = new WarmProcesses(systemTime)
  // Not a method of the class: types that the package has need no newer library for it.
  return Object.assign(warm, { [Symbol.dispose]: () => warm.abandon() })
}

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
