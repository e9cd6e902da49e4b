import { readdirSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { shippedModules } from '../edge/program-files.ts'
import type { CollectorRef } from './messages.ts'

const shipped: string[] = []

/** Names of the shipped collectors; they do not change while the daemon runs. */
export function shippedCollectors(): readonly string[] {
  if (shipped.length === 0) {
    const { url, extension } = shippedModules
    const names = readdirSync(url).filter(name => name.endsWith(extension))
    shipped.push(...names.map(name => name.slice(0, -extension.length)).sort())
  }
  return shipped
}

/** Origin of a collector's code: shipped with the daemon, a file of one's own, or a package. */
export type Origin =
  | { readonly kind: 'shipped' }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'package'; readonly name: string }

/** Origin by the text of `use`, without checking that it exists. */
export function originOf({ use, configFile }: Pick<CollectorRef, 'use' | 'configFile'>): Origin {
  if (isAbsolute(use) || /^\.\.?(\/|$)/.test(use)) return { kind: 'file', file: resolve(dirname(configFile), use) }
  if (shippedCollectors().includes(use)) return { kind: 'shipped' }
  const name = use
    .split('/')
    .slice(0, use.startsWith('@') ? 2 : 1)
    .join('/')
  return { kind: 'package', name }
}
