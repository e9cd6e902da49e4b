/** Resolves in the next tick of the event loop, by the global function: the simulation counts who waits for it. */
export function nextTick(): Promise<void> {
  return new Promise(resolve => void setImmediate(resolve))
}
