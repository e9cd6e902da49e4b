import { expect, it } from 'vitest'
import { pulsePauseMs } from '../../src/devchain/devchain.ts'
import { hourMs } from '../../src/model/limits.ts'

it('a block comes every minute', () => {
  expect(pulsePauseMs(hourMs * 5)).toBe(60_000)
  expect(pulsePauseMs(hourMs * 5 + 1_234_567)).toBe(60_000)
})

it('a block comes a second and a half past each full hour, so that the hour has one past it at once', () => {
  expect(pulsePauseMs(hourMs - 20_000)).toBe(21_500)
  expect(pulsePauseMs(hourMs - 1)).toBe(1_501)
})
