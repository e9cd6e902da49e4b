import { expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'

const head = 'service: embedded\nprotocols: []\n'
const headLines = 2

function mistakesOf(text: string) {
  try {
    parseConfig('/tidegauge.yaml', text)
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
  throw new Error('there is no mistake in it')
}

it('tells each of 2,000 unknown keys at its place', () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `k${index}: 1`)
  const unknown = mistakesOf(head + lines.join('\n')).filter(({ message }) => message.startsWith('unknown key'))
  expect(unknown.map(({ place, message }) => [place.line, message])).toEqual(
    lines.map((_, index) => [headLines + 1 + index, `unknown key "k${index}"`]),
  )
})

it('tells a key that is given again in a list, in braces and below other keys, with the line of its first', () => {
  const text = `${head}chains:\n  a: { id: 1, rpc: [], id: 2 }\n  b:\n    id: 1\n    rpc: []\n    id: 3\n  a: { id: 4, rpc: [] }\n`
  const again = mistakesOf(text).filter(({ message }) => message.startsWith('this key is given twice'))
  expect(again.map(({ place, message }) => [place.line, message.slice(-9)])).toEqual([
    [4, 'on line 4'],
    [8, 'on line 6'],
    [9, 'on line 4'],
  ])
})
