/**
 * What a warning of the service is about. Its words have no shape in the interface and may hold numbers and times, so
 * that the same remark would look new each hour: the kind is what stays.
 */

/** Kinds that can be told from the words; any other remark is a kind of its own, its words without what changes. */
const knownKinds: readonly (readonly [kind: string, words: RegExp])[] = [
  ['label-long', /label.*(?:long|length|exceed|character|\b16\b)|(?:long|exceed|character).*label/i],
  ['unit-changed', /\bunits?\b/i],
  ['already-exists', /already|exist|updat|overw|duplicat|replac|more than once|twice/i],
  ['timestamp', /timestamp|future|ahead|clock/i],
]

const kindCharsMax = 120

/** The kind of a warning by its words. Pure; never empty. */
export function warningKind(text: string): string {
  // A metric may be called anything: "vault___LastUpdate" says nothing of what the warning is about.
  const unnamed = text.replace(/\S*___\S*/g, ' ')
  const known = knownKinds.find(([, words]) => words.test(unnamed))?.[0]
  if (known !== undefined) return known
  const words = unnamed
    .replace(/\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?/g, ' ')
    .replace(/[^\p{Letter}]+/gu, ' ')
    .trim()
  return words.toLowerCase().slice(0, kindCharsMax) || 'other'
}
