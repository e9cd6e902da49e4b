import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { packageUrl, programFiles } from '../../src/edge/program-files.ts'

it.each(['main', 'child', 'otlp'] as const)('%s begins with the settings of a process', name => {
  const [first] = readFileSync(new URL(programFiles[name][0], packageUrl), 'utf8').match(/^import .*$/m) ?? []
  expect(first).toContain('edge/process-settings.ts')
})

it('gives each address of a name the time of a slow connection, and opens no debugger', () => {
  const settings = JSON.stringify(new URL('src/edge/process-settings.ts', packageUrl))
  const code = `import(${settings}).then(() => {
    console.log(require('node:net').getDefaultAutoSelectFamilyAttemptTimeout(), process.listenerCount('SIGUSR1'))
  })`
  expect(execFileSync(process.execPath, ['--eval', code]).toString()).toBe('2500 1\n')
})
