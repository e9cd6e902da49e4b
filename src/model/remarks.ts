import { parseInstant } from './hour.ts'
import { isRecord } from './json.ts'
import type { Metric } from './metric.ts'
import { firstChars, oneLine, peerText, shortened, storable } from './text.ts'

/** One entry of `errors` or `warnings` in an answer to a push. The interface leaves its shape open. */
export interface Remark {
  /** At most 500 characters. */
  readonly text: string
  /** The metric of the batch it is about; absent when it cannot be matched. */
  readonly metric?: Metric
  /** Matched only by words or a number, which may mean another metric: ids collide, and indexes may count from 1. */
  readonly isGuess?: true
}

const textCharsMax = 500
/** Texts of one entry in which a metric is looked for: an answer may hold a million. */
const textsMax = 200
/** Errors of one answer that are quoted. */
const wordedErrorsMax = 3
const textKeys = ['message', 'error', 'reason', 'detail', 'warning', 'text', 'description']
/** Fields that hold the id of the metric an entry is about. */
const idKeys = ['id', 'metricId', 'metric_id', 'metric']
/** Names of fields that may hold an index into the batch, counted from 0 or from 1. */
const indexKeys = ['index', 'idx', 'position', 'i']

/**
 * Reads an entry of any shape and matches it to a metric of the batch, by the timestamp, too, when the batch holds
 * several hours of one id. The match is certain only when the id stands in its own field, or when an id and an index
 * counted from 0 agree: words may name the metric that another one collides with, and an index may count from 1. An
 * entry that fits several metrics is matched to none.
 */
export function readRemark(entry: unknown, batch: readonly Metric[]): Remark {
  const text = shortened(oneLine(storable(remarkText(entry))), textCharsMax - 1)
  const indexes = [...pathIndexes(entry), ...numbersUnder(indexKeys, entry)]
  const stated = byIdField(entry, batch)
  if (stated) return { text, metric: stated, ...(fits(indexes, batch.indexOf(stated)) ? {} : { isGuess: true }) }
  const texts = textsIn(entry)
  const metricAtIndex = only(indexes, batch)
  if (metricAtIndex && texts.some(words => mentions(words, metricAtIndex.id))) return { text, metric: metricAtIndex }
  const spoken = batch.some(({ id }) => texts.some(words => mentions(words, id)))
  const guess = spoken ? (indexes.length === 0 ? byWords(texts, batch) : undefined) : metricAtIndex
  return guess ? { text, metric: guess, isGuess: true } : { text }
}

/** Whether the numbers may all be the same index, counted from 0 or from 1. */
function fits(indexes: readonly unknown[], place: number): boolean {
  return indexes.every(index => index === place || index === place + 1)
}

/** The metric whose id is the value of an id field, or the name of a field. */
function byIdField(entry: unknown, batch: readonly Metric[]): Metric | undefined {
  if (!isRecord(entry)) return undefined
  const fields = idKeys.flatMap(key => {
    const value = entry[key]
    return isRecord(value) ? idKeys.map(inner => value[inner]) : [value]
  })
  const ids = new Set<unknown>([...fields, ...Object.keys(entry)])
  return dated(
    batch.filter(({ id }) => ids.has(id)),
    textsIn(entry),
  )
}

function remarkText(entry: unknown): string {
  if (typeof entry === 'string') return entry
  if (isRecord(entry)) {
    const named = textKeys.map(key => entry[key]).find(value => typeof value === 'string' && value !== '')
    if (typeof named === 'string') return named
  }
  try {
    return peerText(JSON.stringify(entry) ?? String(entry))
  } catch {
    return 'words nested too deeply to be read'
  }
}

/** The metric whose id is mentioned in the texts. */
function byWords(texts: readonly string[], batch: readonly Metric[]): Metric | undefined {
  const spoken = batch.filter(({ id }) => texts.some(text => mentions(text, id)))
  // `vault___TVL` is a part of `vault___TVL.24h`; the full stop alone does not show that.
  const remarks = spoken.filter(({ id }) => {
    const longer = spoken.filter(other => other.id.startsWith(`${id}.`)).map(other => other.id)
    return longer.length === 0 || texts.some(text => mentions(without(text, longer), id))
  })
  return dated(remarks, texts)
}

