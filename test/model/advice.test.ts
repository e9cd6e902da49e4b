import { afterEach, expect, it } from 'vitest'
import { adviseFile, withFile } from '../../src/model/advice.ts'

afterEach(() => adviseFile(undefined))

it.each([
  ['tidegauge doctor shows which answer', 'tidegauge doctor --config own.yaml shows which answer'],
  [
    'decide: tidegauge held ls; or tidegauge flush',
    'decide: tidegauge held ls --config own.yaml; or tidegauge flush --config own.yaml',
  ],
  ['register it with tidegauge register pool', 'register it with tidegauge register --config own.yaml pool'],
  [
    'tidegauge explain a___B 2026-11-20T13:00:00Z --config own.yaml',
    'tidegauge explain a___B 2026-11-20T13:00:00Z --config own.yaml',
  ],
  ['another tidegauge holds this outbox; run the version of tidegauge that wrote it', undefined],
])('%s names the configuration', (text, completed = text) => {
  expect(withFile(text)).toBe(text)
  adviseFile('own.yaml')
  expect(withFile(text)).toBe(completed)
  expect(withFile(completed), 'once').toBe(completed)
})

it('escapes the file for a shell, JSON and a page', () => {
  adviseFile('my "own".yaml')
  expect(withFile('tidegauge run')).toBe(`tidegauge run --config 'my "own".yaml'`)
  expect(JSON.parse(withFile('"tidegauge run"', 'json'))).toBe(`tidegauge run --config 'my "own".yaml'`)
  expect(withFile('tidegauge run', 'html')).not.toMatch(/["']/)
})
