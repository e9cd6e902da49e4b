import { z } from 'zod'
import { parseIsoInstant } from './hour.ts'
import { batchMetricsMax } from './limits.ts'

/**
 * Messages between a client and the service, as sections 2 and 4 of the interface define them. The daemon checks what
 * it sends with these schemas, the reference service what it receives: the two share nothing else.
 */

/** 0000-01-01T00:00:00Z: an earlier instant cannot be written in UTC with a year of four digits. */
const earliestMs = -62_167_219_200_000

const instant = z.string().refine(text => (parseIsoInstant(text) ?? Number.NEGATIVE_INFINITY) >= earliestMs, {
  error: 'not an ISO 8601 instant that exists; write it like 2026-11-20T13:00:00Z',
})

/** Text of well-formed Unicode (a lone surrogate cannot be stored or sent as UTF-8) without a NUL, counted in code points. */
function text(charsMin: number, charsMax: number) {
  return z
    .string()
    .min(charsMin)
    .refine(value => value.length <= charsMax || [...value].length <= charsMax, {
      error: `longer than ${charsMax} characters`,
    })
    .refine(value => value.isWellFormed(), { error: 'not well-formed Unicode: it holds half of a surrogate pair' })
    .refine(value => !value.includes('\0'), { error: 'a NUL stands in it, which databases do not store' })
    .meta({ maxLength: charsMax })
}

/** An address a page may show as an image: not a script or a file. */
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
    // Checked even when another field is wrong, so that all mistakes are reported at once.
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
 * Body of a push as the daemon sends it. Its metrics passed `submittedMetric` when they were collected, so this checks
 * only types, finite values and the batch size, at little cost.
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

/** Entries of errors and warnings have no shape in the interface: a client accepts any. */
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
