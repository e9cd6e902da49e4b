import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Redactor } from '../telemetry/redactor.ts'
import type { Destination } from './destination.ts'
import type { Pacer } from './gate/pacer.ts'
import type { ServiceClock } from './gate/service-clock.ts'

/** Dependencies of `Delivery`. */
export interface DeliveryDeps {
  readonly outbox: DeliveryStore
  readonly client: ServiceClient
  readonly destination: Destination
  /** Pacer and clock are shared by all destinations: it is one service. */
  readonly pacer: Pacer
  readonly clock: ServiceClock
  /** Concurrent pushes, at most. */
  readonly inFlight: number
  /** Smallest number of metrics worth a push while more are being collected. Default: 1. */
  readonly fewest?: () => number
  readonly log: Log
  readonly redactor: Redactor
  readonly time: Time
}
