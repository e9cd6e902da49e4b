import { afterEach, expect, it } from 'vitest'
import { adviseFile, withFile } from '../../src/model/advice.ts'

afterEach(() => adviseFile(undefined))

it.each([
  ['tidegauge doctor shows which answer', 'tidegauge doctor --config own.yaml shows which answer'],
  [
    'decide: tidegauge held ls; or tidegauge flush',
    'decide: tidegauge held ls --config own.yaml; or tidegauge flush --config own.yaml',
  ],
  ['give it up\ntidegauge due drop pool', 'give it up\ntidegauge due drop --config own.yaml pool'],
  ['tidegauge due drop --config of/another.yaml pool', undefined],
  ['/srv/tidegauge backup/a, my tidegauge run/b and tidegauge check-out', undefined],
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
  expect(JSON.parse(withFile(JSON.stringify('first\ntidegauge run'), 'json'))).toBe(
    `first\ntidegauge run --config 'my "own".yaml'`,
  )
  expect(withFile('tidegauge run', 'html')).not.toMatch(/["']/)
})
