import { z } from 'zod'
import { batchMetricsMax } from '../../model/limits.ts'
import { push, pushResult } from '../../model/wire.ts'
import { type Api, answers, keyIsRequired } from './api.ts'
import { callerOf, keyRequired } from './auth.ts'
import { addressed, parseInstantOnce, timestampsAhead, valuesOf, warningsOf, withMetricIds } from './push.ts'
import { type RefusalRemark, refusedFor, remark, ServiceRefusal } from './refusal.ts'

const pushAnswer = pushResult
  .extend({ success: z.literal(true), errors: z.array(remark).max(0), warnings: z.array(remark) })
  .meta({ id: 'PushAnswer' })

/** POST /api/metrics (section 4.2): stores a whole push in one transaction, or nothing of it. */
export function pushMetrics({ server, store, time }: Api): void {
  server.route({
    method: 'POST',
    url: '/api/metrics',
    schema: {
      operationId: 'pushMetrics',
      summary: 'Push a batch of metrics',
      security: keyIsRequired,
      body: push,
      response: answers('All metrics are stored', pushAnswer, 400, 401, 404, 413, 415),
    },
    onRequest: keyRequired(store),
    preValidation: async request => refuseTooMany(request.body),
    attachValidation: true,
    async handler(request): Promise<z.infer<typeof pushAnswer>> {
      const [nowMs, parse] = [time.nowMs(), parseInstantOnce()]
      refuseMistakes(request.validationError, request.body, timestampsAhead(request.body, nowMs, parse))
      const caller = callerOf(request)
      const values = valuesOf(addressed(request.body, store.protocols.find, caller), nowMs, parse)
      const updated = await store.values.put(values, caller.no)
      return { success: true, processed: values.length, errors: [], warnings: warningsOf(request.body, updated) }
    },
  })
}

/** Refuses too many metrics before the schema checks each of them. */
function refuseTooMany(body: unknown): void {
  const metrics = typeof body === 'object' && body !== null && 'metrics' in body ? body.metrics : undefined
  if (!Array.isArray(metrics) || metrics.length <= batchMetricsMax) return
  const message = `holds ${metrics.length} metrics: ${batchMetricsMax} are the most`
  throw new ServiceRefusal(400, `the push ${message}`, [{ field: 'metrics', message }])
}

function refuseMistakes(validationError: unknown, body: unknown, ahead: readonly RefusalRemark[]): void {
  const shape = validationError instanceof ServiceRefusal ? validationError.remarks : []
  const remarks = withMetricIds([...shape, ...ahead], body)
  if (remarks.length > 0) throw refusedFor('body', remarks)
  if (validationError) throw validationError
}
