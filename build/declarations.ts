import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes the types of what users import into `dist/types`. @throws when the compiler finds a mistake */
export function declarations(root: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '--project', join(root, 'build/tsconfig.types.json')], { stdio: 'inherit' })
  for (const file of globSync(join(root, 'dist/types/**/*.d.ts'))) {
    writeFileSync(file, withoutSourceNames(readFileSync(file, 'utf8')))
  }
}

/** The compiler keeps the names of the sources in relative imports, which a strict project must not have. */
function withoutSourceNames(text: string): string {
  return text.replace(/((?:from|import\()\s*['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js')
}
