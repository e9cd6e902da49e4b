import { z } from 'zod'
import { isAddress } from '../../chain/shapes.ts'
import type { Hex } from '../../model/block.ts'
import { type FaultCode, type FaultRecord, faultCodes } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { parsedJson } from '../../model/json.ts'
import { retryAfterMsMax } from '../../model/limits.ts'
import { childMessageCharsMax, type FromChild, hoursBeforeMax, question, type TaskEnd } from '../messages.ts'

/** Lines completed by a piece of text, or that a line is too long. */
type Completed = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

/**
 * Splits text that arrives in pieces into lines. Never holds more than `charsMax` of an incomplete line.
 *
 * @param charsMax of one line
 */
export function boundedLines(charsMax: number): (piece: string) => Completed {
  let pieces: string[] = []
  let held = 0

  return piece => {
    const [first = '', ...rest] = piece.split('\n')
    const last = rest.pop()
    held += first.length
    if (held > charsMax) return { kind: 'too-long' }
    pieces.push(first)
    if (last === undefined) return { kind: 'lines', lines: [] }
    const lines = [pieces.join(''), ...rest]
    pieces = [last]
    held = last.length
    return lines.some(line => line.length > charsMax) ? { kind: 'too-long' } : { kind: 'lines', lines }
  }
}

/** Paths, and secrets, declared by the options of one collector. */
const declaredMax = 1_000

/** Labels of one collector. */
const labelsMax = 10_000

/** Characters of any single text in a child's message; its own code cuts texts much shorter. */
const childTextCharsMax = 8_192

/** Longest name of a host with its port, in characters. */
const hostCharsMax = 300

/**
 * Schemas of a child's messages. A child runs foreign code, so every part is checked: kinds, numbers, lengths. Unknown
 * fields are dropped, and a message that does not fit is invalid.
 */

const text = z.string().max(childTextCharsMax)
const token = z.string().length(32)
const count = z.int().nonnegative()

/** Fault codes a child may report: those of collectors, chains and sources, none of the daemon's own parts. */
const tellable: readonly FaultCode[] = faultCodes.filter(code =>
  /^(collector|chain|http|price|list)-|^stopped$/.test(code),
)

const fault = z
  .object({
    code: z.enum(tellable),
    message: text,
    facts: z.record(text, z.union([text, z.number()])),
    fix: text.optional(),
  })
  .transform(({ code, message, facts, fix }): FaultRecord => {
    return fix === undefined ? { code, message, facts } : { code, message, facts, fix }
  })

const labels = <V extends z.ZodType>(value: V) =>
  z.record(text, value).refine(all => Object.keys(all).length <= labelsMax, { error: 'too many labels' })

const spec = z
  .strictObject({
    unit: text.optional(),
    module: text.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    maxJump: z.union([z.number(), z.templateLiteral([z.number(), '%'])]).optional(),
  })
  .transform(({ unit, module, min, max, maxJump }) => ({
    ...(unit !== undefined && { unit }),
    ...(module !== undefined && { module }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(maxJump !== undefined && { maxJump }),
  }))

const mistake = z
  .object({
    path: z.array(z.union([text, z.number()])).max(100),
    message: text,
    known: z.array(text).max(labelsMax).optional(),
  })
  .transform(({ known, ...same }) => ({ ...same, ...(known && { known }) }))

/** A positive fraction of whole numbers. */
const fraction = z
  .string()
  .max(childTextCharsMax)
  .regex(/^[1-9]\d*\/[1-9]\d*$/)

const priceFound = z.union([
  z.object({ exact: fraction, nearest: z.number().positive() }),
  z.object({ failure: text, isUnread: z.boolean().optional() }),
])

/** Items of a list. */
const listItemsMax = 20_000

const items = z.array(z.custom<Hex>(isAddress)).max(listItemsMax)
const hour = z
  .int()
  .multipleOf(3_600_000)
  .transform(atMs => atMs as Hour)

/** Its blocks are known in the daemon, as those of prices. */
const listed = z
  .object({
    items,
    memory: z.object({ hour, items, blocks: z.array(count).max(listItemsMax).optional() }).optional(),
    first: hour.optional(),
  })
  .transform(list => ({ ...list, pins: [] }))

const description = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('usable'),
    metrics: labels(spec),
    history: z.boolean(),
    declared: z.array(text).max(declaredMax),
    secrets: z.array(text).max(declaredMax),
  }),
  z.object({ kind: z.literal('mistaken'), mistakes: z.array(mistake).min(1).max(labelsMax) }),
])

