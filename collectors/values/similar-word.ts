import { closestMatch } from 'leven'

/** The word of `known` that was probably meant; `undefined` when none is similar. */
export function similarWord(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.max(1, Math.floor(word.length / 2)))
  const lower = candidates.map(each => each.toLowerCase())
  const closest = closestMatch(word.slice(0, 100).toLowerCase(), lower, { maxDistance })
  return closest === undefined ? undefined : candidates[lower.indexOf(closest)]
}
