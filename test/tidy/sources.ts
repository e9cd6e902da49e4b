import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's own files, as the rules of tidy.test.ts read them. */

/** The repository's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** One file and what it imports. */
export interface Source {
  /** Relative to the root, with forward slashes. */
  readonly file: string
  readonly text: string
  /** Its imports: paths relative to the root for own files, package names for the rest; types marked. */
  readonly imports: readonly { readonly target: string; readonly isType: boolean }[]
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
}

const importPattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

function read(file: string): Source {
  const text = readFileSync(join(root, file), 'utf8')
  const imports = [...text.matchAll(importPattern)].map(([, type, from, dynamic]) => {
    const specifier = from ?? dynamic ?? ''
    const target = specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(file), specifier))
      : packageOf(specifier)
    return { target, isType: type !== undefined }
  })
  return { file, text, imports }
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Files of the product. */
export const sources = filesBelow('src').map(read)
/** The collectors that come with it. */
export const collectors = filesBelow('collectors').map(read)
/** Files of the tests. */
export const tests = filesBelow('test').map(read)

/** Documentation, examples of configurations, and how the image and the checks are made. */
export const prose = [
  ...readdirSync(root),
  ...['.ci', 'collectors', 'config', 'docs', 'examples', 'src', 'test'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(file => join(folder, String(file))),
  ),
]
  .filter(file => /\.(md|ya?ml)$|Dockerfile$|^\.ci\/\w+$/.test(file) && !file.includes('node_modules'))
  .map(file => ({ file, text: readFileSync(join(root, file), 'utf8') }))

/** Without comments and the contents of strings. */
export const codeOf = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '')
