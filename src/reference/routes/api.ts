import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import type { Time } from '../../edge/time.ts'
import type { TypedWebServer } from '../../edge/web-server.ts'
import type { Store } from '../store/store.ts'
import { refused } from './refusal.ts'

/** Dependencies of a route. */
export interface Api {
  readonly server: TypedWebServer<ZodTypeProvider>
  readonly store: Store
  readonly time: Time
}

/** Security of a route in the OpenAPI document: a key is required. */
export const keyIsRequired = [{ apiKey: [] }]
export const keyIsOptional = [{}, { apiKey: [] }]

const meanings = {
  400: 'The request is invalid; every mistake is listed',
  401: 'The key is missing or not valid',
  404: 'No such protocol, or it is not open to the key',
  413: 'The body is too large',
  415: 'The body is not sent as application/json',
  500: 'The service failed; to be tried again',
  503: 'The service cannot store now; to be tried again',
} as const
type RefusalStatus = keyof typeof meanings

/** The answers of a route: its 200 answer, and the statuses it may refuse with (500 and 503 always). */
export function answers<S extends z.ZodType, R extends RefusalStatus>(
  description: string,
  schema: S,
  ...statuses: R[]
) {
  const json = <T extends z.ZodType>(text: string, each: T) => ({
    description: text,
    content: { 'application/json': { schema: each } },
  })
  const refusals = [...statuses, 500, 503] as const
  return {
    200: json(description, schema),
    ...Object.fromEntries(refusals.map(status => [status, json(meanings[status], refused)])),
  }
}
