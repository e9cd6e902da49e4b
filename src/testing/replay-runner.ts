import { systemTime } from '../edge/time.ts'
import { ProcessRunner } from '../runner/daemon/process-runner.ts'
import type { ReadInterceptor } from '../runner/daemon/read-interceptor.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import { namedChains } from './player.ts'
import type { Recording } from './recording.ts'
import { standIns } from './stand-in.ts'

/** Time limit of a run whose sources answer at once. */
const replayMsMax = 60_000

/**
 * A runner whose reads go to an interceptor; the chains have names and nothing else. It has a file of its own, as the
 * types of the package must not lead to the daemon's.
 */
export function replayRunner(deps: {
  readonly recording: Pick<Recording, 'chains' | 'addresses'>
  readonly interceptor: ReadInterceptor
  readonly options: unknown
  readonly redactor: Redactor
  /** Default: a minute. */
  readonly deadlineMs?: number
}): ProcessRunner {
  const { recording, interceptor, options, redactor, deadlineMs = replayMsMax } = deps
  return new ProcessRunner({
    chains: namedChains(recording, options),
    deadlineMs,
    redactor,
    interceptor,
    isGuarded: true,
    time: systemTime,
    log: () => {},
    readSecret: standIns(recording.addresses),
  })
}
