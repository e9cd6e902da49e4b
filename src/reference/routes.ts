import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Time } from '../edge/time.ts'
import type { TypedWebServer, WebReply, WebRequest } from '../edge/web-server.ts'
import { hourAt, parseIsoInstant } from '../model/hour.ts'
import { batchMetricsMax, futureMsMax, hourMs, labelCharsAdvised } from '../model/limits.ts'
import { type Push, push, pushResult, registration, type SubmittedMetric } from '../model/wire.ts'
import {
  type HistoryCursor,
  isOpenTo,
  type LatestValue,
  type NewValue,
  newestOf,
  type Protocol,
  type Store,
  type StoredKey,
  type StoredValue,
} from './store.ts'

/** One mistake of a request, or one warning: its place and its text. */
const remark = z
  .object({
    index: z.int().min(0).optional().meta({ description: 'Place in the array, counted from 0' }),
    id: z.string().optional().meta({ description: 'Id of the metric, as sent' }),
    field: z.string().optional().meta({ description: 'Name of the field' }),
    message: z.string().meta({ description: 'What is wrong, as a sentence' }),
  })
  .meta({ id: 'Remark' })
type RefusalRemark = z.infer<typeof remark>

/** Body of every answer that is not 2xx. */
const refused = z
  .object({
    success: z.literal(false),
    error: z.string().meta({ description: 'What is wrong, in one line' }),
    errors: z.array(remark).meta({ description: 'Every single mistake, where the request has any to point at' }),
  })
  .meta({ id: 'Refused' })
type RefusalBody = z.infer<typeof refused>

/** A refused request, with its status. The text is sent to the client and never holds a key. */
export class ServiceRefusal extends Error {
  override readonly name = 'Refusal'
  readonly statusCode: number
  readonly remarks: readonly RefusalRemark[]

  constructor(statusCode: number, message: string, remarks: readonly RefusalRemark[] = []) {
    super(message)
    this.statusCode = statusCode
    this.remarks = remarks
  }

  get body(): RefusalBody {
    return { success: false, error: this.message, errors: [...this.remarks] }
  }
}

/** Refusal 400 for all mistakes a schema found in a part of a request (`body`, `querystring`, `params`). */
export function invalid(part: string, error: z.ZodError): ServiceRefusal {
  return refusedFor(part, error.issues.map(remarkOf))
}

/** Refusal 400 that quotes the first remark and counts the others. */
function refusedFor(part: string, remarks: readonly RefusalRemark[]): ServiceRefusal {
  const more = remarks.length > 1 ? ` (and ${remarks.length - 1} more: see errors)` : ''
  return new ServiceRefusal(400, `invalid ${part}: ${sentence(remarks[0])}${more}`, remarks)
}

function remarkOf({ path, message }: z.core.$ZodIssue): RefusalRemark {
  const index = path.find(part => typeof part === 'number')
  const field = path.findLast(part => typeof part === 'string')
  return { index, field, message: message.replace(/^Invalid input: /, '') }
}

/** `[3] value: is missing` */
function sentence(remark: RefusalRemark | undefined): string {
  if (!remark) return ''
  const place = [remark.index === undefined ? '' : `[${remark.index}]`, remark.field ?? ''].filter(part => part !== '')
  return place.length === 0 ? remark.message : `${place.join(' ')}: ${remark.message}`
}

/** An instant in this service's notation: UTC, with a fraction only if there is one (`2026-11-20T13:00:00Z`). */
function instantText(instantMs: number): string {
  return new Date(instantMs).toISOString().replace('.000Z', 'Z')
}

/**
 * Normalises a protocol id: each character that is not an ASCII letter, digit, `-` or `_` becomes one `-`. Upper case
 * is kept, as the interface only recommends lower case. Idempotent.
 */
export function slug(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/gu, '-')
}

/** Dependencies of a route. */
interface Api {
  readonly server: TypedWebServer<ZodTypeProvider>
  readonly store: Store
  readonly time: Time
}

/** Adds the six endpoints of the interface. */
export function addRoutes(api: Api): void {
  for (const add of [registerProtocol, pushMetrics, listMetrics, readProtocol, validateProtocol, validateKey]) add(api)
}

