import { z } from 'zod'
import type { ReadRequest } from '../chain/reads.ts'
import type { Hex, LogFilter } from '../model/block.ts'
import { Fault } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'

/** The form of recordings. Another one is refused. */
export const recordingForm = 1

const hex = z.custom<Hex>(value => typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value), {
  error: 'must be 0x and hexadecimal digits',
})

const request = z.custom<ReadRequest>(value => typeof value === 'object' && value !== null && 'kind' in value)

const place = {
  chain: z.string(),
  /** Whole hours before the hour of the recording. Default: 0. */
  hoursBefore: z.int().positive().optional(),
}

const chainRead = z.strictObject({
  ...place,
  read: request,
  returned: hex.optional(),
  reverted: hex.optional(),
  /** The returned bytes as a number, for people. */
  number: z.string().optional(),
})

const log = z.strictObject({
  address: hex,
  topics: z.array(hex),
  data: hex,
  blockNumber: z.int(),
  logIndex: z.number(),
  transactionHash: hex,
})

const logsRead = z.strictObject({
  ...place,
  logs: z.custom<LogFilter>(),
  /** The first hour whose logs count. Default: the hour itself. */
  since: z.string().optional(),
  answer: z.array(log),
})

const fault = z.strictObject({
  code: z.enum(['http-unreachable', 'http-refused', 'http-unexpected']),
  message: z.string(),
  facts: z.record(z.string(), z.union([z.string(), z.number()])),
  fix: z.string().optional(),
})

const answer = z.union([
  z.strictObject({ json: z.unknown() }),
  z.strictObject({ text: z.string() }),
  z.strictObject({ fault }),
])

const httpRead = z.strictObject({
  /** Method and address: `GET https://api.example.com/tvl`. */
  request: z.string(),
  /** Names of the headers: their values are never recorded. */
  headers: z.array(z.string()),
  /** Absent without one. JSON as it is, or a text. */
  body: z.unknown().optional(),
  /** One; of a request whose answers differ, all of them in the order of asking. */
  answers: z.array(answer).min(1),
})

const recording = z.strictObject({
  recording: z.literal(recordingForm),
  hour: z.string(),
  /** By name: chain id, and the as-of blocks by hour. */
  chains: z.record(
    z.string(),
    z.strictObject({
      id: z.int(),
      blocks: z.record(z.string(), z.strictObject({ number: z.int(), hash: hex, timestampSeconds: z.int() })),
    }),
  ),
  reads: z.array(z.union([chainRead, logsRead])),
  /** US dollars by name, rounded and as an exact fraction. */
  prices: z.record(z.string(), z.strictObject({ usd: z.number(), exact: z.string() })),
  /** Addresses by the name of their list. Absent where none was read. */
  lists: z.record(z.string(), z.array(hex)).optional(),
  http: z.array(httpRead),
  /** Stand-ins of the secrets that are addresses, by their path in the options. */
  addresses: z.record(z.string(), z.string()).optional(),
})

/** All that one run of a collector read, as a JSON value. It holds no secret. */
export type Recording = z.output<typeof recording>

/** Reads of a recording. */
export type RecordedRead = Recording['reads'][number]
export type RecordedHttp = Recording['http'][number]
export type RecordedAnswer = RecordedHttp['answers'][number]

/** Checks a recording, as parsed from its file. @throws Fault `usage` for another form */
export function parsedRecording(value: unknown): Recording {
  const form = typeof value === 'object' && value !== null ? Reflect.get(value, 'recording') : undefined
  if (form !== recordingForm) {
    const problem = form === undefined ? 'it is not a recording' : `it has form ${String(form)}`
    throw new Fault(
      'usage',
      `the recording cannot be replayed: ${problem}, and this version reads form ${recordingForm}`,
      {
        fix: 'make it again with record()',
      },
    )
  }
  const result = recording.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new Fault('usage', `the recording is damaged at ${issue?.path.join('.') ?? '?'}: ${issue?.message}`, {
    fix: 'make it again with record()',
  })
}

/** A question for logs, as it is recorded. */
export interface LogsQuestion {
  readonly filter: LogFilter
  /** The first hour whose logs count. Default: the hour itself. */
  readonly since?: string | undefined
}

interface AnyQuestion {
  readonly kind: string
  readonly filter?: LogFilter
  readonly since?: Hour
}

/** A question for logs; `undefined` for another one. */
export function logsAsked(question: AnyQuestion): LogsQuestion | undefined {
  const { filter, since } = question
  return filter && { filter, ...(since !== undefined && { since: hourText(since) }) }
}

/** A text that is equal for equal reads of a chain, whatever the case of their digits and their names for people. */
export function readKey(chain: string, hoursBefore: number, request: ReadRequest): string {
  const { name: _, returns: __, ...same } = { name: undefined, returns: undefined, ...request }
  return keyOf([chain, hoursBefore, same])
}

/** The same of logs. */
export function logsKey(
  chain: string,
  hoursBefore: number,
  { filter: { address, topics }, since }: LogsQuestion,
): string {
  return keyOf([chain, hoursBefore, 'logs', address, topics, ...(since === undefined ? [] : [since])])
}

/** A text that is equal for equal off-chain requests. */
export function httpKey({ request, headers, body }: Omit<RecordedHttp, 'answers'>): string {
  return JSON.stringify(sorted([request, headers, body ?? null]))
}

/** A read in words. */
export function readText(chain: string, hoursBefore: number, request: ReadRequest): string {
  const placeText = atText(chain, hoursBefore)
  switch (request.kind) {
    case 'call':
      return `${placeText} ${request.name ?? `call ${request.input}`} of ${request.to}`
    case 'call-from':
      return `${placeText} ${request.name ?? `call ${request.input}`} of ${request.to}, from ${request.from}`
    case 'balance':
      return `${placeText} balance of ${request.address}`
    case 'storage':
      return `${placeText} storage slot ${request.slot} of ${request.address}`
  }
}

/** The same of logs. */
export function logsText(
  chain: string,
  hoursBefore: number,
  { filter: { address, topics }, since }: LogsQuestion,
): string {
  const from = since === undefined ? '' : ` since ${since}`
  return `${atText(chain, hoursBefore)} logs${from} of ${[address].flat().join(', ')} with topics ${JSON.stringify(topics)}`
}

/** The chain, and how far back. */
export function atText(chain: string, hoursBefore: number): string {
  return `chain ${chain}${hoursBefore > 0 ? `, ${hoursBefore} hours before` : ''}:`
}

/** An off-chain request in words. */
export function httpText({ request, headers, body }: Omit<RecordedHttp, 'answers'>): string {
  const sent = body === undefined ? '' : `, body ${JSON.stringify(body).slice(0, 300)}`
  return `${request} (headers ${headers.join(', ')}${sent})`
}

function keyOf(parts: readonly unknown[]): string {
  return JSON.stringify(sorted(parts)).replace(/"0x[0-9a-fA-F]*"/g, hex => hex.toLowerCase())
}

/** The value with the names of its maps in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  )
}
