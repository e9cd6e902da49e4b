/** The same error in other words: it keeps its code, and what to do. */
export function reworded(error: unknown, message: string): unknown {
  if (!(error instanceof Error)) return error
  const copy: Error = Object.assign(Object.create(Object.getPrototypeOf(error)), error)
  return Object.defineProperty(copy, 'message', { value: message })
}
