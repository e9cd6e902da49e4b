/**
 * Writes the generated documents: `node test/docs/generate.ts`. With an argument it prints one of them instead:
 * `configuration`, `collectors`, `errors` or `cli`.
 */
import { writeFileSync } from 'node:fs'
import { generated } from './generated.ts'

const [name] = process.argv.slice(2)
for (const [file, text] of Object.entries(await generated())) {
  if (name === undefined) writeFileSync(new URL(`../../docs/${file}`, import.meta.url), text)
  else if (file === `${name}.md`) process.stdout.write(text)
}
