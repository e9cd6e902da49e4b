import { describe, expect, it } from 'vitest'
import type { PinnedBlock } from '../../../src/model/block.ts'
import type { CollectionOutcome } from '../../../src/outbox/contract/hours.ts'
import type { Outbox } from '../../../src/outbox/contract/outbox.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { aBlock, aPin } from '../support/blocks.ts'
import { emptyAt, type NewPlace } from './place.ts'
import { at, begun, collector, failedUntil, only, record } from './steps.ts'

function pinned(outbox: Outbox, pins: readonly PinnedBlock[], more: Partial<CollectionOutcome> = {}, count = 2) {
  return record(outbox, metrics(count, more.hour), { pins, ...more })
}

const hashesOf = async (outbox: Outbox, chainId = 1) =>
  (await outbox.intake.pinnedHours(chainId, at(100), 100)).map(({ block }) => block.hash)

const failure = failedUntil(5)

/** Promises of `pinnedHours`, `confirmPin`, `forgetPins` and `finalBlocks`. */
export function pinsContract(newPlace: NewPlace): void {
  describe('a pinned block', () => {
    it('is there with its values, by chain, oldest hour first, until it is confirmed', async () => {
      const { outbox, handles } = await begun(newPlace)
      await pinned(outbox, [aPin(9)], { hour: at(1) })
      await pinned(outbox, [aPin(7), aPin(70, 'f', 10)])
      const { intake } = await handles.reopened()
      const first = { hour: anHour, collector, block: aBlock(7) }
      const second = { hour: at(1), collector, block: aBlock(9) }
      expect(await intake.pinnedHours(1, at(1), 10)).toEqual([first, second])
      expect(await intake.pinnedHours(1, at(1), 1)).toEqual([first])
      expect(await intake.pinnedHours(1, at(1), 1, [collector])).toEqual([first])
      expect(await intake.pinnedHours(1, at(1), 10, ['unknown'])).toEqual([])
      expect(await intake.pinnedHours(1, anHour, 10)).toEqual([first])
      expect(await intake.pinnedHours(10, at(1), 10)).toMatchObject([{ block: aBlock(70, 'f') }])
      await intake.confirmPin(1, first)
      expect(await intake.pinnedHours(1, at(1), 10)).toEqual([second])
      expect(await intake.pinnedHours(10, at(1), 10)).toHaveLength(1)
    })

    it('stays when another block, hour, chain or collector is confirmed', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [aPin(7)])
      await pinned(outbox, [aPin(8, 'b')], { mode: 'correct' })
      const confirmed = { hour: anHour, collector, block: aBlock(8, 'b') }
      await outbox.intake.confirmPin(1, { ...confirmed, block: aBlock(7) })
      await outbox.intake.confirmPin(1, { ...confirmed, hour: at(1) })
      await outbox.intake.confirmPin(1, { ...confirmed, collector: 'vault/d' })
      await outbox.intake.confirmPin(2, confirmed)
      expect(await hashesOf(outbox)).toHaveLength(1)
      await outbox.intake.confirmPin(1, confirmed)
      expect(await hashesOf(outbox)).toEqual([])
    })

    it('stays where another run adds values read at the same block', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [aPin(7)], { failure }, 1)
      await pinned(outbox, [aPin(7)])
      expect(await hashesOf(outbox)).toEqual([aBlock(7).hash])
    })

    it('is no block where values of one hour were read at two: the hour has to be read again', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [aPin(7)], { failure }, 1)
      await pinned(outbox, [aPin(7, 'b')])
      expect([aBlock(7).hash, aBlock(7, 'b').hash]).not.toContain(only(await hashesOf(outbox)))
      await pinned(outbox, [aPin(7)], { mode: 'correct' })
      expect(await hashesOf(outbox)).toEqual([aBlock(7).hash])
    })

    it('is not kept for values that were there already', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [])
      await pinned(outbox, [aPin(7)])
      expect(await hashesOf(outbox)).toEqual([])
    })

    it('is replaced on every chain when all values are corrected, and stays when only some are', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [aPin(7), aPin(70, 'f', 10)])
      await pinned(outbox, [aPin(8, 'b')], { mode: 'correct', failure }, 1)
      expect(await hashesOf(outbox)).toEqual([aBlock(7).hash])
      await pinned(outbox, [aPin(8, 'b')], { mode: 'correct' })
      expect(await hashesOf(outbox)).toEqual([aBlock(8, 'b').hash])
      expect(await hashesOf(outbox, 10)).toEqual([])
      await pinned(outbox, [], { mode: 'correct' })
      expect(await hashesOf(outbox)).toEqual([])
    })

    it('is forgotten on every chain with its hour, and no other hour', async () => {
      const { outbox } = await begun(newPlace)
      await pinned(outbox, [aPin(7), aPin(70, 'f', 10)])
      await pinned(outbox, [aPin(9)], { hour: at(1) })
      await outbox.intake.forgetPins('vault/d', anHour)
      expect(await hashesOf(outbox, 10)).toHaveLength(1)
      await outbox.intake.forgetPins(collector, anHour)
      expect(await hashesOf(outbox)).toEqual([aBlock(9).hash])
      expect(await hashesOf(outbox, 10)).toEqual([])
    })

    it('keeps the logs of its values, and is no block where values were made of different ones', async () => {
      const { outbox, handles } = await begun(newPlace)
      const filter = { address: `0x${'c0'.repeat(20)}`, topics: [null] } as const
      const logs = [{ filter, digest: 'one' }]
      await pinned(outbox, [{ ...aPin(7), logs }])
      const { intake } = await handles.reopened()
      expect(await intake.pinnedHours(1, anHour, 9)).toEqual([{ hour: anHour, collector, block: aBlock(7), logs }])
      const again = await handles.another()
      await pinned(again, [aPin(7)], {}, 3)
      expect(await intake.pinnedHours(1, anHour, 9)).toMatchObject([{ block: aBlock(7), logs }])
      await pinned(again, [{ ...aPin(7), logs: [{ filter, digest: 'other' }] }], {}, 4)
      expect(await hashesOf(again)).not.toContain(aBlock(7).hash)
    })
  })

  describe('final blocks', () => {
    it('are kept for good, by chain, and the first one of an hour stays', async () => {
      const { outbox, handles } = await emptyAt(newPlace)
      const [mainnet, other] = [outbox.intake.finalBlocks(1), outbox.intake.finalBlocks(10)]
      await mainnet.keep([{ hour: anHour, block: aBlock(21_000_000) }])
      await mainnet.keep([{ hour: anHour, block: aBlock(5, 'b') }])
      await other.keep([{ hour: anHour, block: aBlock(5, 'c') }])
      const { intake } = await handles.reopened()
      expect(await intake.finalBlocks(1).of(anHour)).toEqual(aBlock(21_000_000))
      expect(await intake.finalBlocks(10).of(anHour)).toEqual(aBlock(5, 'c'))
      expect(await intake.finalBlocks(2).of(anHour)).toBeUndefined()
      expect(await intake.finalBlocks(1).of(at(1))).toBeUndefined()
    })

    it('are found around an hour: the nearest before and after, not its own', async () => {
      const { outbox } = await emptyAt(newPlace)
      const blocks = outbox.intake.finalBlocks(1)
      await blocks.keep([-5, -2, 0, 3, 9].map(count => ({ hour: at(count), block: aBlock(100 + count) })))
      expect(await blocks.around(anHour)).toEqual([aBlock(98), aBlock(103)])
      expect(await blocks.around(at(-9))).toEqual([aBlock(95)])
      expect(await blocks.around(at(10))).toEqual([aBlock(109)])
      expect(await outbox.intake.finalBlocks(2).around(anHour)).toEqual([])
    })

    it('are forgotten one by one, and can then be others', async () => {
      const { outbox } = await emptyAt(newPlace)
      const blocks = outbox.intake.finalBlocks(1)
      await blocks.keep([0, 1].map(count => ({ hour: at(count), block: aBlock(count) })))
      await blocks.forget(anHour)
      expect(await blocks.of(anHour)).toBeUndefined()
      expect(await blocks.of(at(1))).toEqual(aBlock(1))
      await blocks.keep([{ hour: anHour, block: aBlock(7) }])
      expect(await blocks.of(anHour)).toEqual(aBlock(7))
    })

    it('may be many at once', async () => {
      const { outbox } = await emptyAt(newPlace)
      const many = Array.from({ length: 2_500 }, (_, index) => ({ hour: at(index), block: aBlock(index) }))
      const blocks = outbox.intake.finalBlocks(1)
      await blocks.keep(many)
      for (const { hour, block } of many.slice(-2)) expect(await blocks.of(hour)).toEqual(block)
    })
  })
}
