/** Resolves in the next turn of the event loop, by the global function: the simulation counts who waits for it. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => void setImmediate(resolve))
}
