import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Writes the types of what users import into `dist/types`. @throws when the compiler finds a mistake */
export function declarations(root: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '--project', join(root, 'src/build/tsconfig.types.json')], {
    stdio: 'inherit',
  })
  const needed = new Set(['collector', 'testing'].flatMap(name => reachable(join(root, `dist/types/${name}.d.ts`))))
  for (const file of globSync(join(root, 'dist/types/**/*.d.ts'))) {
    if (needed.has(file)) writeFileSync(file, withoutSourceNames(readFileSync(file, 'utf8')))
    else rmSync(file)
  }
}

/** A file of types, and all that it names. */
function reachable(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const named = readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"](\.[^'"]*)\.ts['"]/g)
  for (const [, path = ''] of named) reachable(join(dirname(file), `${path}.d.ts`), seen)
  return [...seen]
}

/** The compiler keeps the names of the sources in relative imports, which a strict project must not have. */
function withoutSourceNames(text: string): string {
  return text.replace(/((?:from|import\()\s*['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js')
}
