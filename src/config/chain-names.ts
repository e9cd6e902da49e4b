import { isRecord } from '../model/json.ts'
import type { ValueMistake } from './mistakes/mistakes.ts'
import { meant, pathText, quoted } from './mistakes/wording.ts'

/** A path in the file, down into the options of a collector. */
export type OptionPath = readonly PropertyKey[]

interface NamedChain {
  readonly name: string
  /** A chain is named by an option, or is the key of one. */
  readonly place: ValueMistake['place']
}

/**
 * Finds chains that a collector's options name and that are not configured. An option `chain` is a chain's name,
 * `chains` a list of them, and `of` a map of maps by them, at any depth; other shapes are left to the collector.
 */
export function unknownChains(options: unknown, path: OptionPath, known: readonly string[]): ValueMistake[] {
  return namedIn(options, path)
    .filter(({ name }) => !known.includes(name))
    .map(({ name, place }) => {
      const message = `${pathText(place.path)}: there is no chain ${quoted(name)} under chains:`
      return { place, message, fix: fixOf(name, known) }
    })
}

/** The chains that a collector's options name, in their order, as `unknownChains` finds them. */
export function namedChains(options: unknown): readonly string[] {
  return namedIn(options, []).map(({ name }) => name)
}

function fixOf(name: string, known: readonly string[]): string {
  const near = meant(name, known)
  if (near !== undefined) return `did you mean ${near}?`
  const add = `add it: chains: { ${/^[\w-]+$/.test(name) ? name : quoted(name)}: { id: …, rpc: […] } }`
  return known.length === 0 ? add : `configured: ${known.join(', ')}; or ${add}`
}

function namedIn(value: unknown, path: OptionPath): NamedChain[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]): NamedChain[] => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (key === 'chain' && typeof part === 'string') return [{ name: part, place: { path: at, at: 'value' } }]
    if (key === 'chains' && Array.isArray(part)) return part.flatMap((name, index) => listed(name, [...at, index]))
    const byChain = key === 'of' && isRecord(part) && Object.values(part).every(isRecord) ? Object.keys(part) : []
    return [
      ...byChain.map(name => ({ name, place: { path: [...at, name], at: 'key' } as const })),
      ...namedIn(part, at),
    ]
  })
}

function listed(name: unknown, path: OptionPath): NamedChain[] {
  return typeof name === 'string' ? [{ name, place: { path, at: 'value' } }] : []
}
