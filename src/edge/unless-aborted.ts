/** The promise's result; rejects with the signal's reason if that comes first. The promise itself continues. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: rejection, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    // Both are listened to, also where it is aborted already: a promise that rejects later is not left unhandled.
    return await Promise.race([rejection, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
