import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PinnedBlock } from '../../../../src/model/block.ts'
import { Fault } from '../../../../src/model/fault.ts'
import { hourAfter } from '../../../../src/model/hour.ts'
import { commitRowsMax } from '../../../../src/model/limits.ts'
import type { CollectionOutcome } from '../../../../src/outbox/contract/outcome.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { anHour, metrics } from '../../../support/metrics.ts'
import { aBlock, aPin } from '../../support/blocks.ts'

function opened(file = join(temporaryFolder(), 'outbox.db')): SqliteOutbox {
  const outbox = new SqliteOutbox(file)
  outbox.expectedHours.addCollector('vault/c', anHour)
  outbox.expectedHours.addCollector('vault/d', anHour)
  onTestFinished(() => outbox.close())
  return outbox
}

function record(outbox: SqliteOutbox, pins: readonly PinnedBlock[], more: Partial<CollectionOutcome> = {}, count = 2) {
  const { hour = anHour } = more
  const accepted = metrics(count, hour).map(metric => ({ metric }))
  return outbox.recordCollection({ collector: 'vault/c', hour, accepted, pins, ...more }, 1)
}

const failed = { fault: new Fault('http-unreachable', 'no answer'), nextAttemptMs: 5 }

describe('a pin', () => {
  it('is there with the values it belongs to, by chain, oldest hour first, until it is confirmed', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const first = new SqliteOutbox(file)
    first.expectedHours.addCollector('vault/c', anHour)
    const later = hourAfter(anHour, 1)
    await record(first, [aPin(9)], { hour: later })
    await record(first, [aPin(7), aPin(70, 'f', 10)])
    first.close()
    const { pins } = opened(file)
    expect(pins.count()).toBe(3)
    const due = [
      { hour: anHour, collector: 'vault/c', block: aBlock(7) },
      { hour: later, collector: 'vault/c', block: aBlock(9) },
    ]
    expect(pins.due(1, later, 10)).toEqual(due)
    expect(pins.due(1, later, 1)).toEqual(due.slice(0, 1))
    expect(pins.due(1, anHour, 10)).toEqual(due.slice(0, 1))
    expect(pins.due(10, later, 10)).toMatchObject([{ block: aBlock(70, 'f') }])
    pins.confirm(1, anHour, 'vault/c')
    expect(pins.due(1, later, 10)).toEqual(due.slice(1))
    expect(pins.count()).toBe(2)
  })

  it('is not there without its values: they share a commit', async () => {
    const outbox = opened()
    const accepted = metrics(1).map(metric => ({ metric: { ...metric, value: Number.NaN } }))
    await expect(record(outbox, [aPin(7)], { accepted })).rejects.toThrow()
    expect(outbox.pins.count()).toBe(0)
    const ofNoBlock = { chainId: 1, block: { ...aBlock(8), hash: '0x12' } } as const
    await expect(record(outbox, [ofNoBlock])).rejects.toThrow()
    expect(outbox.tally.balance().enqueued, 'nor are values without their pin').toBe(0)
    expect(outbox.expectedHours.between(anHour, anHour)).toEqual([])
  })

  it('of more values than a commit holds is there with the first of them', async () => {
    const file = join(temporaryFolder(), 'outbox.db')
    const outbox = opened(file)
    const seen: [metrics: number, pins: number][] = []
    const look = new SqliteOutbox(file)
    onTestFinished(() => look.close())
    let isStored = false
    const watched = (async () => {
      for (; !isStored; await new Promise(setImmediate)) seen.push([look.tally.balance().enqueued, look.pins.count()])
    })()
    await record(outbox, [aPin(7)], {}, 2 * commitRowsMax)
    isStored = true
    await watched
    expect(new Set(seen.map(([count]) => count)), 'it was seen half').toContain(commitRowsMax)
    expect(seen.filter(([count, pins]) => count > 0 !== pins > 0)).toEqual([])
    expect(outbox.pins.count()).toBe(1)
  })

  it('stays where another attempt adds values read at the same block', async () => {
    const outbox = opened()
    await record(outbox, [aPin(7)], { failed }, 1)
    await record(outbox, [aPin(7)])
    expect(outbox.pins.due(1, anHour, 9)).toMatchObject([{ block: aBlock(7) }])
  })

  it('is of no block where values of one hour were read at two: the hour is read again', async () => {
    const outbox = opened()
    await record(outbox, [aPin(7)], { failed }, 1)
    await record(outbox, [aPin(7, 'b')])
    const [pin] = outbox.pins.due(1, anHour, 9)
    expect([aBlock(7).hash, aBlock(7, 'b').hash]).not.toContain(pin?.block.hash)
    await record(outbox, [aPin(7)], { mode: 'correct' })
    expect(outbox.pins.due(1, anHour, 9)).toMatchObject([{ block: aBlock(7) }])
  })

  it('of values that are there already is none', async () => {
    const outbox = opened()
    await record(outbox, [])
    await record(outbox, [aPin(7)])
    expect(outbox.pins.count()).toBe(0)
  })

  it('is replaced when all values are corrected, on every chain, and stays when only some are', async () => {
    const outbox = opened()
    await record(outbox, [aPin(7), aPin(70, 'f', 10)])
    await record(outbox, [aPin(8, 'b')], { mode: 'correct', failed }, 1)
    expect(outbox.pins.due(1, anHour, 9)).toMatchObject([{ block: aBlock(7) }])
    await record(outbox, [aPin(8, 'b')], { mode: 'correct' })
    expect(outbox.pins.due(1, anHour, 9)).toMatchObject([{ block: aBlock(8, 'b') }])
    expect(outbox.pins.count()).toBe(1)
    await record(outbox, [], { mode: 'correct' })
    expect(outbox.pins.count()).toBe(0)
  })

  it('that was put in the place of the one that was looked at is not confirmed with it', async () => {
    const outbox = opened()
    await record(outbox, [aPin(7)])
    await record(outbox, [aPin(8, 'b')], { mode: 'correct' })
    outbox.pins.confirm(1, anHour, 'vault/c', aBlock(7))
    expect(outbox.pins.count()).toBe(1)
    outbox.pins.confirm(1, anHour, 'vault/d', aBlock(8, 'b'))
    expect(outbox.pins.count()).toBe(1)
    outbox.pins.confirm(1, anHour, 'vault/c', aBlock(8, 'b'))
    expect(outbox.pins.count()).toBe(0)
  })

  it('keeps of which logs its values were made, and is of no block where values were made of different ones', async () => {
    const outbox = opened()
    const filter = { address: `0x${'c0'.repeat(20)}`, topics: [null] } as const
    const logs = [{ filter, digest: 'one' }]
    await record(outbox, [{ ...aPin(7), logs }])
    expect(outbox.pins.due(1, anHour, 10)).toEqual([{ hour: anHour, collector: 'vault/c', block: aBlock(7), logs }])
    await record(outbox, [aPin(7)], {}, 3)
    expect(outbox.pins.due(1, anHour, 10)).toMatchObject([{ block: aBlock(7), logs }])
    await record(outbox, [{ ...aPin(7), logs: [{ filter, digest: 'other' }] }], {}, 4)
    expect(outbox.pins.due(1, anHour, 10)).toMatchObject([{ block: { hash: `0x${'0'.repeat(64)}` } }])
  })
})
