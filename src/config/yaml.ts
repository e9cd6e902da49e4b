import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
  YAMLSeq,
} from 'yaml'
import { withoutEnd } from '../model/text.ts'
import { type Mistake, meant, type PlacedMistake, type Position, type ValuePlace } from './mistakes.ts'

/** Longest configuration file in bytes, and deepest nesting of maps and lists in it. */
const configBytesMax = 262_144
const configDepthMax = 32

/** A file's text without a byte order mark, or why it cannot be read. */
export type FileText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly mistake: PlacedMistake<Position> }

const systemWords: Readonly<Record<string, readonly [message: string, fix: string]>> = {
  ENOENT: ['there is no such file', 'put it there, or correct its path'],
  ENOTDIR: ['there is no such file', 'put it there, or correct its path'],
  EISDIR: ['this is a folder, not a file', 'give the path of the file in it'],
  ESPIPE: ['this is a pipe, not a file', 'give the path of a file'],
  EACCES: ['the file may not be read', 'let the user of this process read it'],
  EPERM: ['the file may not be read', 'let the user of this process read it'],
  ELOOP: ['the path is a loop of links', 'give the path of the file itself'],
  ENAMETOOLONG: ['the path is too long', 'give a shorter path'],
}

/** Reads a configuration file as UTF-8, up to the size limit. */
export function readText(file: string): FileText {
  try {
    const bytes = readBytes(file, configBytesMax + 1)
    if (bytes.length > configBytesMax) {
      return unreadable({
        message: `the file has more than ${configBytesMax} bytes`,
        fix: 'is it the right file? protocols may stand in further ones: include: […]',
      })
    }
    return decode(bytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const [message, fix] = systemWords[code] ?? [`the file cannot be read (${code})`, 'see why with: ls -l']
    return unreadable({ message, fix })
  }
}

/** Reads at most `bytesMax` bytes: a device or a pipe may never end. Throws the system's error. */
export function readBytes(file: string, bytesMax: number): Buffer {
  // Does not wait for a writer if it is a pipe.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (fstatSync(descriptor).isFIFO()) throw Object.assign(new Error('is a pipe'), { code: 'ESPIPE' })
    if (fstatSync(descriptor).isDirectory()) throw Object.assign(new Error('is a folder'), { code: 'EISDIR' })
    const buffer = Buffer.alloc(bytesMax)
    let length = 0
    for (let got = -1; got !== 0 && length < bytesMax; length += got) {
      got = readSync(descriptor, buffer, length, bytesMax - length, null)
    }
    return buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** Blanks in text copied from a web page. */
const oddBlank = {
  message: 'this looks like a blank in the indentation, and is another character',
  fix: 'put ordinary blanks there',
}

function decode(bytes: Buffer): FileText {
  try {
    const text = plainLines(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    const odd = /^[ \t]*(?=[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff])/m.exec(text)
    if (odd) return unreadable(oddBlank, text.slice(0, odd.index + odd[0].length))
    const control = text.search(/[^\P{Cc}\t\n\r]/u)
    if (control < 0) return { ok: true, text }
    const fix = 'remove it; is the file really text?'
    return unreadable({ message: 'a control character stands here', fix }, text.slice(0, control))
  } catch {
    const lossy = plainLines(new TextDecoder('utf-8').decode(bytes))
    const before = lossy.slice(0, lossy.indexOf('\ufffd'))
    return unreadable({ message: 'the file is not UTF-8 text from here on', fix: 'save it as UTF-8' }, before)
  }
}

/** @param before the readable text before the mistake */
function unreadable(mistake: Mistake, before = ''): FileText {
  const lines = before.split('\n')
  const place = { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
  return { ok: false, mistake: { ...mistake, place } }
}

/** In YAML a lone carriage return ends a line; the parser does not know that. */
function plainLines(text: string): string {
  return text.replace(/\r(?!\n)/g, '\n')
}

/** A parsed YAML file: its value, and the place of each part. */
export interface Tree {
  /** Plain maps, lists and scalars; `null` for an empty file. */
  value(): unknown
  /** The place of the nearest existing part of a path: a scalar's own; for maps and lists, their key's. */
  positionOf(place: ValuePlace): Position
  /**
   * Replaces a mistyped key by the one meant, so that the values below it are read, too.
   * @returns false when the map has that key already
   */
  rename(path: readonly PropertyKey[], key: string): boolean
  /** Replaces a map by a list: of its values, where all are maps, else of itself alone. Places stay. */
  wrap(path: readonly PropertyKey[]): void
}

/** Result of reading YAML. `yamlMistakes`: mistakes of its syntax. Without a tree the file cannot be checked further. */
interface Read {
  readonly tree?: Tree
  readonly yamlMistakes: readonly PlacedMistake<Position>[]
}

/**
 * Reads YAML 1.2 with anchors, aliases and merge keys, and without tags. `0x…` is text: YAML's core schema would turn an
 * unquoted address into a number and lose its digits.
 */
export function readTree(text: string): Read {
  try {
    return parse(text)
  } catch (error) {
    // The parser recurses for each level; its own limit does not cover all of that.
    if (!(error instanceof RangeError)) throw error
    return { yamlMistakes: [{ place: { line: longestLine(text), column: 1 }, ...tooDeep }] }
  }
}

function longestLine(text: string): number {
  const lengths = text.split('\n').map(line => line.length)
  return lengths.indexOf(lengths.reduce((a, b) => Math.max(a, b), 0)) + 1
}

function parse(text: string): Read {
  const document = parseDocument(text, {
    version: '1.2',
    // Checked afterwards: the parser would compare each key with every other.
    uniqueKeys: false,
    stringKeys: true,
    prettyErrors: false,
    resolveKnownTags: false,
    customTags: tags => tags.filter(tag => typeof tag === 'string' || (tag.format !== 'HEX' && tag.format !== 'OCT')),
    logLevel: 'error',
  })
  const positionAt = positions(text)
  const source = { text, document, positionAt }
  const broken = brokenParts(source)
  if (broken.length > 0) return { yamlMistakes: broken }

  const odd = unsupportedYaml(document)
  const yamlMistakes = [
    ...oddParts(source),
    ...odd.map(({ place, readable: _, ...mistake }) => ({ ...mistake, place: positionAt(place) })),
  ]
  if (odd.some(({ readable }) => !readable)) return { yamlMistakes: firstOfEachLine(yamlMistakes) }
  const anchorMistakes = expandAnchors(document, configDepthMax).map(one => ({ ...one, place: positionAt(one.place) }))
  if (anchorMistakes.length > 0) return { yamlMistakes: firstOfEachLine([...yamlMistakes, ...anchorMistakes]) }
  const tree: Tree = {
    value: () => document.toJS(),
    positionOf: ({ path, side }) => positionAt(offsetOf(document, path, side)),
    rename: (path, key) => renameKey(document, path, key),
    wrap: path => wrapMap(document, path),
  }
  return { yamlMistakes, tree }
}

/**
 * Places by offset, at most the last visible character, as "missing" is often found at the end. The parser's own
 * counter loses lines in badly broken files.
 */
function positions(text: string): (offset: number) => Position {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
  const last = Math.max(0, text.trimEnd().length - 1)
  return offset => {
    const within = Math.min(Math.max(0, offset), last)
    const line = countUpTo(starts, within)
    return { line, column: within - (starts[line - 1] ?? 0) + 1 }
  }
}

/** Number of the ascending numbers that are at most `bound`. */
function countUpTo(numbers: readonly number[], bound: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? Number.POSITIVE_INFINITY) <= bound) low = middle + 1
    else high = middle
  }
  return low
}

/** A YAML feature that this file does not support; its place is an offset. */
interface UnsupportedYaml extends PlacedMistake<number> {
  /** Whether the file's value can be read nevertheless. */
  readonly readable: boolean
}

const unsupported = (node: Node, message: string, fix: string, readable: boolean): UnsupportedYaml => ({
  place: node.range?.[0] ?? 0,
  message,
  fix,
  readable,
})

/** Finds YAML that an operator hardly meant, or that would make the file mean more than it shows. */
function unsupportedYaml(document: Document.Parsed): UnsupportedYaml[] {
  const findings: UnsupportedYaml[] = []
  if (document.directives.yaml.version !== '1.2') {
    const message = 'only YAML 1.2 is read'
    findings.push({ place: 0, message, fix: 'remove the line that begins with %YAML', readable: false })
  }
  visit(document, (key, node, ancestors) => {
    if (!isNode(node)) return undefined
    const tooDeep = ancestors.filter(isCollection).length > configDepthMax
    findings.push(...(key === 'key' ? unsupportedKey(node) : unsupportedValue(node)))
    if (!tooDeep) return undefined
    const message = `maps and lists are nested more than ${configDepthMax} deep here`
    findings.push(unsupported(node, message, 'write them flatter', false))
    return visit.BREAK
  })
  return findings
}

function unsupportedKey(node: Node): UnsupportedYaml[] {
  if (!isScalar(node)) return unsupportedValue(node)
  if (node.value === '__proto__') return [unsupported(node, 'a key cannot have this name', 'rename it', true)]
  return unsupportedValue(node)
}

function unsupportedValue(node: Node): UnsupportedYaml[] {
  return isScalar(node) && typeof node.value === 'number' ? unsupportedNumber(node, node.value) : []
}

function unsupportedNumber(node: Scalar, value: number): UnsupportedYaml[] {
  if (!Number.isFinite(value)) {
    return [unsupported(node, 'this is not a finite number', 'write a finite one; put text in quotes', true)]
  }
  return losesDigits(node.source ?? '', value)
    ? [unsupported(node, 'a number this long would lose digits', 'put it in quotes', true)]
    : []
}

/** Whether a decimal number as it is written is not the one that JavaScript writes for it. */
function losesDigits(written: string, value: number): boolean {
  if (/^[-+]?\d+$/.test(written)) return !Number.isSafeInteger(value)
  const digits = significantDigits(written)
  // Fewer digits are always kept.
  return digits !== undefined && digits.length > 15 && digits !== significantDigits(String(value))
}

/** The digits of a decimal number from the first to the last that is not 0. */
function significantDigits(number: string): string | undefined {
  const [, whole, part = ''] = /^[-+]?(\d*)(?:\.(\d*))?(?:e[-+]?\d+)?$/i.exec(number) ?? []
  return whole === undefined ? undefined : withoutEnd(`${whole}${part}`.replace(/^0+/, ''), '0')
}

/** Parts of a file with the values of all aliases in it, at most: a few lines of aliases could stand for millions. */
const partsMax = 100_000

/** A value with all that its aliases stand for: its maps, lists and scalars, and how deep they are nested. */
interface Size {
  readonly parts: number
  readonly depth: number
}

/**
 * Puts the values of anchors in place of their aliases and the keys of merged maps in place of `<<`, and removes the keys of
 * the file that begin with `x-`, where anchors may stand. A value of several paths has one place in the text: that of its anchor.
 *
 * @returns mistakes, whose place is an offset; with any of them the file cannot be read
 */
function expandAnchors(document: Document.Parsed, depthMax: number): PlacedMistake<number>[] {
  const root = document.contents
  if (!isNode(root)) return []
  const expansion = new Expansion(depthMax)
  document.contents = expansion.expanded(root, 0) as typeof root
  if (isMap(root)) root.items = root.items.filter(({ key }) => !isScalar(key) || !String(key.value).startsWith('x-'))
  return expansion.mistakes
}

class Expansion {
  readonly mistakes: PlacedMistake<number>[] = []
  readonly #depthMax: number
  /** By name: the newest one so far, as YAML has it. */
  readonly #anchors = new Map<string, Node>()
  /** Of the nodes whose end was reached. */
  readonly #sizes = new Map<Node, Size>()

  constructor(depthMax: number) {
    this.#depthMax = depthMax
  }

  /** The node that stands for a node: itself, or the one of its anchor. @param depth maps and lists around it */
  expanded(node: Node, depth: number): Node {
    if (isAlias(node)) return this.#anchored(node, depth)
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    const expandPart = (part: unknown) => (isNode(part) ? this.expanded(part, depth + 1) : part)
    if (isSeq(node)) node.items = node.items.map(expandPart)
    if (isMap(node)) {
      for (const pair of node.items) pair.value = expandPart(pair.value)
      node.items = this.#withMerged(node)
    }
    this.#sizes.set(node, this.#sizeOf(node))
    return node
  }

  #anchored(alias: Alias, depth: number): Node {
    const node = this.#anchors.get(alias.source)
    const size = node && this.#sizes.get(node)
    if (!node) {
      const suggestion = meant(alias.source, [...this.#anchors.keys()])
      const fix = suggestion
        ? `did you mean *${suggestion}?`
        : 'write & and its name at a value above; put text that begins with * in quotes'
      this.#tell(alias, 'no anchor (&) of this name stands above', fix)
    } else if (!size) {
      this.#tell(alias, 'this stands for a value that it is a part of', 'write the value itself')
    } else if (depth + size.depth > this.#depthMax) {
      this.#tell(alias, `with this, maps and lists are nested more than ${this.#depthMax} deep`, 'write them flatter')
    } else {
      return node
    }
    return alias
  }

  /** The pairs of a map and those that it merges; its own ones count first, then those of the first map. */
  #withMerged(map: YAMLMap): Pair[] {
    const ownPairs = map.items.filter(pair => !isMerge(pair))
    const names = new Set(ownPairs.map(nameOf))
    const mergedPairs = map.items.filter(isMerge).flatMap(({ key, value }) => {
      const sources = isSeq(value) ? value.items : [value]
      if (!sources.every(source => isMap(source) || isAlias(source)))
        this.#tell(key as Node, '<< takes a map, or a list of maps', 'name the anchor of one: <<: *NAME')
      return sources.filter(isMap).flatMap(({ items }) => items)
    })
    return [...ownPairs, ...mergedPairs.filter(pair => !names.has(nameOf(pair)) && names.add(nameOf(pair)))]
  }

  #sizeOf(node: Node): Size {
    const inner = isSeq(node) ? node.items : isMap(node) ? node.items.map(({ value }) => value) : undefined
    const sizes = (inner ?? []).flatMap(part => (isNode(part) ? (this.#sizes.get(part) ?? []) : []))
    const parts = sizes.reduce((sum, size) => sum + size.parts, 1)
    const depth = Math.max(0, ...sizes.map(size => size.depth)) + (inner ? 1 : 0)
    if (parts > partsMax && this.mistakes.length === 0)
      this.#tell(node, `with its aliases, this has more than ${partsMax} parts`, 'use fewer aliases')
    return { parts, depth }
  }

  #tell({ range }: Node, message: string, fix: string): void {
    this.mistakes.push({ place: range?.[0] ?? 0, message, fix })
  }
}

const nameOf = ({ key }: Pair) => (isScalar(key) ? key.value : key)

const isMerge = ({ key }: Pair) => isScalar(key) && key.type === 'PLAIN' && key.value === '<<'

/** A text with its parsed document, and a function from offsets to places. */
interface Source {
  readonly text: string
  readonly document: Document.Parsed
  /** The place of an offset. */
  readonly positionAt: (offset: number) => Position
}

/** Mistakes reported of one file: the parser can find thousands after a missing character. */
const shownMax = 50

/** Errors after which the file cannot be read. */
function brokenParts(source: Source): PlacedMistake<Position>[] {
  const errors = source.document.errors.filter(error => !leavesRestReadable(error))
  const deep = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  if (deep) return [mistakeOf(source, deep)]
  const first = firstOfEachLine(errors.map(error => ({ error, place: source.positionAt(error.pos[0]) })))
  return firstOfEachLine(first.slice(0, shownMax).map(({ error }) => mistakeOf(source, error)))
}

/** Errors and warnings that are reported together with all other mistakes. */
function oddParts(source: Source): PlacedMistake<Position>[] {
  const { errors, warnings } = source.document
  // That warning is about a closing bracket at the beginning of a line, which is common.
  const relevant = warnings.filter(({ code }) => code !== 'BAD_INDENT')
  return [...duplicates(source), ...[...errors, ...relevant].slice(0, shownMax).map(error => mistakeOf(source, error))]
}

function duplicates({ document, positionAt }: Source): PlacedMistake<Position>[] {
  return duplicateKeys(document)
    .slice(0, shownMax)
    .map(({ again, first }) => {
      const message = `${givenTwice.message}; the first is on line ${positionAt(first).line}`
      return { ...givenTwice, place: positionAt(again), message }
    })
}

function mistakeOf({ text, document, positionAt }: Source, error: YAMLError): PlacedMistake<Position> {
  const [start] = error.pos
  const offset = isUnclosed(error) ? openingBefore(document, text, start) : start
  // A line that is indented wrongly begins where its text does.
  return { place: positionAt(offset + (/^ *(?=\S)/.exec(text.slice(offset))?.[0].length ?? 0)), ...syntaxWords(error) }
}

/** The first mistake of each line: one broken place often breaks the rest of its line. */
function firstOfEachLine<T extends { readonly place: Position }>(parts: readonly T[]): T[] {
  const sorted = [...parts].sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
  return sorted.filter((one, index) => one.place.line !== sorted[index - 1]?.place.line)
}

const words = (message: string, fix: string): Mistake => ({ message, fix })

const aligned = words(
  'this value continues where none is expected: the next line is indented too far, or it holds a second ": "',
  'align the next line with its neighbours, or put a value that holds ": " in quotes',
)
const notAPair = words(
  'this is not a "key: value" line',
  'put a colon and a blank after the key, or indent the line under the key it belongs to',
)
const extra = words('there is more text than fits here', 'put the whole value in quotes, or begin a new line')
const unclosed = words(
  'this [ or { is not closed, or a line in it is not indented',
  'close it with ] or }; indent the lines between',
)
const plain = words(
  'an anchor (&), an alias (*) or a tag (!) cannot stand here',
  'put text that begins with it in quotes',
)
const tag = words('tags (!) are not used here', 'write the value itself; put text that begins with ! in quotes')
const directive = words('a line that begins with % is not supported here', 'remove it')

/** Wording for a file that is nested too deeply. */
const tooDeep = words('maps and lists are nested too deeply here', 'write them flatter')

/** Wording for a duplicate key. */
const givenTwice = words('this key is given twice', 'keep one of them')

/** By the parser's code. */
const byCode: Readonly<Record<ErrorCode, Mistake>> = {
  ALIAS_PROPS: plain,
  BAD_ALIAS: plain,
  BAD_COLLECTION_TYPE: plain,
  BAD_DIRECTIVE: directive,
  BAD_DQ_ESCAPE: words('this backslash has no meaning in double quotes', 'use single quotes, or write \\\\'),
  BAD_INDENT: words('the indentation does not fit', 'begin the line in the same column as its neighbours'),
  BAD_PROP_ORDER: plain,
  BAD_SCALAR_START: words('text cannot begin with this character', 'put the text in quotes'),
  BLOCK_AS_IMPLICIT_KEY: aligned,
  BLOCK_IN_FLOW: words('lines with "- " or "key:" cannot stand inside [ ] or { }', 'write it all in one way'),
  DUPLICATE_KEY: givenTwice,
  IMPOSSIBLE: extra,
  KEY_OVER_1024_CHARS: words('a key is too long', 'is a quote or a line break missing?'),
  MISSING_CHAR: notAPair,
  MULTILINE_IMPLICIT_KEY: notAPair,
  MULTIPLE_ANCHORS: plain,
  MULTIPLE_DOCS: words('a second document begins here', 'remove the line --- or ... and what follows it'),
  MULTIPLE_TAGS: tag,
  NON_STRING_KEY: words('a key must be plain text', 'write key: value'),
  RESOURCE_EXHAUSTION: tooDeep,
  TAB_AS_INDENT: words('a tab stands in the indentation', 'use blanks alone'),
  TAG_RESOLVE_FAILED: tag,
  UNEXPECTED_TOKEN: extra,
}

const indentedTooLittle = words(
  'this line is indented less than the lines of its entry, and more than the "- " of it',
  'align it with the text after the "- "',
)

/** By the beginning of the parser's message, for codes with several meanings. */
const byMessage: readonly (readonly [begins: string, Mistake])[] = [
  ['Missing closing', words('the quote that opens here is not closed', 'close it at the end of the text')],
  ['Missing , ', words('a comma is missing between entries', 'separate the entries of [ ] and { } with commas')],
  ['Missing space after :', words('a blank is missing after the colon', 'write key: value')],
  ['Comments must', words('a blank is missing before #', 'put one there, or put text that holds # in quotes')],
  ['Missing directives-end', directive],
  ['Flow ', unclosed],
  ['Unexpected block-seq-ind', words('a list cannot begin on the line of its key', 'put "- …" on the next line')],
  ['Sequence item without', indentedTooLittle],
  ['All sequence items', words('this "- " is in another column than the ones before it', 'align them')],
  ['Unexpected flow-', words('this bracket closes nothing', 'remove it, or open it; put text that holds it in quotes')],
  ['Unexpected ,', words('this comma separates nothing', 'remove it')],
]

/** Wording of a mistake found by the YAML parser. */
function syntaxWords(error: YAMLError): Mistake {
  return byMessage.find(([begins]) => error.message.startsWith(begins))?.[1] ?? byCode[error.code]
}

/** Errors after which the rest of the file is readable: they are reported together with all other mistakes. */
function leavesRestReadable(error: YAMLError): boolean {
  return error.code === 'TAG_RESOLVE_FAILED'
}

/** Errors at the end of something unclosed: the place to show is where it opens. */
function isUnclosed(error: YAMLError): boolean {
  return (
    error.message.startsWith('Missing closing') || (error.message.startsWith('Flow ') && error.code !== 'BLOCK_IN_FLOW')
  )
}

/** Offsets of a part of a document: its key and its value. */
interface DocumentPart {
  readonly key?: Node
  readonly value?: Node
}

/** Offset of the nearest existing part of a path: a scalar's own; for maps, lists and empty values, their key's. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[], side: 'key' | 'value'): number {
  let part: DocumentPart = isNode(document.contents) ? { value: document.contents } : {}
  for (const [index, step] of path.entries()) {
    const next = childOf(part.value, step)
    if (!next) return startOf(part, 'value')
    if (index === path.length - 1) return startOf(next, side)
    part = next
  }
  return startOf(part, side)
}

/**
 * Renames the key at a path in the document's value; its place stays.
 * @returns false when the map has the new name already
 */
function renameKey(document: Document.Parsed, path: readonly PropertyKey[], name: string): boolean {
  let node: Node | undefined = isNode(document.contents) ? document.contents : undefined
  for (const step of path.slice(0, -1)) node = childOf(node, step)?.value
  const key = childOf(node, path.at(-1) ?? '')?.key
  if (!isMap(node) || !isScalar(key) || childOf(node, name)) return false
  key.value = name
  pairsByName.delete(node)
  return true
}

function wrapMap(document: Document.Parsed, path: readonly PropertyKey[]): void {
  const [root, last = ''] = [isNode(document.contents) ? document.contents : undefined, path.at(-1)]
  const parent = path.slice(0, -1).reduce<Node | undefined>((node, step) => childOf(node, step)?.value, root)
  const map = childOf(parent, last)?.value
  if (!isMap(map) || !isMap(parent)) return
  const values = map.items.map(({ value }) => value)
  const list = new YAMLSeq()
  list.items = values.length > 0 && values.every(isMap) ? values : [map]
  if (map.range) list.range = map.range
  const pair = pairsOf(parent).get(String(last))
  if (pair) pair.value = list
}

/** A duplicate key and the first of its name, as offsets. */
interface Duplicate {
  /** Offset of the duplicate key. */
  readonly again: number
  /** Offset of the first key of that name. */
  readonly first: number
}

/** Finds duplicate keys. The parser's own check compares each key with every other. */
function duplicateKeys(document: Document.Parsed): Duplicate[] {
  const duplicates: Duplicate[] = []
  visit(document, {
    Map: (_, { items }) => {
      const firstByName = new Map<unknown, number>()
      for (const { value, range } of items.map(({ key }) => key).filter(isScalar)) {
        const [at = 0, first] = [range?.[0], firstByName.get(value)]
        if (first === undefined) firstByName.set(value, at)
        else duplicates.push({ again: at, first })
      }
    },
  })
  return duplicates
}

function childOf(node: Node | undefined, step: PropertyKey): DocumentPart | undefined {
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step]
    return isNode(item) ? { value: item } : undefined
  }
  if (!isMap(node)) return undefined
  const pair = pairsOf(node).get(String(step))
  if (!pair) return undefined
  return { ...(isNode(pair.key) && { key: pair.key }), ...(isNode(pair.value) && { value: pair.value }) }
}

