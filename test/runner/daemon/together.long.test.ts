import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Hour } from '../../../src/model/hour.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { chainOf } from '../../support/reads.ts'
import { configured, hour, testRunner } from '../setup.ts'

const word = `0x${'00'.repeat(31)}07` as const

/** A chain that counts the reads of each turn of the event loop. @param before what an answer waits for */
function countingChain(before: () => Promise<void>) {
  const byTurn: number[] = []
  let reads = 0
  const chain = chainOf({
    block: () => Promise.reject(new Error('is not asked for')),
    logs: () => Promise.reject(new Error('are not asked for')),
    async read(_hour: Hour, requests) {
      if (reads === 0) {
        setImmediate(() => {
          byTurn.push(reads)
          reads = 0
        })
      }
      reads += 1
      await before()
      return requests.map(() => ({ kind: 'returned' as const, output: word }))
    },
  })
  return { chain, byTurn }
}

it('the reads of many hours and collectors that start together are asked for in one turn', async () => {
  const { chain, byTurn } = countingChain(() => new Promise(resolve => setImmediate(resolve)))
  const { runner } = testRunner({ chains: { main: chain } })
  const collectors = Array.from({ length: 10 }, (_, index) =>
    configured('./two-stages.ts', { id: `two/${index}`, options: { factor: index } }),
  )
  await Promise.all(collectors.map(collector => runner.describe(collector)))
  const hours = Array.from({ length: 100 }, (_, index) => hourAfter(hour, -index))
  const runs = collectors.flatMap((collector, index) => hours.map(at => ({ collector, index, at })))
  const outcomes = await Promise.all(runs.map(({ collector, at }) => runner.collect(collector, at)))
  expect(outcomes.map(({ readings }) => readings['Sum'])).toEqual(runs.map(({ index }) => 14 * index))
  // Two stages that wait for one another.
  expect(byTurn).toEqual([1000, 1000])
})

it('the first reads of collectors in processes of their own are asked for in one turn', async () => {
  const { chain, byTurn } = countingChain(async () => {})
  const { runner } = testRunner({ chains: { main: chain } })
  const folder = temporaryFolder()
  const uses = ['a', 'b', 'c'].map(name => join(folder, `${name}.ts`))
  for (const use of uses) copyFileSync(new URL('../fixtures/two-stages.ts', import.meta.url), use)
  const own = uses.map(use => configured(use, { id: use, options: { factor: 1 } }))
  await Promise.all(own.map(collector => runner.describe(collector)))
  const outcomes = await Promise.all(own.map(collector => runner.collect(collector, hour)))
  expect(outcomes.map(({ readings }) => readings['Sum'])).toEqual([14, 14, 14])
  expect(byTurn[0]).toBe(3)
})
