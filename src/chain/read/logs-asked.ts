import type { AsOfBlock, LogFilter } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'

/** Filter, endpoint and branch of the chain for requests of logs. */
export interface LogsAsked {
  readonly endpoint: Endpoint
  readonly asOf: AsOfBlock
  readonly filter: LogFilter
  readonly signal: AbortSignal
}
