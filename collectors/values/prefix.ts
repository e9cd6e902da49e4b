import { z } from 'tidegauge'
import { labelMistake } from './declared.ts'

/** Option of collectors with labels of their own: what these begin with. */
export function prefixOption(charsMax: number) {
  const error = `must have at most ${charsMax} characters: labels, of at most 16, begin with it`
  return z
    .string()
    .max(charsMax, { error })
    .refine(prefix => prefix === '' || labelMistake(prefix) === undefined, {
      error: ({ input }) => labelMistake(String(input)),
    })
    .default('')
    .describe('must differ when a protocol uses several')
}

/** The same values, their labels beginning with the prefix. */
export function prefixed<T>(prefix: string, byLabel: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(byLabel).map(([label, value]) => [`${prefix}${label}`, value]))
}

/**
 * Names of what gets labels of its own that are too long for these or are no part of a label, with what to write.
 *
 * @param charsMax of prefix and name together
 * @param example of the rest of a label
 */
export function longNames(
  { prefix, names }: { readonly prefix: string; readonly names: readonly string[] },
  charsMax: number,
  example: string,
) {
  return names.flatMap(name => {
    const mistake = labelMistake(name) ?? labelMistake(`${prefix}${name}`)
    if (mistake !== undefined) return [{ name, message: mistake }]
    if (prefix.length + name.length <= charsMax) return []
    const own = prefix === '' ? name : `${name} and the prefix together`
    return [{ name, message: `${own} must have at most ${charsMax} characters, as in ${prefix}${name}${example}` }]
  })
}
