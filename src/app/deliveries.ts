import { Delivery } from '../delivery/delivery.ts'
import { Pacer } from '../delivery/gate/pacer.ts'
import { ServiceClock } from '../delivery/gate/service-clock.ts'
import type { DeliveryStore } from '../outbox/contract/delivery-store.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { Connection } from './connection.ts'
import type { AppContext } from './context.ts'

/**
 * Creates one delivery for each destination; they share the pace. Other destinations wait for nothing any more.
 *
 * @param batchMetricsMin metrics worth a push while more are being collected; default 1
 */
export async function deliveriesTo(
  connection: Connection,
  outbox: DeliveryStore,
  { config, time, clock: watched, log, redactor, counters }: AppContext & { readonly counters?: Counters },
  batchMetricsMin: () => number = () => 1,
): Promise<Delivery[]> {
  await outbox.silenceOtherDestinations(connection.destinations.map(({ name }) => name))
  const pacer = new Pacer(time, config.delivery.pacePerSecond)
  const clock = new ServiceClock(watched)
  watched?.onBelieved(byMs => clock.machineWasSet(byMs))
  const { inFlight } = config.delivery
  const { client } = connection
  const shared = { outbox, client, pacer, clock, inFlight, batchMetricsMin, log, redactor, time, counters }
  return connection.destinations.map(destination => new Delivery({ ...shared, destination }))
}