/** Pairs of maps by key, cached so that thousands of keys are found fast. */
const pairsByName = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()

function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
  const known = pairsByName.get(map)
  if (known) return known
  // The last one counts for a duplicate key, as in the value.
  const pairs = new Map(map.items.flatMap(pair => (isScalar(pair.key) ? [[String(pair.key.value), pair]] : [])))
  pairsByName.set(map, pairs)
  return pairs
}

function startOf({ key, value }: DocumentPart, side: 'key' | 'value'): number {
  const isShown = isScalar(value) && value.source !== '' && value.source !== undefined
  const node = side === 'value' && isShown ? value : (key ?? value)
  return node?.range?.[0] ?? 0
}

const closers: Readonly<Record<string, string>> = { '"': '"', "'": "'", '[': ']', '{': '}' }

/** Offset of the last bracket or quote before `end` that is not closed there. */
function openingBefore(document: Document.Parsed, text: string, end: number): number {
  let opening = -1
  visit(document, (_, node) => {
    if (!isNode(node) || !node.range) return
    const [start, valueEnd, nodeEnd] = node.range
    const closer = closers[text[start] ?? '']
    const isOpen = closer !== undefined && (text[valueEnd - 1] !== closer || valueEnd - 1 === start)
    if (isOpen && start <= end && end <= nodeEnd + 1) opening = Math.max(opening, start)
  })
  return opening < 0 ? end : opening
}
