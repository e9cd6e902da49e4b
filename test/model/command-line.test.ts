import { expect, it } from 'vitest'
import { commandLine } from '../../src/model/text.ts'

it.each([
  [undefined, 'tidegauge dead ls'],
  ['/etc/tidegauge.yaml', 'tidegauge dead ls --config /etc/tidegauge.yaml'],
  ["/my files/it's.yaml", "tidegauge dead ls --config '/my files/it'\\''s.yaml'"],
])('a command names the configuration %s', (config, line) => {
  expect(commandLine('dead ls', config)).toBe(line)
})