/** Security of a route in the OpenAPI document: a key is required. */
const keyIsRequired = [{ apiKey: [] }]
const keyIsOptional = [{}, { apiKey: [] }]

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
function answers<S extends z.ZodType, R extends RefusalStatus>(description: string, schema: S, ...statuses: R[]) {
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

const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** Finds the caller of a request, once, before its body is read. */
type Hook = (request: WebRequest, reply: WebReply) => Promise<void>

/** Refuses a request without a valid key: 401. */
function keyRequired(store: Store): Hook {
  return async request => {
    request.setDecorator('caller', validKey(request.headers.authorization, store))
  }
}

/** Accepts a request without a key; a key that is sent must be valid. */
function keyOptional(store: Store): Hook {
  return async request => {
    const header = request.headers.authorization
    if (header !== undefined) request.setDecorator('caller', validKey(header, store))
  }
}

/** The caller of a request accepted by `keyRequired`. */
function callerOf(request: WebRequest): StoredKey {
  const caller = optionalCallerOf(request)
  if (!caller) throw new Error('a route that asks for its caller has no hook that requires a key')
  return caller
}

/** The caller of a request accepted by `keyOptional`; `undefined` without a key. */
function optionalCallerOf(request: WebRequest): StoredKey | undefined {
  return request.getDecorator<StoredKey | null>('caller') ?? undefined
}

function validKey(header: string | undefined, store: Store): StoredKey {
  if (header === undefined)
    throw new ServiceRefusal(401, 'no key: send it in the header Authorization as Bearer <API_KEY>')
  const key = bearer.exec(header)?.[1]
  if (key === undefined) throw new ServiceRefusal(401, 'the header Authorization is not of the form Bearer <API_KEY>')
  const caller = store.keys.find(key)
  if (!caller) throw new ServiceRefusal(401, 'the key is not valid: it is unknown, revoked or was replaced')
  return caller
}

const body = registration
  .extend({ public: z.boolean().optional().meta({ description: 'Readable and writable by all; false when absent' }) })
  .meta({ id: 'ProtocolRegistration' })

const protocol = z
  .object({
    id: z.string().meta({ description: 'The sanitised id' }),
    name: z.string(),
    logo: z.string().optional(),
    chains: z.array(z.string()).optional(),
    public: z.boolean(),
  })
  .meta({ id: 'Protocol' })

const registered = z.object({ success: z.literal(true), protocol }).meta({ id: 'Registered' })

/** POST /api/register-protocol (section 4.1). */
function registerProtocol({ server, store }: Api): void {
  server.route({
    method: 'POST',
    url: '/api/register-protocol',
    schema: {
      operationId: 'registerProtocol',
      summary: 'Register a protocol, owned by the calling key',
      security: keyIsRequired,
      body,
      response: answers('The protocol as it was created', registered, 400, 401, 413, 415),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof registered>> {
      const { public: isPublic, id, name, logo, chains } = request.body
      const asked = { id: slug(id), name, logo, chains, visibility: isPublic ? 'public' : 'private' } as const
      const created = store.protocols.register(asked, callerOf(request))
      if (!created) throw taken(id, asked.id)
      return { success: true, protocol: shown(created) }
    },
  })
}

function taken(id: string, sanitised: string): ServiceRefusal {
  const message = `the protocol id "${sanitised}" is taken${id === sanitised ? '' : ` ("${id}", sanitised)`}`
  return new ServiceRefusal(400, message, [{ field: 'id', message: 'is taken: choose another' }])
}

function shown({ no: _no, ownerNo: _ownerNo, visibility, chains, ...rest }: Protocol): z.infer<typeof protocol> {
  return { ...rest, chains: chains && [...chains], public: visibility === 'public' }
}

/** Timestamps too far ahead in an unvalidated body, so that metrics with other mistakes are included. */
function timestampsAhead(body: unknown, nowMs: number): RefusalRemark[] {
  const untilMs = nowMs + futureMsMax
  return sentMetrics(body).flatMap((metric, index) => {
    if (typeof metric.timestamp !== 'string' || !((parseIsoInstant(metric.timestamp) ?? 0) > untilMs)) return []
    const message = `more than 5 minutes ahead of the service's clock, which says ${instantText(nowMs)}`
    return [{ index, ...idOf(metric), field: 'timestamp', message }]
  })
}

/** Remarks in the order of the metrics, each with the id that was sent, for clients that match by id. */
function withMetricIds(remarks: readonly RefusalRemark[], body: unknown): RefusalRemark[] {
  const metrics = sentMetrics(body)
  const ordered = remarks.toSorted((one, other) => (one.index ?? -1) - (other.index ?? -1))
  return ordered.map(({ index, ...rest }) => (index === undefined ? rest : { index, ...idOf(metrics[index]), ...rest }))
}

interface SentMetric {
  readonly id?: unknown
  readonly timestamp?: unknown
}

function sentMetrics(body: unknown): SentMetric[] {
  const metrics = typeof body === 'object' && body !== null && 'metrics' in body ? body.metrics : []
  return Array.isArray(metrics)
    ? metrics.map(metric => (typeof metric === 'object' && metric !== null ? metric : {}))
    : []
}

function idOf(metric: SentMetric | undefined): { id?: string } {
  return typeof metric?.id === 'string' ? { id: metric.id } : {}
}

/** A metric and the protocol it may be written to. */
interface Addressed {
  readonly metric: SubmittedMetric
  readonly protocol: Protocol
}

/**
 * Finds the protocol of each metric.
 *
 * @throws Refusal 404 that names every metric whose protocol is not registered or not open to the key
 */
function addressed(push: Push, find: (id: string) => Protocol | undefined, key: StoredKey): Addressed[] {
  const protocols = new Map<string, Protocol | undefined>()
  const remarks: RefusalRemark[] = []
  const problems = push.metrics.flatMap((metric, index) => {
    const { id, protocolId } = metric
    if (!protocols.has(protocolId)) protocols.set(protocolId, find(protocolId))
    const protocol = protocols.get(protocolId)
    if (protocol && isOpenTo(protocol, key)) return { metric, protocol }
    remarks.push({ index, id, field: 'protocolId', message: notFound(protocolId) })
    return []
  })
  if (remarks.length > 0) throw new ServiceRefusal(404, remarks[0]?.message ?? '', remarks)
  return problems
}

function notFound(protocolId: string): string {
  return `no protocol "${protocolId}" that this key may write: register it first, or use the key that owns it`
}

/** The rows of a valid push, with default module and timestamp. */
function valuesOf(metrics: readonly Addressed[], nowMs: number): NewValue[] {
  const startOfHourMs = hourAt(nowMs)
  return metrics.map(({ metric: { id, value, unit, module = 'protocol', timestamp }, protocol }) => {
    const atMs = (timestamp === undefined ? undefined : parseIsoInstant(timestamp)) ?? startOfHourMs
    return { protocolNo: protocol.no, id, atMs, value, unit, module }
  })
}

/** Warnings on a stored push: long labels, and metrics that existed (by their index in the push). */
function warningsOf(push: Push, updatedIndexes: readonly number[]): RefusalRemark[] {
  const updatedPlaces = new Set(updatedIndexes)
  return push.metrics.flatMap((metric, index) => [
    ...labelWarning(metric, index),
    ...(updatedPlaces.has(index)
      ? [{ index, id: metric.id, message: 'existed with this timestamp: its value was updated' }]
      : []),
  ])
}

function labelWarning({ id, protocolId }: SubmittedMetric, index: number): RefusalRemark[] {
  const chars = [...id.slice(protocolId.length + 3)].length
  if (chars <= labelCharsAdvised) return []
  return [
    { index, id, field: 'id', message: `label of ${chars} characters: ${labelCharsAdvised} or fewer are advised` },
  ]
}

const pushAnswer = pushResult
  .extend({ success: z.literal(true), errors: z.array(remark).max(0), warnings: z.array(remark) })
  .meta({ id: 'PushAnswer' })

/** POST /api/metrics (section 4.2): stores a whole push in one transaction, or nothing of it. */
function pushMetrics({ server, store, time }: Api): void {
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
      const nowMs = time.nowMs()
      refuseMistakes(request.validationError, request.body, timestampsAhead(request.body, nowMs))
      const caller = callerOf(request)
      const values = valuesOf(addressed(request.body, store.protocols.find, caller), nowMs)
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

/** Values in one answer: by default, and at most. */
const listedDefault = 1_000
const listedMax = 10_000

const listQuery = z.object({
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
function listMetrics({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/metrics',
    schema: {
      operationId: 'listMetrics',
      summary: 'List what the calling key has stored',
      security: keyIsRequired,
      querystring: listQuery,
      response: answers('By protocol id, newest first', listed, 400, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof listed>> {
      const { protocolId, limit, after } = request.query
      const { rows, idByNo } = page(store, callerOf(request), protocolId, positionOf(after), limit)
      const last = rows.length > limit ? rows[limit - 1] : undefined
      const metrics = rows.slice(0, limit).map(row => listedMetric(row, idByNo.get(row.protocolNo) ?? ''))
      return { success: true, metrics, ...(last ? { next: positionText(last) } : {}) }
    },
  })
}

/** The rows of an answer, plus one if there are more. */
function page(
  store: Store,
  caller: StoredKey,
  protocolId: string | undefined,
  cursor: HistoryCursor | undefined,
  limit: number,
) {
  const protocols = store.protocols.writableBy(caller).filter(({ id }) => protocolId === undefined || id === protocolId)
  const first = cursor ? protocols.findIndex(({ no }) => no === cursor.protocolNo) : 0
  const rows: StoredValue[] = []
  for (const { no: protocolNo } of first < 0 ? [] : protocols.slice(first)) {
    if (rows.length > limit) break
    const from = cursor?.protocolNo === protocolNo ? cursor : newestOf(protocolNo)
    rows.push(...store.storedBy(caller.no, from, limit + 1 - rows.length))
  }
  return { rows, idByNo: new Map(protocols.map(({ no, id }) => [no, id])) }
}

function listedMetric({ id, value, unit, module, atMs }: StoredValue, protocolId: string) {
  return { id, protocolId, value, unit: unit ?? undefined, module, timestamp: instantText(atMs) }
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

/** The two spans of changes. */
const spansMs = { change1h: hourMs, change24h: 24 * hourMs } as const

/**
 * Time for which a value stays valid: one hour, the posting interval the interface recommends. A base is the newest
 * value in `(instant − span − standsMs, instant − span]`. With values every full hour that is the value exactly one
 * span before; a missing hour gives no base instead of an older one.
 */
const standsMs = hourMs

/**
 * Change from a base to a value, in the metric's unit: a difference, which exists for a base of 0, unlike a percentage.
 *
 * @returns `undefined` without a base, and when the difference is too large for a double
 */
function change(value: number, base: number | undefined): number | undefined {
  if (base === undefined) return undefined
  const difference = value - base
  return Number.isFinite(difference) ? difference : undefined
}

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
function readProtocol({ server, store }: Api): void {
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
      return store.values.latest(protocol.no).map(latest => shownMetric(latest, base))
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
function basesIn(values: Store['values'], protocol: Protocol): Base {
  const cache = new Map<number, ReadonlyMap<number, number>>()
  return ({ metricNo, atMs }, spanMs) => {
    const untilMs = atMs - spanMs
    const bases = cache.get(untilMs) ?? values.newestWithin(protocol.no, untilMs - standsMs, untilMs)
    cache.set(untilMs, bases)
    return bases.get(metricNo)
  }
}

function shownMetric(latest: LatestValue, base: Base): LatestMetric {
  const { id, value, unit, atMs } = latest
  const [change1h, change24h] = [spansMs.change1h, spansMs.change24h].map(spanMs => change(value, base(latest, spanMs)))
  return { id, value, unit: unit ?? undefined, change1h, change24h, timestamp: instantText(atMs) }
}

const validateQuery = z.object({
  id: registration.shape.id.meta({ description: 'The protocol slug to check' }),
})

const availability = z
  .object({
    success: z.literal(true),
    id: z.string().meta({ description: 'The id as it would be kept: sanitised' }),
    available: z.boolean().meta({ description: 'Whether it can be registered now' }),
    owned: z.boolean().meta({ description: 'Whether the calling key owns the protocol of this id' }),
  })
  .meta({ id: 'Availability' })

/** GET /api/validate-protocol (section 4.5). */
function validateProtocol({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/validate-protocol',
    schema: {
      operationId: 'validateProtocol',
      summary: 'Check whether a protocol id can be used',
      security: keyIsRequired,
      querystring: validateQuery,
      response: answers('Whether the id is free', availability, 400, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof availability>> {
      const id = slug(request.query.id)
      const taken = store.protocols.find(id)
      return { success: true, id, available: !taken, owned: taken?.ownerNo === callerOf(request).no }
    },
  })
}

const validity = z
  .object({
    success: z.literal(true),
    valid: z.literal(true),
    name: z.string().meta({ description: 'Name the key was given when it was made' }),
  })
  .meta({ id: 'KeyValidity' })

/** GET /api/validate-key (section 4.6). An invalid key is answered 401, as everywhere. */
function validateKey({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/validate-key',
    schema: {
      operationId: 'validateKey',
      summary: 'Check that the key is valid',
      security: keyIsRequired,
      response: answers('The key is valid', validity, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof validity>> {
      return { success: true, valid: true, name: callerOf(request).name }
    },
  })
}
