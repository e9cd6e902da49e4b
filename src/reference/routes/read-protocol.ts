import { z } from 'zod'
import type { StoredKey } from '../store/keys.ts'
import { isOpenTo, type Protocol } from '../store/protocols.ts'
import type { Store } from '../store/store.ts'
import type { LatestValue, StoredValues } from '../store/values.ts'
import { type Api, answers, keyIsOptional } from './api.ts'
import { keyOptional, optionalCallerOf } from './auth.ts'
import { change, spansMs, standsMs } from './change.ts'
import { instantText } from './instant-text.ts'
import { ServiceRefusal } from './refusal.ts'

const params = z.object({ protocolId: z.string().meta({ description: 'The protocol slug' }) })

const latestMetric = z
  .object({
    id: z.string(),
    value: z.number(),
    unit: z.string().optional(),
    change1h: z.number().optional().meta({ description: 'Difference to one hour before; absent when unknown' }),
    change24h: z.number().optional().meta({ description: 'Difference to 24 hours before; absent when unknown' }),
    timestamp: z.string().meta({ format: 'date-time' }),
  })
  .meta({ id: 'Metric' })
type LatestMetric = z.infer<typeof latestMetric>

/** GET /metrics/byProtocol/{protocolId} (section 4.4). */
export function readProtocol({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/metrics/byProtocol/:protocolId',
    schema: {
      operationId: 'readProtocol',
      summary: 'The latest value of each metric of a protocol',
      security: keyIsOptional,
      params,
      response: answers('By metric id', z.array(latestMetric), 400, 401, 404),
    },
    onRequest: keyOptional(store),
    async handler(request): Promise<LatestMetric[]> {
      const protocol = readable(store, request.params.protocolId, optionalCallerOf(request))
      const base = basesIn(store.values, protocol)
      return store.values.latest(protocol.no).map(latest => shown(latest, base))
    },
  })
}

function readable(store: Store, id: string, caller: StoredKey | undefined): Protocol {
  const protocol = store.protocols.find(id)
  if (!protocol) throw new ServiceRefusal(404, `no protocol "${id}" is registered`)
  if (isOpenTo(protocol, caller)) return protocol
  if (caller)
    throw new ServiceRefusal(404, `no protocol "${id}" that this key may read: it is private and another key's`)
  throw new ServiceRefusal(401, `the protocol "${id}" is private: send the key that owns it`)
}

type Base = (latest: LatestValue, spanMs: number) => number | undefined

/** Looks up bases of changes. Metrics with the same instant, as those of one hour, share one query. */
function basesIn(values: StoredValues, protocol: Protocol): Base {
  const cache = new Map<number, ReadonlyMap<number, number>>()
  return ({ metricNo, atMs }, spanMs) => {
    const untilMs = atMs - spanMs
    const bases = cache.get(untilMs) ?? values.newestWithin(protocol.no, untilMs - standsMs, untilMs)
    cache.set(untilMs, bases)
    return bases.get(metricNo)
  }
}

function shown(latest: LatestValue, base: Base): LatestMetric {
  const { id, value, unit, atMs } = latest
  const [change1h, change24h] = [spansMs.change1h, spansMs.change24h].map(spanMs => change(value, base(latest, spanMs)))
  return {
    id,
    value,
    ...(unit === null ? {} : { unit }),
    ...(change1h === undefined ? {} : { change1h }),
    ...(change24h === undefined ? {} : { change24h }),
    timestamp: instantText(atMs),
  }
}
