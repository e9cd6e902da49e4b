import { firstChars } from './text.ts'

/**
 * Classifies warnings of the service. Their text has no shape in the interface and may hold numbers and times, so that
 * the same warning would look new each hour; its kind stays the same.
 */

/** Kinds known by their words. Any other warning is its own kind: its words without the parts that change. */
const knownKinds: readonly (readonly [kind: string, words: RegExp])[] = [
  ['label-long', /label.*(?:long|length|exceed|character|\b16\b)|(?:long|exceed|character).*label/i],
  ['unit-changed', /\bunits?\b/i],
  ['already-exists', /already|exist|updat|overw|duplicat|replac|more than once|twice/i],
  ['timestamp', /timestamp|future|ahead|clock/i],
]

const kindCharsMax = 120

/** The kind of a warning by its words. Pure; never empty. */
export function warningKind(text: string): string {
  // A metric may have any name: the "LastUpdate" of "vault___LastUpdate" does not describe the warning.
  const unnamed = text.replace(/\S*___\S*/g, ' ')
  const known = knownKinds.find(([, words]) => words.test(unnamed))?.[0]
  if (known !== undefined) return known
  const words = unnamed
    .replace(/\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?/g, ' ')
    .replace(/[^\p{Letter}]+/gu, ' ')
    .trim()
  return firstChars(words.toLowerCase(), kindCharsMax) || 'other'
}
