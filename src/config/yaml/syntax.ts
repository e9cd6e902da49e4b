import type { ErrorCode, YAMLError } from 'yaml'
import type { Mistake } from '../mistakes/mistakes.ts'

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
const plain = words('anchors (&), aliases (*) and tags (!) are not used here', 'write the value itself; text in quotes')
const directive = words('a line that begins with % is not supported here', 'remove it')

/** Wording for a file that is nested too deeply. */
export const tooDeep = words('maps and lists are nested too deeply here', 'write them flatter')

/** Wording for a duplicate key. */
export const givenTwice = words('this key is given twice', 'keep one of them')

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
  MULTIPLE_TAGS: plain,
  NON_STRING_KEY: words('a key must be plain text', 'write key: value'),
  RESOURCE_EXHAUSTION: tooDeep,
  TAB_AS_INDENT: words('a tab stands in the indentation', 'use blanks alone'),
  TAG_RESOLVE_FAILED: plain,
  UNEXPECTED_TOKEN: extra,
}

/** By the beginning of the parser's message, for codes with several meanings. */
const byMessage: readonly (readonly [begins: string, Mistake])[] = [
  ['Missing closing', words('the quote that opens here is not closed', 'close it at the end of the text')],
  ['Missing , ', words('a comma is missing between entries', 'separate the entries of [ ] and { } with commas')],
  ['Missing space after :', words('a blank is missing after the colon', 'write key: value')],
  ['Comments must', words('a blank is missing before #', 'put one there, or put text that holds # in quotes')],
  ['Missing directives-end', directive],
  ['Flow ', unclosed],
  ['Unexpected block-seq-ind', words('a list cannot begin on the line of its key', 'put "- …" on the next line')],
  ['Sequence item without', words('a "- " is missing before this entry', 'begin every entry of the list with "- "')],
  ['All sequence items', words('this "- " is in another column than the ones before it', 'align them')],
  ['Unexpected flow-', words('this bracket closes nothing', 'remove it, or open it; put text that holds it in quotes')],
  ['Unexpected ,', words('this comma separates nothing', 'remove it')],
]

/** Wording of a mistake found by the YAML parser. */
export function syntaxWords(error: YAMLError): Mistake {
  return byMessage.find(([begins]) => error.message.startsWith(begins))?.[1] ?? byCode[error.code]
}

/** Errors after which the rest of the file is readable: they are reported together with all other mistakes. */
export function leavesRestReadable(error: YAMLError): boolean {
  return error.code === 'TAG_RESOLVE_FAILED'
}

/** Errors at the end of something unclosed: the place to show is where it opens. */
export function isUnclosed(error: YAMLError): boolean {
  return (
    error.message.startsWith('Missing closing') || (error.message.startsWith('Flow ') && error.code !== 'BLOCK_IN_FLOW')
  )
}
