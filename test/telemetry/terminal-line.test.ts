import { describe, expect, it } from 'vitest'
import { printableJson } from '../../src/model/text.ts'
import { terminalLine } from '../../src/telemetry/log.ts'

const line = (fields: Readonly<Record<string, unknown>>) =>
  `${JSON.stringify({ level: 'warn', time: '2026-11-23T09:58:04.123Z', ...fields })}\n`
const shown = (fields: Readonly<Record<string, unknown>>) => terminalLine(line(fields), false)

describe('a line of the log on a terminal', () => {
  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['has its time, level and message', { msg: 'stopping' }, '09:58:04Z warn  stopping\n'],
    [
      'has its facts after the message, quoted where they need it',
      { chain: 'ethereum', reason: 'no answer', metrics: 4, msg: 'failed' },
      '09:58:04Z warn  failed · chain=ethereum reason="no answer" metrics=4\n',
    ],
    [
      'has a text of several lines below it',
      { mistakes: 'a.yaml:1:2: wrong\n→ mend it', msg: 'refused' },
      '09:58:04Z warn  refused\n    mistakes:\n    a.yaml:1:2: wrong\n    → mend it\n',
    ],
    ['aligns what follows the level', { level: 'error', msg: 'x' }, '09:58:04Z error x\n'],
    [
      'has no sign that turns the rest around',
      { words: 'a\u202Eb\u2066c', msg: 'x\u200F\u2028y\u{E0041}' },
      '09:58:04Z warn  xy · words=abc\n',
    ],
    ['moves no cursor', { words: '\x1b[2J\x9b', msg: '\x1b[1A\x07x' }, '09:58:04Z warn  [1Ax · words=[2J\n'],
  ])('%s', (_, fields, expected) => {
    expect(shown(fields)).toBe(expected)
  })

  it('colours the level, and dims the rest', () => {
    expect(terminalLine(line({ a: 1, msg: 'x' }), true)).toBe(
      '\x1b[2m09:58:04Z\x1b[0m \x1b[33mwarn \x1b[0m x \x1b[2m·\x1b[0m \x1b[2ma=\x1b[0m1\n',
    )
  })

  it('leaves alone what is no JSON object', () => {
    for (const text of ['plain words\n', '5\n', '']) expect(terminalLine(text, true)).toBe(text)
  })
})

it('a line of the log for programs holds no sign that a terminal obeys, and means the same', () => {
  const fields = { words: 'a\u202Eb\u009B2Jc\u{E0041}\u2028', msg: 'é ☃ 日本' }
  const shown = printableJson(JSON.stringify(fields))
  expect(shown).not.toMatch(/[\p{C}\p{Zl}]/u)
  expect(shown).toContain('é ☃ 日本')
  expect(JSON.parse(shown)).toEqual(fields)
})
