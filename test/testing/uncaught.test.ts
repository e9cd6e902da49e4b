import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageUrl } from '../../src/edge/program-files.ts'
import { temporaryFolder } from '../support/folder.ts'

it.each([
  ['record', `{ use: './supply.ts', configFile: '/no/such.yaml', hour: '2026-11-20T13:00:00Z' }`, /no\/such\.yaml/],
  ['replay', `{ use: './supply.ts', recording: 5 }`, /the recording cannot be replayed: it is not a recording/],
])('a %s at the top of a file that fails shows its sentence and the author’s line', (call, run, sentence) => {
  const file = join(temporaryFolder(), 'made.mjs')
  const bundle = new URL('dist/cli/testing.cjs', packageUrl).href
  writeFileSync(file, `import { ${call} } from '${bundle}'\nconst made = await ${call}(${run})\n`)
  const { stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toMatch(sentence)
  expect(stderr).toContain(`made.mjs:2\nconst made = await ${call}(`)
  expect(stderr).not.toContain('testing.cjs')
})
