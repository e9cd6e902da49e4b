import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { viemParts } from './bundle.ts'

/** Imports that an installed package resolves among its dependencies. */
const installed = /^(node:|zod$)/

/** Name of a module in a file of types; the first alternative passes over comments, whose examples name modules too. */
const moduleName = /\/\*[\s\S]*?\*\/|(?<before>\b(?:from |import\(|import ))(['"])(?<name>[@\w./:-]+)\2/g

/**
 * Writes the types of what users import into `dist/types`: the program's own, and those of viem with all that they need, as
 * an installed package has viem's code alone.
 *
 * @throws when the compiler finds a mistake
 */
export function declarations(root: string): void {
  const outputFolder = join(root, 'dist/compiled')
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(root, 'src/build/tsconfig.types.json')
  execFileSync(process.execPath, [compiler, '--project', project, '--outDir', outputFolder], { stdio: 'inherit' })
  const own = join(outputFolder, 'src')
  const copies = new Copies(root, own)
  for (const name of ['collector', 'testing']) copies.add(join(own, `${name}.d.ts`))
  const parts = ['viem', ...viemParts(root)]
  for (const part of parts) copies.addAs(packageTypes(root, part), `${part}.d.ts`)
  rmSync(outputFolder, { recursive: true })
  writeFileSync(join(root, 'dist/types/viem-names.d.ts'), namesOf(root, parts))
  const file = join(root, 'dist/types/collector.d.ts')
  writeFileSync(file, `/// <reference path="./viem-names.d.ts" />\n${readFileSync(file, 'utf8')}`)
}

/**
 * Types of `viem` for a project that does not have it. A compiler takes a pattern only for a name that it finds nowhere, so
 * a project with a viem of its own keeps the types of that.
 */
function namesOf(root: string, parts: readonly string[]): string {
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly name: string }
  const patterns = parts.map(
    part => `declare module '${part.slice(0, -1)}*${part.at(-1)}' {\n  export * from '${name}/${part}'\n}`,
  )
  return `${patterns.join('\n')}\n`
}

/** Copies of files of types, with all files that they name. */
class Copies {
  readonly #root: string
  readonly #compiled: string
  readonly #done = new Set<string>()

  /** @param compiled folder of the program's own types, which become `dist/types` */
  constructor(root: string, compiled: string) {
    this.#root = root
    this.#compiled = compiled
  }

  /** Copies a file to its place. */
  add(source: string): void {
    if (this.#done.has(source)) return
    this.#done.add(source)
    const target = this.#placeOf(source)
    const text = readFileSync(source, 'utf8').replace(moduleName, (whole, ...match) => {
      const { before: prefix, name } = match.at(-1) as Readonly<Record<string, string | undefined>>
      if (prefix === undefined || name === undefined || installed.test(name)) return whole
      const named = name.startsWith('.') ? relativeTypes(source, name) : packageTypes(this.#root, name)
      this.add(named)
      return `${prefix}'${moduleFrom(target, this.#placeOf(named))}'`
    })
    write(target, text)
  }

  /** Copies a file to its place, and makes it what is imported by a name in `dist/types`. */
  addAs(source: string, name: string): void {
    this.add(source)
    const target = join(this.#root, 'dist/types', name)
    write(target, `export * from '${moduleFrom(target, this.#placeOf(source))}'\n`)
  }

  #placeOf(source: string): string {
    const types = join(this.#root, 'dist/types')
    if (source.startsWith(this.#compiled)) return join(types, relative(this.#compiled, source))
    const place = join(types, 'packages', relative(join(this.#root, 'node_modules'), source))
    // 700 chains, a constant each: as files of their own they take half as much room again.
    return place.replace(/(\/chains\/definitions)\/.*/, '$1.d.ts')
  }
}

/** Adds to a file. The maps of the sources are not copied. */
function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
}

/** The specifier of a file of types as seen from another one. */
function moduleFrom(file: string, named: string): string {
  return relative(dirname(file), named)
    .replace(/^(?!\.)/, './')
    .replace(/\.d\.ts$/, '.js')
}

/** The compiler keeps the names of the program's own sources. */
function relativeTypes(file: string, name: string): string {
  return join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts'))
}

/** The file of types that a package has for a name. @throws when there is none */
function packageTypes(root: string, name: string): string {
  const [, packageName = '', path = ''] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(name) ?? []
  const folder = join(root, 'node_modules', packageName)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageManifest
  const target = conditional(manifest.exports?.[`.${path}`]) ?? manifest.types ?? ''
  const file = join(folder, target.replace(/(\.d)?\.[jt]s$/, '.d.ts'))
  if (target === '' || !existsSync(file)) throw new Error(`${name} has no types`)
  return file
}

type ExportTarget = string | { readonly [condition: string]: ExportTarget }

interface PackageManifest {
  readonly types?: string
  readonly exports?: Readonly<Record<string, ExportTarget>>
}

/** The path in an entry of `exports` that an import of types takes. */
function conditional(target: ExportTarget | undefined): string | undefined {
  if (target === undefined || typeof target === 'string') return target
  return conditional(target['types'] ?? target['import'] ?? target['default'])
}
