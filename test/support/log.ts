import { createLog, type Log } from '../../src/telemetry/log.ts'
import { Redactor } from '../../src/telemetry/redactor.ts'

/** A log that says nothing. */
export const silentLog: Log = createLog('silent', new Redactor())
