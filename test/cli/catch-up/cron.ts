import { expect } from 'vitest'
import type { Dice } from '../../../src/devchain/dice.ts'
import { catchUpStage, expectedArrivals, type Shape } from './stage.ts'

/** A cron that is late or skips, and a machine that may keep nothing. */
export interface BadCron {
  readonly dice: Dice
  /** Hours for which it should run. */
  readonly hours: number
  /** Whether the outbox is there at the next run. */
  readonly keeps: 'always' | 'never' | 'sometimes'
  readonly shape: Shape
}

/** Instants at seven minutes past each hour, in hours: 40 of 100 are dropped, the others are up to 12 hours late. */
function badRuns({ roll, between }: Dice, hours: number): number[] {
  const scheduled = Array.from({ length: hours }, (_, hour) => hour + 7 / 60)
  const kept = scheduled.filter(() => roll() >= 0.4).map(at => at + between(0, 12))
  // The first one is when it was set up.
  return [7 / 60, ...kept.sort((a, b) => a - b)]
}

/** Lives through a cron, and compares what came with what a daemon delivers: the value of each hour, and each once. */
export async function liveThrough({ dice, hours, keeps, shape }: BadCron): Promise<void> {
  const stage = await catchUpStage({ isAlone: true })
  stage.answers(shape)
  const runs = badRuns(dice, hours)
  for (const at of runs) {
    const { code, stderr } = await stage.at(at)
    expect(code, stderr).toBe(0)
    if (keeps === 'never' || (keeps === 'sometimes' && dice.roll() < 0.3)) stage.forget()
  }
  const last = Math.floor(runs.at(-1) ?? 0)
  const came = [...stage.arrivals]
  expect(Object.fromEntries(came.map(([key, values]) => [key, values[0]]))).toEqual(expectedArrivals(stage, 0, last))
  expect(came.filter(([, values]) => values.length > 1)).toEqual([])
}
