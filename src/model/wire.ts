import { z } from 'zod'
import { parseInstant } from './instant.ts'
import { batchMetricsMax } from './limits.ts'

/**
 * What travels between a client and the service, as the interface describes it (sections 2 and 4). The daemon checks
 * what it sends with these, the reference service what it receives: they are all the two share.
 */

const instant = z.string().refine(text => parseInstant(text) !== undefined, {
  error: 'not an ISO 8601 instant that exists; write it like 2026-11-20T13:00:00Z',
})

export const registration = z
  .object({
    id: z.string().min(1).max(200).meta({ description: 'Slug, unique across protocols; sanitised by the service' }),
    name: z.string().min(1).max(200).meta({ description: 'Display name' }),
    logo: z.url().max(2000).optional().meta({ description: 'Address of a logo image' }),
    chains: z.array(z.string().min(1).max(200)).max(100).optional().meta({ description: 'Names of chains' }),
  })
  .meta({ id: 'Registration' })
export type Registration = z.infer<typeof registration>

export const submittedMetric = z
  .object({
    id: z.string().min(1).max(300).meta({ description: '{protocolId}___{Label}' }),
    value: z.number(),
    protocolId: z.string().min(1).max(200),
    unit: z.string().max(100).optional(),
    module: z.string().min(1).max(100).optional().meta({ description: 'Defaults to `protocol`' }),
    timestamp: instant
      .optional()
      .meta({ description: 'Defaults to the start of the current hour', format: 'date-time' }),
  })
  .superRefine((metric, context) => {
    const prefix = `${metric.protocolId}___`
    if (metric.id.startsWith(prefix) && metric.id.length > prefix.length) return
    context.addIssue({
      code: 'custom',
      path: ['id'],
      message: `must be ${prefix}{Label}: protocol id, three underscores, label`,
    })
  })
  .meta({ id: 'SubmittedMetric' })
export type SubmittedMetric = z.infer<typeof submittedMetric>

export const push = z.object({ metrics: z.array(submittedMetric).max(batchMetricsMax) }).meta({ id: 'Push' })
export type Push = z.infer<typeof push>

/** Entries of errors and warnings have no shape in the interface: a client takes them as they come. */
export const pushResult = z
  .object({
    success: z.boolean(),
    processed: z.int().min(0),
    errors: z.array(z.unknown()),
    warnings: z.array(z.unknown()),
  })
  .meta({ id: 'PushResult' })
export type PushResult = z.infer<typeof pushResult>

export const readMetric = z
  .object({
    id: z.string(),
    value: z.number(),
    unit: z.string().nullish(),
    change1h: z.number().nullish(),
    change24h: z.number().nullish(),
    timestamp: z.string(),
  })
  .meta({ id: 'ReadMetric' })
export type ReadMetric = z.infer<typeof readMetric>
