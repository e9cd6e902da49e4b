import { readFileSync } from 'node:fs'
import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { packageUrl, programFiles } from '../../src/edge/program-files.ts'

it.each(['main', 'child', 'otlp'] as const)('%s begins with the settings of a process', name => {
  const [first] = readFileSync(new URL(programFiles[name][0], packageUrl), 'utf8').match(/^import .*$/m) ?? []
  expect(first).toContain('edge/process-settings.ts')
})

it('gives each address of a name the time of a slow connection, and opens no debugger', async () => {
  const before = getDefaultAutoSelectFamilyAttemptTimeout()
  const listeners = process.listeners('SIGUSR1')
  onTestFinished(() => {
    setDefaultAutoSelectFamilyAttemptTimeout(before)
    for (const added of process.listeners('SIGUSR1')) if (!listeners.includes(added)) process.off('SIGUSR1', added)
  })
  await import('../../src/edge/process-settings.ts')
  expect(getDefaultAutoSelectFamilyAttemptTimeout()).toBeGreaterThanOrEqual(2_500)
  expect(process.listenerCount('SIGUSR1')).toBeGreaterThan(listeners.length)
})
