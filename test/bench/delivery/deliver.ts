import { Delivery } from '../../../src/delivery/delivery.ts'
import { Pacer, ServiceClock } from '../../../src/delivery/gate.ts'
import { type ServiceClient, serviceClient } from '../../../src/edge/service-client.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { SqliteOutbox } from '../../../src/outbox/sqlite/sqlite-outbox.ts'
import { createLog } from '../../../src/telemetry/log.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import { bench, inFlight, type Source } from './metrics.ts'

export const timeoutMs = 30_000

/** A client as the daemon makes it. */
export function clientOf(url: string): ServiceClient {
  return serviceClient({ url, timeoutMs, connections: inFlight + 1, time: systemTime })
}

/** A delivery as the daemon makes it, at no pace, with its log at the default level on stderr. */
export function deliveryOf(outbox: SqliteOutbox, client: ServiceClient, key: string, source: Source = bench): Delivery {
  const redactor = new Redactor()
  const { protocolId: id } = source
  const protocol = { id, name: id, register: false, collectors: [], place: { file: '', line: 0, column: 0 } }
  return new Delivery({
    outbox: outbox.delivery,
    client,
    destination: { name: id, readKey: () => key, protocols: [protocol] },
    clock: new ServiceClock(),
    pacer: new Pacer(systemTime, Number.POSITIVE_INFINITY),
    inFlight,
    log: createLog('info', redactor),
    redactor,
    time: systemTime,
  })
}

/** Delivers all that is due; throws when something is left. */
export async function deliverAll(outbox: SqliteOutbox, delivery: Delivery): Promise<void> {
  await delivery.flush('asked', new AbortController().signal)
  const { due, delivered, enqueued } = (await outbox.delivery.backlog()).balance
  if (due > 0 || delivered !== enqueued)
    throw new Error(`${due} of ${enqueued} metrics are due, ${delivered} delivered`)
}
