import { existsSync } from 'node:fs'

/**
 * Where the program's own files are. In a clone it runs from `src` and `collectors`. An installed package has the same
 * modules bundled below `dist`, one folder deep as this file is below `src`: the build keeps it so.
 */
const isSource = import.meta.url.endsWith('.ts')

/** The package's folder: in it are `package.json`, `collectors` and `config`. */
export const packageUrl = new URL('../../', import.meta.url)

/**
 * Modules that are found by their path and not by an import: where each is in a clone, and in an installed package. The
 * build makes a bundle of each.
 */
export const programFiles = {
  main: ['src/cli/commands/program.ts', 'dist/cli/main.cjs'],
  lookThrough: ['src/outbox/sqlite/look-through-thread.ts', 'dist/cli/look-through-thread.cjs'],
  child: ['src/runner/child/main.ts', 'dist/child/main.js'],
  tidegauge: ['src/collector.ts', 'dist/child/collector.js'],
  testing: ['src/testing.ts', 'dist/cli/testing.js'],
} as const satisfies Record<string, readonly [source: `src/${string}.ts`, bundle: `dist/${string}.${'js' | 'cjs'}`]>

/** Address of a module that is found by its path. */
export function programUrl(name: keyof typeof programFiles): URL {
  return new URL(programFiles[name][isSource ? 0 : 1], packageUrl)
}

/** Folder of the collectors that come with the program, as Node runs them, and the extension of their files. */
export const shippedModules = {
  url: new URL(isSource ? 'collectors/' : 'dist/collectors/', packageUrl),
  extension: isSource ? '.ts' : '.js',
} as const

/** Folders and files of the package that a process of collectors reads. */
export const programParts: readonly string[] = isSource
  ? ['src', 'collectors', 'package.json']
  : ['dist', 'package.json']

/** Whether the program's libraries are bundled with it, so that it reads nothing in folders of packages. */
export const hasOwnLibraries = !isSource

/** Libraries that collectors share with the program, whole, and where the build puts a bundle of each. */
export const sharedLibraries = { viem: 'dist/child/viem.js', zod: 'dist/child/zod.js' } as const

/**
 * The bundle of a library, or of a part of viem, that collectors import by that name; absent in a clone and for other names.
 * An installed package has nothing else of viem, whose own package is ten times as large as its code.
 */
export function sharedLibrary(specifier: string): URL | undefined {
  if (isSource) return undefined
  if (!specifier.startsWith('viem/')) {
    const name = specifier === 'zod/v4' ? 'zod' : specifier
    return name === 'viem' || name === 'zod' ? new URL(sharedLibraries[name], packageUrl) : undefined
  }
  const url = new URL(`dist/${specifier}.js`, packageUrl)
  return existsSync(url) ? url : undefined
}
