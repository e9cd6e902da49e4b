import { describe, expect, it } from 'vitest'
import { StoredState } from '../../../src/delivery/gate.ts'
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'

const none: DestinationState = { notBeforeMs: 0, probeAtMs: 0, failures: 0 }

/** A store that stores when the test says so. */
function slowRow() {
  const bench = { row: none, saves: [] as (() => void)[] }
  const outbox = {
    destination: async () => bench.row,
    saveDestination: (_: string, state: DestinationState) =>
      new Promise<void>(resolve => {
        bench.saves.push(() => {
          bench.row = state
          resolve()
        })
      }),
  }
  return Object.assign(bench, { state: new StoredState(outbox, 'service') })
}

const turn = () => new Promise(resolve => setImmediate(resolve))

describe('the state of a destination', () => {
  it('is stored one change after the other, so that the latest stays', async () => {
    const bench = slowRow()
    const both = [1, 2].map(notBeforeMs => bench.state.saveAtOnce({ ...none, notBeforeMs }))
    expect(bench.state.current.notBeforeMs).toBe(2)
    await turn()
    expect(bench.saves).toHaveLength(1)
    bench.saves[0]?.()
    await turn()
    expect(bench.state.current.notBeforeMs).toBe(2)
    bench.saves[1]?.()
    await Promise.all(both)
    expect(bench.row.notBeforeMs).toBe(2)
  })

  it('changes when it is stored, unless that cannot wait', async () => {
    const bench = slowRow()
    const saved = bench.state.save({ ...none, failures: 3 })
    await turn()
    expect(bench.state.current.failures).toBe(0)
    bench.saves[0]?.()
    await saved
    expect(bench.state.current.failures).toBe(3)
  })

  it('is taken over from the outbox once, and a request is seen each time', async () => {
    const bench = slowRow()
    bench.row = { ...none, failures: 1 }
    expect(await bench.state.read()).toBe(false)
    bench.row = { ...none, failures: 2, isAsked: true }
    expect(await bench.state.read()).toBe(true)
    expect(bench.state.current).toEqual({ ...none, failures: 1 })
  })
})
