import { z } from 'zod'
import { isAddress } from '../../chain/shapes.ts'
import type { Hex } from '../../model/block.ts'
import { type FaultCode, type FaultRecord, faultCodes } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { parsedJson } from '../../model/json.ts'
import { retryAfterMsMax } from '../../model/limits.ts'
import { isLabel } from '../../model/metric.ts'
import { oneLine } from '../../model/text.ts'
import {
  type Ask,
  childMessageCharsMax,
  childMessageEntriesMax,
  type FromChild,
  hoursBeforeMax,
  question,
  type TaskEnd,
} from '../messages.ts'

/** Lines completed by a piece of text, or that a line is too long. */
type Completed = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

/**
 * Splits text that arrives in pieces into lines. Never holds more than `charsMax` of an incomplete line.
 *
 * @param charsMax of one line
 */
export function boundedLines(charsMax: number): (piece: string) => Completed {
  let pieces: string[] = []
  let heldChars = 0

  return piece => {
    const [first = '', ...wholeLines] = piece.split('\n')
    const last = wholeLines.pop()
    heldChars += first.length
    if (heldChars > charsMax) return { kind: 'too-long' }
    pieces.push(first)
    if (last === undefined) return { kind: 'lines', lines: [] }
    const lines = [pieces.join(''), ...wholeLines]
    pieces = [last]
    heldChars = last.length
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
const line = text.transform(oneLine)

const token = z.string().length(32)
const count = z.int().nonnegative()

/** Fault codes a child may report: those of collectors, chains and sources, none of the daemon's own parts. */
const tellable: readonly FaultCode[] = faultCodes.filter(code =>
  /^(collector|chain|http|price|list)-|^stopped$/.test(code),
)

const fault = z
  .object({
    code: z.enum(tellable),
    message: line,
    facts: labels(z.union([line, z.number()])),
    fix: line.optional(),
  })
  .transform(({ code, message, facts, fix }): FaultRecord => {
    return fix === undefined ? { code, message, facts } : { code, message, facts, fix }
  })

const notParsed = z.NEVER

/** The issue of the first part that is wrong. zod keeps all reasons of all parts, which take thousands of times their bytes. */
function firstIssue(place: PropertyKey, error: z.ZodError): { readonly code: 'custom'; readonly path: PropertyKey[] } {
  return { code: 'custom', path: [place, ...(error.issues[0]?.path ?? [])] }
}

/** A list whose items are parsed up to the first that is wrong. */
function listOf<Item extends z.ZodType>(item: Item, itemsMax: number) {
  return z
    .array(z.unknown())
    .max(itemsMax)
    .transform((written, context): z.output<Item>[] => {
      const items: z.output<Item>[] = []
      for (const [place, value] of written.entries()) {
        const result = item.safeParse(value)
        if (!result.success) {
          context.addIssue(firstIssue(place, result.error))
          return notParsed
        }
        items.push(result.data)
      }
      return items
    })
}

/** A record whose names are the collector's, which no issue repeats. Its values are parsed up to the first that is wrong. */
function labels<Value extends z.ZodType>(value: Value) {
  return z.record(z.string(), z.unknown()).transform((written, context): Record<string, z.output<Value>> => {
    const entries = Object.entries(written)
    const pairs: [string, z.output<Value>][] = []
    for (const [label, part] of entries.slice(0, labelsMax + 1)) {
      const result = value.safeParse(part)
      if (!result.success || label.length > childTextCharsMax || pairs.length === labelsMax) {
        context.addIssue(result.success ? { code: 'custom' } : firstIssue(0, result.error))
        return notParsed
      }
      pairs.push([oneLine(label), result.data])
    }
    return Object.fromEntries(pairs)
  })
}

const spec = z
  .strictObject({
    unit: line.optional(),
    module: line.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    maxJump: z.union([z.number(), z.templateLiteral([z.number(), '%'])]).optional(),
    private: z.literal(true).optional(),
  })
  .transform(({ unit, module, min, max, maxJump, private: isPrivate }) => ({
    ...(unit !== undefined && { unit }),
    ...(module !== undefined && { module }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(maxJump !== undefined && { maxJump }),
    ...(isPrivate && { private: isPrivate }),
  }))

const mistake = z
  .object({
    path: z.array(z.union([text, z.number()])).max(100),
    message: line,
    knownNames: listOf(line, labelsMax).optional(),
  })
  .transform(({ knownNames, ...same }) => ({ ...same, ...(knownNames && { knownNames }) }))

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

const items = listOf(z.custom<Hex>(isAddress), listItemsMax)
const hour = z
  .int()
  .multipleOf(3_600_000)
  .transform(atMs => atMs as Hour)

/** Its blocks are known in the daemon, as those of prices. */
const listed = z
  .object({
    items,
    memory: z.object({ hour, items, blocks: listOf(count, listItemsMax).optional() }).optional(),
    first: hour.optional(),
  })
  .transform(list => ({ ...list, pins: [] }))

const description = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('usable'),
    // Its own code has said what is wrong with a label, unless that was changed.
    metrics: labels(spec).refine(specs => Object.keys(specs).length > 0 && Object.keys(specs).every(isLabel)),
    history: z.boolean(),
    declared: z.array(text).max(declaredMax),
    secrets: z.array(text).max(declaredMax),
  }),
  z.object({ kind: z.literal('mistaken'), mistakes: listOf(mistake, labelsMax).refine(({ length }) => length > 0) }),
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
  z
    .object({ kind: z.literal('priced'), prices: listOf(priceFound, labelsMax) })
    .transform(priced => ({ ...priced, pins: [] })),
  z.object({ kind: z.literal('listed'), list: listed }),
  z.object({ kind: z.literal('faulted'), fault }),
]) satisfies z.ZodType<TaskEnd>

const httpReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('http'), text: z.string() }),
  z.object({ kind: z.literal('faulted'), fault }),
])

/** Texts of a request are bounded by the length of a message. */
const http = z.object({
  as: z.enum(['json', 'text', 'bytes']),
  method: z.enum(['GET', 'POST']),
  url: z.string(),
  headers: labels(z.string()),
  body: z.string().optional(),
  place: count,
  answer: httpReply.optional(),
})

const host = z
  .string()
  .max(hostCharsMax)
  .regex(/^[^\s/]+:\d{1,5}$/)

const asked = { ask: count, run: token }

/** Forms of a question by the name that only it has. */
const askForms = {
  chain: z.object({ ...asked, chain: text, question, hoursBefore: z.int().min(1).max(hoursBeforeMax).optional() }),
  price: z.object({ ...asked, price: text }),
  list: z.object({ ...asked, list: text, recent: z.boolean().optional() }),
  http: z.object({ ...asked, http }),
  host: z.object({ ...asked, host }),
} as const

/** A union of the forms would try each of them, and keep the reasons of all. */
const ask = z.looseObject({}).transform((fields, context): Ask => {
  for (const [name, form] of Object.entries(askForms)) {
    if (!Object.hasOwn(fields, name)) continue
    const parsed = form.safeParse(fields)
    if (parsed.success) return parsed.data
    context.addIssue(firstIssue(parsed.error.issues[0]?.path[0] ?? name, parsed.error))
    return notParsed
  }
  context.addIssue({ code: 'custom' })
  return notParsed
})

const how = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['answered', 'failed']) }),
  z.object({ kind: z.literal('refused'), retryAfterMs: z.number().min(0).max(retryAfterMsMax).optional() }),
])

const fact = z.union([text, z.number(), z.boolean(), z.null()])

const message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('pong') }),
  z.object({ kind: z.literal('ended'), runs: listOf(z.object({ run: token, end }), childMessageEntriesMax) }),
  z.object({ kind: z.literal('asks'), asks: listOf(ask, childMessageEntriesMax) }),
  z.object({ kind: z.literal('slot-ends'), ends: listOf(z.object({ ask: count, how }), childMessageEntriesMax) }),
  z.object({
    kind: z.literal('log'),
    collectorId: text,
    level: z.enum(['debug', 'info', 'warn']),
    message: text,
    facts: labels(fact),
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
  const path = (issue?.path ?? []).filter(part => typeof part === 'string')
  return {
    ok: false,
    wrong: path.length > 0 ? `its ${path.join('.')} has the wrong form` : 'of an unknown kind',
  }
}
