import { Fault, faultLine, isOfOutbox } from '../model/fault.ts'
import type { Stop } from './gate/stop.ts'

/**
 * The reason why a flush that threw ended: it was stopped, or a key could not be read.
 *
 * @throws the error, if it comes from the outbox
 */
export function stopOf(error: unknown, signal: AbortSignal): Stop {
  if (signal.aborted) return { kind: 'stopped', reason: faultLine(error) }
  if (error instanceof Fault && !isOfOutbox(error)) {
    const isKeyMissing = error.code === 'secret-missing' && ({ isKeyMissing: true } as const)
    return { kind: 'transient', reason: faultLine(error), ...isKeyMissing }
  }
  throw error
}
