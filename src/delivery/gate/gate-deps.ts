import type { ServiceClient } from '../../edge/service-client.ts'
import type { Time } from '../../edge/time.ts'
import type { DeliveryStore } from '../../outbox/contract/delivery-store.ts'
import type { Counters } from '../../telemetry/counters.ts'
import type { Redactor } from '../../telemetry/redactor.ts'
import type { Turns } from './pacer.ts'
import type { ServiceClock } from './service-clock.ts'

/** Dependencies of `Gate`. */
export interface GateDeps {
  readonly destination: {
    readonly name: string
    readonly readKey: () => string
    readonly staleKey?: () => string | undefined
  }
  /** Stores retry-after and the breaker across restarts. */
  readonly outbox: Pick<DeliveryStore, 'destination' | 'saveDestination'>
  readonly client: Pick<ServiceClient, 'validateKey'>
  /** The pace of the destination: the service's, shared by all, or a fleet's. */
  readonly pacer: Turns
  /** The service's clock, shared by all destinations. */
  readonly clock: ServiceClock
  readonly redactor: Pick<Redactor, 'add'>
  readonly time: Time
  /** Counts answers, and knows the state of the gate. Default: nothing is counted. */
  readonly counters?: Counters | undefined
}