/** Pins are known in the daemon: those of a child's message are ignored. */
const outcome = z
  .object({ readings: labels(z.number()), failures: labels(fault), ofNone: z.array(text).max(labelsMax).default([]) })
  .transform(({ readings, failures, ofNone }) => ({ readings, failures, ofNone, pins: [] }))

const end = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('described'), description }),
  z.object({ kind: z.literal('schema'), schema: z.unknown() }),
  z.object({ kind: z.literal('collected'), outcome }),
  /** Blocks are known in the daemon: those of a child's message are ignored. */
  z.object({ kind: z.literal('priced'), prices: z.array(priceFound) }).transform(priced => ({ ...priced, pins: [] })),
  z.object({ kind: z.literal('listed'), list: listed }),
  z.object({ kind: z.literal('faulted'), fault }),
]) satisfies z.ZodType<TaskEnd>

const httpReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('http'), text: z.string() }),
  z.object({ kind: z.literal('faulted'), fault }),
])

/** Texts of a request are bounded by the length of a message. */
const http = z.object({
  as: z.enum(['json', 'text']),
  method: z.enum(['GET', 'POST']),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().optional(),
  place: count,
  answer: httpReply.optional(),
})

const host = z
  .string()
  .max(hostCharsMax)
  .regex(/^[^\s/]+:\d{1,5}$/)

const ask = z.union([
  z.object({
    ask: count,
    run: token,
    chain: text,
    question,
    hoursBefore: z.int().min(1).max(hoursBeforeMax).optional(),
  }),
  z.object({ ask: count, run: token, price: text }),
  z.object({ ask: count, run: token, list: text, recent: z.boolean().optional() }),
  z.object({ ask: count, run: token, http }),
  z.object({ ask: count, run: token, host }),
])

const how = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['answered', 'failed']) }),
  z.object({ kind: z.literal('refused'), retryAfterMs: z.number().min(0).max(retryAfterMsMax).optional() }),
])

const fact = z.union([text, z.number(), z.boolean(), z.null()])

const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('pong') }),
  z.object({ kind: z.literal('ended'), runs: z.array(z.object({ run: token, end })) }),
  z.object({ kind: z.literal('asks'), asks: z.array(ask) }),
  z.object({ kind: z.literal('slot-ends'), ends: z.array(z.object({ ask: count, how })) }),
  z.object({
    kind: z.literal('log'),
    collectorId: text,
    level: z.enum(['debug', 'info', 'warn']),
    message: text,
    facts: z.record(text, fact),
  }),
]) satisfies z.ZodType<FromChild>

/** Ten thousand reads take 60,000 parts, as many failures 80,000, and the shortest items of a message 116,000. */
const messageBounds = { bytesMax: childMessageCharsMax, depthMax: 64, partsMax: 120_000 }

/** Of messages with nothing in them that grows. Names of facts are the longest to read: no two need be the same. */
const shortBounds = { bytesMax: 1_048_576, depthMax: 8, partsMax: 1_000 }

/** A child writes the kind first. */
const isLongKind = (line: string) => /^\{"kind":"(asks|ended|slot-ends)",/.test(line)

/** A child's line as a message, or what is wrong with it. Repeats nothing of the line, which may hold anything. */
type Heard = { readonly ok: true; readonly message: FromChild } | { readonly ok: false; readonly wrong: string }

/** Parses a line of a child. Never throws. */
export function heard(line: string): Heard {
  const json = parsedJson(line, isLongKind(line) ? messageBounds : shortBounds)
  if (json === undefined) return { ok: false, wrong: 'not JSON, or nested or divided beyond any use' }
  const result = message.safeParse(json)
  if (result.success) return { ok: true, message: result.data }
  const [issue] = result.error.issues
  // Names of labels are the collector's: of a path only the names listed here are repeated.
  const path = (issue?.path ?? []).filter(part => typeof part === 'string' && ownNames.has(part))
  return {
    ok: false,
    wrong: path.length > 0 ? `its ${path.join('.')} has the wrong form` : 'of an unknown kind',
  }
}

const ownNames = new Set(
  'kind runs run end asks ask chain question hoursBefore level message facts code fix readings failures ofNone outcome description metrics history declared secrets mistakes known requests filter address topics host ends how retryAfterMs prices exact nearest failure isUnread list items memory blocks first hour hours recent'.split(
    ' ',
  ),
)
