import { z } from 'zod'
import type { StoredKey } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import { type HistoryCursor, newestOf, type StoredValue } from '../store/stored.ts'
import { type Api, answers, keyIsRequired } from './api.ts'
import { callerOf, keyRequired } from './auth.ts'
import { instantText } from './instant-text.ts'
import { ServiceRefusal } from './refusal.ts'

/** Values in one answer: by default, and at most. */
const listedDefault = 1_000
const listedMax = 10_000

const querystring = z.object({
  protocolId: z.string().optional().meta({ description: 'Only metrics of this protocol' }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(listedMax)
    .default(listedDefault)
    .meta({ description: 'Metrics in the answer at most' }),
  after: z.string().optional().meta({ description: 'What `next` was in the answer before this one' }),
})

const listed = z
  .object({
    success: z.literal(true),
    metrics: z.array(
      z.object({
        id: z.string(),
        protocolId: z.string(),
        value: z.number(),
        unit: z.string().optional(),
        module: z.string(),
        timestamp: z.string().meta({ format: 'date-time' }),
      }),
    ),
    next: z.string().optional().meta({ description: 'To be sent as `after` for what follows; absent at the end' }),
  })
  .meta({ id: 'StoredMetrics' })

/** GET /api/metrics (section 4.3): every value stored by the calling key, by protocol, newest first. */
export function listMetrics({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/metrics',
    schema: {
      operationId: 'listMetrics',
      summary: 'List what the calling key has stored',
      security: keyIsRequired,
      querystring,
      response: answers('By protocol id, newest first', listed, 400, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof listed>> {
      const { protocolId, limit, after } = request.query
      const { rows, idByNo } = page(store, callerOf(request), protocolId, positionOf(after), limit)
      const last = rows.length > limit ? rows[limit - 1] : undefined
      const metrics = rows.slice(0, limit).map(row => shown(row, idByNo.get(row.protocolNo) ?? ''))
      return { success: true, metrics, ...(last ? { next: positionText(last) } : {}) }
    },
  })
}

/** The rows of an answer, plus one if there are more. */
function page(
  store: Store,
  caller: StoredKey,
  protocolId: string | undefined,
  after: HistoryCursor | undefined,
  limit: number,
) {
  const protocols = store.protocols.writableBy(caller).filter(({ id }) => protocolId === undefined || id === protocolId)
  const first = after ? protocols.findIndex(({ no }) => no === after.protocolNo) : 0
  const rows: StoredValue[] = []
  for (const { no } of first < 0 ? [] : protocols.slice(first)) {
    if (rows.length > limit) break
    const from = after?.protocolNo === no ? after : newestOf(no)
    rows.push(...store.storedBy(caller.no, from, limit + 1 - rows.length))
  }
  return { rows, idByNo: new Map(protocols.map(({ no, id }) => [no, id])) }
}

function shown({ id, value, unit, module, atMs }: StoredValue, protocolId: string) {
  return { id, protocolId, value, ...(unit === null ? {} : { unit }), module, timestamp: instantText(atMs) }
}

function positionText({ protocolNo, atMs, metricNo }: HistoryCursor): string {
  return `${protocolNo}.${atMs}.${metricNo}`
}

function positionOf(text: string | undefined): HistoryCursor | undefined {
  if (text === undefined) return undefined
  const [, protocolNo, atMs, metricNo] = /^(\d{1,15})\.(-?\d{1,15})\.(\d{1,15})$/.exec(text) ?? []
  if (protocolNo === undefined) {
    throw new ServiceRefusal(400, 'invalid after', [{ field: 'after', message: 'is not the `next` of an answer' }])
  }
  return { protocolNo: Number(protocolNo), atMs: Number(atMs), metricNo: Number(metricNo) }
}
