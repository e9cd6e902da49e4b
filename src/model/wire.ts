import { z } from 'zod'
import { parseIsoInstant } from './iso-instant.ts'
import { batchMetricsMax } from './limits.ts'

/**
 * What travels between a client and the service, as the interface describes it (sections 2 and 4). The daemon checks
 * what it sends with these, the reference service what it receives: they are all the two share.
 */

/** 0000-01-01T00:00:00Z: what lies before it in UTC cannot be written with four digits of year. */
const earliestMs = -62_167_219_200_000

const instant = z.string().refine(text => (parseIsoInstant(text) ?? Number.NEGATIVE_INFINITY) >= earliestMs, {
  error: 'not an ISO 8601 instant that exists; write it like 2026-11-20T13:00:00Z',
})

/** Text of well-formed Unicode (a lone surrogate cannot be stored or sent as UTF-8), counted in code points. */
function text(charsMin: number, charsMax: number) {
  return z
    .string()
    .min(charsMin)
    .refine(value => value.length <= charsMax || [...value].length <= charsMax, {
      error: `longer than ${charsMax} characters`,
    })
    .refine(value => value.isWellFormed(), { error: 'not well-formed Unicode: it holds half of a surrogate pair' })
    .meta({ maxLength: charsMax })
}

/** What a page may show as an image: a script or a file's address may not. */
const webAddress = z.url({ protocol: /^https?$/, error: 'not an http or https URL' })

/** Body of endpoint 1 (4.1). */
export const registration = z
  .object({
    id: text(1, 200).meta({ description: 'Slug, unique across protocols; sanitised by the service' }),
    name: text(1, 200).meta({ description: 'Display name' }),
    logo: text(1, 2000).pipe(webAddress).optional().meta({ description: 'Address of a logo image', format: 'uri' }),
    chains: z.array(text(1, 200)).max(100).optional().meta({ description: 'Names of chains' }),
  })
  .meta({ id: 'Registration' })
export type Registration = z.infer<typeof registration>

/** A metric as submitted (2.2). */
export const submittedMetric = z
  .object({
    id: text(1, 300).meta({ description: '{protocolId}___{Label}' }),
    value: z.number().meta({ description: 'Finite; a number too large for a double is refused' }),
    protocolId: text(1, 200).meta({ description: 'Slug of a registered protocol' }),
    unit: text(0, 100).optional().meta({ description: 'Free-form label; keep it consistent per metric id' }),
    module: text(1, 100).optional().meta({ description: 'Defaults to `protocol`' }),
    timestamp: instant
      .optional()
      .meta({ description: 'At most 5 minutes ahead; defaults to the start of the current hour', format: 'date-time' }),
  })
  .refine(({ id, protocolId }) => id.startsWith(`${protocolId}___`) && id.length > protocolId.length + 3, {
    path: ['id'],
    error: 'must be {protocolId}___{Label}: protocol id, three underscores, label',
    // Also when another field is wrong, so that all mistakes are named at once.
    when: ({ value }) => hasIds(value),
  })
  .meta({ id: 'SubmittedMetric' })
export type SubmittedMetric = z.infer<typeof submittedMetric>

function hasIds(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('id' in value && 'protocolId' in value)) return false
  return typeof value.id === 'string' && typeof value.protocolId === 'string'
}

/** Body of endpoint 2 (4.2). */
export const push = z.object({ metrics: z.array(submittedMetric).max(batchMetricsMax) }).meta({ id: 'Push' })
export type Push = z.infer<typeof push>

/**
 * The body of a push as the daemon sends it, of metrics that were checked by `submittedMetric` on their way in: types, a
 * finite value and the size of the batch, at a cost next to nothing.
 */
export const sentPush = z.object({
  metrics: z
    .array(
      z.object({
        id: z.string(),
        value: z.number(),
        protocolId: z.string(),
        unit: z.string().optional(),
        module: z.string().optional(),
        timestamp: z.string(),
      }),
    )
    .min(1)
    .max(batchMetricsMax),
})
export type SentPush = z.infer<typeof sentPush>

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

/** A metric as read (2.3). */
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
