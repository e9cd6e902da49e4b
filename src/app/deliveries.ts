import { Delivery, type DeliveryDeps } from '../delivery/delivery.ts'
import type { Destination } from '../delivery/destination.ts'
import { Pacer, type Turns } from '../delivery/gate/pacer.ts'
import { ServiceClock } from '../delivery/gate/service-clock.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'

/** Dependencies of `deliveryMaker`. */
type DeliveryContext = AppContext & { readonly counters?: Counters }

/** Makes the delivery to a destination, at a pace. @param own parts of that destination alone */
export type MakeDelivery = (
  destination: Destination,
  pacer: Turns,
  own?: Pick<DeliveryDeps, 'client' | 'onPushed'>,
) => Delivery

/** Makes deliveries that share the service's clock. @param batchMetricsMin as in `deliveriesTo` */
export function deliveryMaker(
  { client }: Pick<Connection, 'client'>,
  outbox: DeliveryStore,
  { config, time, clock: watched, log, redactor, counters }: DeliveryContext,
  batchMetricsMin: () => number = () => 1,
): MakeDelivery {
  const clock = new ServiceClock(watched)
  watched?.onBelieved(byMs => clock.machineWasSet(byMs))
  const { inFlight } = config.delivery
  const shared = { outbox, client, clock, inFlight, batchMetricsMin, log, redactor, time, counters }
  return (destination, pacer, own) => new Delivery({ ...shared, destination, pacer, ...own })
}

/**
 * Creates one delivery for each destination; they share the pace. Other destinations wait for nothing any more.
 *
 * @param batchMetricsMin metrics worth a push while more are being collected; default 1
 */
export async function deliveriesTo(
  connection: Connection,
  outbox: DeliveryStore,
  context: DeliveryContext,
  batchMetricsMin?: () => number,
): Promise<Delivery[]> {
  await outbox.silenceOtherDestinations(connection.destinations.map(({ name }) => name))
  const pacer = new Pacer(context.time, context.config.delivery.pacePerSecond)
  const make = deliveryMaker(connection, outbox, context, batchMetricsMin)
  return connection.destinations.map(destination => make(destination, pacer))
}