/** The only metric of the list, or the one whose hour stands in the texts. */
function dated(metricsNamed: readonly Metric[], texts: readonly string[]): Metric | undefined {
  if (metricsNamed.length <= 1) return metricsNamed[0]
  const instants = new Set(texts.flatMap(instantsIn))
  const ofHour = metricsNamed.filter(({ hour }) => instants.has(hour))
  return ofHour.length === 1 ? ofHour[0] : undefined
}

/** Whether a text contains an id as a whole: `vault___TVL2` and `my-vault___TVL` do not contain `vault___TVL`. */
function mentions(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!isIdCharacter(text[at - 1]) && !isIdCharacter(text[at + id.length])) return true
  }
  return false
}

function without(text: string, ids: readonly string[]): string {
  return ids.reduce((rest, id) => rest.replaceAll(id, ' '), text)
}

/** Instants in a text, in milliseconds since 1970; UTC without an offset. */
function instantsIn(text: string): (number | undefined)[] {
  const written = text.matchAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(Z|[+-]\d\d:\d\d)?/g)
  return [...written].map(([instant, offset]) => parseInstant(offset ? instant : `${instant}Z`))
}

function isIdCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\w-]/.test(character)
}

/** Indexes into a list of metrics: `metrics[3].value`, `/metrics/3`, `['metrics', 3]`. */
function pathIndexes(entry: unknown): unknown[] {
  const texts = textsIn(entry).flatMap(text =>
    [...text.matchAll(/metrics[.[/](\d{1,3})/g)].map(match => Number(match[1])),
  )
  const path = isRecord(entry) && Array.isArray(entry['path']) ? entry['path'] : []
  return [...texts, ...path.filter(part => Number.isInteger(part)).slice(0, 1)]
}

function numbersUnder(keys: readonly string[], entry: unknown): unknown[] {
  return isRecord(entry) ? keys.map(key => entry[key]).filter(value => Number.isInteger(value)) : []
}

/** The metric at an index, when all indexes agree. */
function only(indexes: readonly unknown[], batch: readonly Metric[]): Metric | undefined {
  const [index, ...others] = new Set(indexes)
  return others.length === 0 && typeof index === 'number' ? batch[index] : undefined
}

/** Text of an answer of any shape, on one line of at most 300 characters; empty when it has none. */
export function wordsOf(body: unknown): string {
  if (body === undefined || body === null) return ''
  const words = errorTexts(body) || remarkText(body)
  return shortened(oneLine(storable(words)).replace(/\s+/g, ' '), 299)
}

/** Text of the `errors` of a push result. */
function errorTexts(body: unknown): string {
  const errors = isRecord(body) && Array.isArray(body['errors']) ? body['errors'] : []
  return [...new Set(errors.slice(0, wordedErrorsMax).map(remarkText))].join('; ')
}

/** The first texts in a value, names of fields included, a few levels deep. */
function textsIn(value: unknown): string[] {
  return stringsIn(value, 4).slice(0, textsMax)
}

function stringsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (depth === 0 || typeof value !== 'object' || value === null) return []
  const names = isRecord(value) ? Object.keys(value) : []
  return [...names, ...Object.values(value).flatMap(part => stringsIn(part, depth - 1))]
}

/** Kinds known by their words. Any other warning is its own kind: its words without the parts that change. */
const knownKinds: readonly (readonly [kind: string, words: RegExp, others?: RegExp])[] = [
  ['label-long', /label/i, /long|length|exceed|character|\b16\b/i],
  ['unit-changed', /\bunits?\b/i],
  ['already-exists', /already|exist|updat|overw|duplicat|replac|more than once|twice/i],
  ['timestamp', /timestamp|future|ahead|clock/i],
]

const kindCharsMax = 120

/**
 * The kind of a warning by its words, which have no shape in the interface: with numbers and times in them the same
 * warning would look new each hour, and its kind stays the same. Pure; never empty.
 */
export function warningKind(text: string): string {
  // A metric may have any name: the "LastUpdate" of "vault___LastUpdate" does not describe the warning.
  const textWithoutNames = text
    .split(/\s+/)
    .filter(word => !word.includes('___'))
    .join(' ')
  const kind = knownKinds.find(
    ([, words, others]) => words.test(textWithoutNames) && others?.test(textWithoutNames) !== false,
  )?.[0]
  if (kind !== undefined) return kind
  const words = textWithoutNames
    .replace(/\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?/g, ' ')
    .replace(/[^\p{Letter}]+/gu, ' ')
    .trim()
  return firstChars(words.toLowerCase(), kindCharsMax) || 'other'
}
