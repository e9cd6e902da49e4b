import { setImmediate } from 'node:timers/promises'

/** Resolves once it is so, with what it then is; the limit of the test is the only one. */
export async function untilTrue<T>(isSo: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const value = await isSo()
    if (value) return value
    await setImmediate()
  }
}
