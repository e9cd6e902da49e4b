/** The promise's outcome, or the signal's reason when that comes first. The promise itself goes on. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
