/** Compiles the contracts of the local chain again, after a change of one: `node test/devchain/generate.ts`. */
import { writeFileSync } from 'node:fs'
import { compiledText } from './compiled.ts'

writeFileSync(new URL('../../src/devchain/contracts.json', import.meta.url), await compiledText())
