import { closestMatch } from 'leven'

/** The word of `known` that was probably meant; `undefined` when none is similar. */
export function similarWord(word: string, known: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.max(1, Math.floor(word.length / 2)))
  const lower = known.map(each => each.toLowerCase())
  const closest = closestMatch(word.slice(0, 100).toLowerCase(), lower, { maxDistance })
  return closest === undefined ? undefined : known[lower.indexOf(closest)]
}
