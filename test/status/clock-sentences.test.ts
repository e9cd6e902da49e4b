import { expect, it } from 'vitest'
import { clockSentences } from '../../src/status/sentences.ts'

const clock = { kind: 'doubted', why: 'unconfirmed', reason: 'nothing confirms it' } as const
it.each([
  ['is no alarm right after the start', 1_000, []],
  ['is reported from then on', 10_000, ['Nothing confirms it.']],
  ['is reported after the clock was set back to before the start', -30 * 86_400_000, ['Nothing confirms it.']],
])('a clock that nothing confirms %s', (_, upMs, sentences) => {
  expect(
    clockSentences({ clock, destinations: [{ skewMs: 7_200_000 }], nowMs: 1e12 + upMs, startedAtMs: 1e12 }),
  ).toEqual(sentences)
})
