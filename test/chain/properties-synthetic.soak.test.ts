import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repetitions } from '../support/soak.ts'
import { type Steps, steppedChain } from './support/stepped-chain.ts'
import { halt, haltSeconds, type SyntheticKind, syntheticKinds } from './support/synthetic-kinds.ts'

/** The archives that everything else about the chain is measured by, against plain counting. */

const names = Object.keys(syntheticKinds) as SyntheticKind[]

describe('a synthetic chain', () => {
  it('has the timestamps and the as-of blocks that counting step by step gives', () => {
    const step = fc.record({
      blocks: fc.nat(4),
      seconds: fc.oneof(fc.constant(12), fc.integer({ min: 1, max: 9_000 })),
    })
    const genesis = fc.constantFrom(0, 7, 1_700_000_000)
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), genesis, fc.integer({ min: 1, max: 3_000 }), count),
      { numRuns: repetitions({ test: 5, soak: 300 }) },
    )
  })

  it.each(names)('%s: 20 million blocks know each other’s times', kind => {
    const chain = syntheticKinds[kind]()
    expect(chain.head).toBe(20_000_000n - 1n)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number(chain.head) - 99 }), number => {
        const [at, after] = [chain.timestampOf(number), chain.timestampOf(number + 1)]
        expect(after).toBeGreaterThanOrEqual(at)
        expect(chain.timestampOf(chain.asOf(at))).toBe(at)
        expect(chain.timestampOf(chain.asOf(at) + 1)).toBeGreaterThan(at)
        if (after > at) expect(chain.asOf(after - 1)).toBe(number)
      }),
      { numRuns: repetitions({ test: 15, soak: 2_000 }) },
    )
  })

  it('is as irregular as it says', () => {
    const secondsABlock = (kind: SyntheticKind) => {
      const chain = syntheticKinds[kind]()
      return (chain.timestampOf(Number(chain.head)) - chain.timestampOf(0)) / Number(chain.head)
    }
    expect(secondsABlock('slots')).toBeCloseTo(12 / 0.99, 2)
    expect(secondsABlock('bumpy')).toBeGreaterThan(12 / 0.86)
    expect(secondsABlock('bumpy')).toBeLessThan(12 / 0.8)
    expect(secondsABlock('random')).toBeCloseTo(13.3, 1)
    expect(secondsABlock('uneven')).toBeCloseTo(0.25, 3)
    expect(secondsABlock('fast')).toBeCloseTo(0.25, 6)
    const bumpy = syntheticKinds.bumpy()
    const before = bumpy.asOf(haltSeconds)
    const pause = bumpy.timestampOf(before + 1) - bumpy.timestampOf(before)
    expect(pause).toBeGreaterThanOrEqual((halt.toSlot - halt.fromSlot) * 12)
  })
})

/** Looks at every block and many instants of a small chain, whose steps repeat. */
function count(cycle: readonly { blocks: number; seconds: number }[], genesis: number, blocks: number): void {
  const at = (step: number) => cycle[step % cycle.length] ?? { blocks: 1, seconds: 1 }
  const steps: Steps = { blocks: step => (step === 0 ? 1 : at(step).blocks), seconds: step => at(step).seconds }
  fc.pre(cycle.some(({ blocks }, index) => blocks > 0 && index > 0))
  const timestamps: number[] = []
  for (let [step, seconds] = [0, genesis]; timestamps.length < blocks; seconds += at(step).seconds, step += 1) {
    for (let block = 0; block < steps.blocks(step) && timestamps.length < blocks; block += 1) timestamps.push(seconds)
  }
  const chain = steppedChain(steps, blocks, genesis)
  expect(timestamps.map((_, number) => chain.timestampOf(number))).toEqual(timestamps)
  const last = timestamps.at(-1) ?? 0
  const instants = [genesis - 1, ...timestamps.filter((_, number) => number % 7 === 0), last, last + 1, last + 90_000]
  for (const instant of instants.flatMap(instant => [instant - 1, instant])) {
    expect(chain.asOf(instant)).toBe(timestamps.findLastIndex(timestamp => timestamp <= instant))
  }
}
