import type { OptionPath } from './chain-names.ts'
import type { PlaceOf } from './document.ts'
import type { PlacedMistake, ValueMistake } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/wording.ts'

interface NamedPrice {
  readonly name: string
  readonly at: OptionPath
}

/**
 * Finds prices that a shipped collector's options, or the sources of a price, name and that are not configured: an
 * option `price` is a price's name, at any depth.
 */
export function unknownPrices(options: unknown, path: OptionPath, known: readonly string[]): ValueMistake[] {
  return namedIn(options, path)
    .filter(({ name }) => !known.includes(name))
    .map(({ name, at }) => ({
      place: { path: at, at: 'value' },
      message: `${pathText(at)}: there is no price ${quoted(name)} under prices:`,
      fix: fixOf(name, known),
    }))
}

/** The prices of one file by name, as written. */
export interface WrittenPrices {
  readonly map: Readonly<Record<string, unknown>>
  readonly placeOf: PlaceOf
}

/** Finds prices that need themselves, each circle once. */
export function pricesInCircles(files: readonly WrittenPrices[]): PlacedMistake[] {
  const prices = new Map(files.flatMap(({ map }) => Object.entries(map)))
  const sound = new Set<string>()
  const from = (name: string, above: readonly string[]): readonly string[] | undefined => {
    if (above.includes(name)) return above.slice(above.indexOf(name))
    if (sound.has(name)) return undefined
    sound.add(name)
    for (const needed of namedIn(prices.get(name), [])) {
      const circle = from(needed.name, [...above, name])
      if (circle) return circle
    }
    return undefined
  }
  return files.flatMap(({ map, placeOf }) =>
    Object.keys(map).flatMap(name => {
      const circle = from(name, [])
      if (!circle) return []
      const message = `${pathText(['prices', name])}: needs itself: ${[...circle, circle[0]].join(' → ')}`
      return [{ place: placeOf(['prices', name], 'key'), message, fix: 'let one of them have a source of its own' }]
    }),
  )
}

function fixOf(name: string, known: readonly string[]): string {
  const near = meant(name, known)
  if (near !== undefined) return `did you mean ${near}?`
  const add = `add it: prices: { ${/^[\w-]+$/.test(name) ? name : quoted(name)}: [{ chain: …, feed: "0x…" }] }`
  return known.length === 0 ? add : `configured: ${known.join(', ')}; or ${add}`
}

function namedIn(value: unknown, path: OptionPath): readonly NamedPrice[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    return key === 'price' && typeof part === 'string' ? [{ name: part, at }] : namedIn(part, at)
  })
}
