import type { ValueMistake } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/words.ts'

type OptionPath = readonly PropertyKey[]

/**
 * Finds chains that a collector's options name and that are not configured. An option `chain` is a chain's name and
 * `chains` a list of them, at any depth; other shapes are left to the collector.
 */
export function unknownChains(options: unknown, path: OptionPath, known: readonly string[]): ValueMistake[] {
  return namedIn(options, path)
    .filter(({ name }) => !known.includes(name))
    .map(({ name, at }) => {
      const message = `${pathText(at)}: there is no chain ${quoted(name)} under chains:`
      return { place: { path: at, at: 'value' }, message, fix: fixOf(name, known) }
    })
}

function fixOf(name: string, known: readonly string[]): string {
  const near = meant(name, known)
  if (near !== undefined) return `did you mean ${near}?`
  const add = `add it: chains: { ${/^[\w-]+$/.test(name) ? name : quoted(name)}: { id: …, rpc: […] } }`
  return known.length === 0 ? add : `configured: ${known.join(', ')}; or ${add}`
}

function namedIn(value: unknown, path: OptionPath): { readonly name: string; readonly at: OptionPath }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (key === 'chain' && typeof part === 'string') return [{ name: part, at }]
    if (key !== 'chains' || !Array.isArray(part)) return namedIn(part, at)
    return part.flatMap((name, index) => (typeof name === 'string' ? [{ name, at: [...at, index] }] : []))
  })
}
