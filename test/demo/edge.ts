import { systemTime } from '../../src/edge/time.ts'
import { DemoError, Ending } from './ending.ts'
import type { DemoContext } from './start.ts'
import { terminal } from './terminal.ts'

/** Runs what stays until it is done or a person ends it; says what went wrong. @returns the exit code */
export async function atTheEdge(act: (context: DemoContext) => Promise<number>): Promise<number> {
  const [time, ending] = [systemTime, new Ending(systemTime)]
  const { say, progress, complain } = terminal({ out: process.stdout, err: process.stderr }, time)
  ending.listen()
  try {
    return await act({ time, terminal: { say, progress, complain }, ending })
  } catch (error) {
    if (ending.isAsked) {
      say('Stopped.')
      return 0
    }
    const cause = ending.causeOf(error)
    if (!(cause instanceof DemoError)) throw cause
    for (const line of [cause.message, ...cause.details]) complain(line)
    return 1
  }
}

/** @throws the signal's reason */
export function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
