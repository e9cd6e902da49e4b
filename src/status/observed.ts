import type { Config } from '../config/config.ts'
import type { ClockVerdict } from '../model/clock.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { ConfigurationState, EndpointState, KeptHours } from './snapshot.ts'
import type { WidgetRead } from './widgets.ts'

/** Input of an observation. */
export interface Observed {
  readonly config: Config
  readonly outbox: Pick<Outbox, 'status' | 'health' | 'shared'>
  /** As in `ServiceState.host`. */
  readonly host: string
  readonly destinations: readonly string[]
  readonly version: string
  /** When the loops were started, in milliseconds since 1970; a reload starts them again. */
  readonly startedAtMs: number
  /** When the process started, in milliseconds since 1970. */
  readonly processStartedAtMs: number
  readonly configuration: ConfigurationState
  readonly nowMs: number
  /** The last read of each protocol's widget, by protocol id. */
  readonly widgets: ReadonlyMap<string, WidgetRead>
  /** Whether this machine's clock is believed; absent without a clock watch. */
  readonly clock?: ClockVerdict
  /** Hours whose values wait on this machine for the database; absent where the outbox is in a folder. */
  readonly kept?: KeptHours
  /** Answers of the receivers of reports, by name; absent where this process sends none. */
  readonly reports?: Counters['reports']
  /** Sentences about a fleet that does not work, as this daemon sees it; absent outside one. */
  readonly fleetTroubles?: readonly string[]
  /** State of the endpoints; empty when this process reads no chain. */
  readonly endpoints: readonly EndpointState[]
}
