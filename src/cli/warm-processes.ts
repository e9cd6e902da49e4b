import { systemTime } from '../edge/time.ts'
import { WarmProcesses } from '../runner/daemon/warm-processes.ts'

/** Processes for the runners of a command; ended when this is disposed of. */
export function warmProcesses(): WarmProcesses & Disposable {
  const warm = new WarmProcesses(systemTime)
  // Not a method of the class: types that the package has need no newer library for it.
  return Object.assign(warm, { [Symbol.dispose]: () => warm.abandon() })
}
