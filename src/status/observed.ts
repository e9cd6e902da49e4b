import type { Config } from '../config/config.ts'
import type { ClockVerdict } from '../model/clock.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { ConfigurationState, EndpointState } from './snapshot.ts'
import type { WidgetRead } from './widgets.ts'

/** What an observation is made from. */
export interface Observed {
  readonly config: Config
  readonly outbox: Outbox
  /** As in `ServiceState.host`. */
  readonly host: string
  readonly destinations: readonly string[]
  readonly version: string
  /** When the parts that collect and deliver were started; a reload starts them again. */
  readonly startedAtMs: number
  /** When the process started, for people. */
  readonly processStartedAtMs: number
  readonly configuration: ConfigurationState
  readonly nowMs: number
  /** The last read of each protocol's widget, by protocol id. */
  readonly widgets: ReadonlyMap<string, WidgetRead>
  /** Whether this machine's clock is believed; absent where nobody looks after it. */
  readonly clock?: ClockVerdict
  /** What is known of the nodes; none where nobody reads. */
  readonly endpoints: readonly EndpointState[]
}
