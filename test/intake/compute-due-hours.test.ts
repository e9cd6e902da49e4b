import { describe, expect, it } from 'vitest'
import { computeDueHours } from '../../src/intake/compute-due-hours.ts'
import { noPasts } from '../../src/intake/validate.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs, recollectCapMs } from '../../src/model/limits.ts'
import { collector, pipelineOn, ScriptedRunner } from '../support/collectors.ts'
import { anHour } from '../support/metrics.ts'
import { VirtualTime } from '../support/virtual-time.ts'

const nowMs = anHour + 60_000

/** Computes hours that are due so many times each, from an instant on: the value is the number of the computation. */
async function computed(due: Readonly<Record<number, { times: number; fromMs?: number }>>, names = ['d']) {
  const runner = new ScriptedRunner({
    'vault/d': { history: true, script: (_, attempt) => ({ readings: { TVL: attempt }, failures: {}, pins: [] }) },
  })
  const hours = Object.entries(due).map(([later, how]) => ({ ...how, hour: hourAfter(anHour, Number(later)) }))
  const asked: object[] = []
  const intake = {
    dueHours: async (wanted: { readonly nowMs: number }) => {
      asked.push(wanted)
      return hours.flatMap(({ hour, times, fromMs = 0 }) => {
        const count = runner.asked.filter(one => one.hour === hour).length
        return count < times && fromMs <= wanted.nowMs ? [{ collector: 'vault/d', hour, attempts: 0 }] : []
      })
    },
    ...noPasts,
    record: async () => ({ added: 1, corrected: 0 }),
    recordGap: async () => {},
    forgetPins: async () => {},
  }
  const description = { metrics: { TVL: { unit: 'USD', min: 0 } }, history: true }
  const collectors = names.map(name => ({ collector: collector(name), description }))
  const time = new VirtualTime(nowMs)
  const deps = { intake, pipeline: pipelineOn(runner, time), collectors, current: anHour, time }
  const results = await computeDueHours(deps, ({ hour }) => hour <= anHour)
  const values = results.map(({ hour, result }) => [(hour - anHour) / hourMs, result.acceptedValues[0]?.metric.value])
  return { asked, values: Object.fromEntries(values) }
}

describe('the due hours of derived collectors', () => {
  it.each([
    ['computed once', { 0: { times: 1 }, [-1]: { times: 1 } }, { 0: 1, [-1]: 1 }],
    ['computed again while an input of them comes later', { 0: { times: 3 }, [-1]: { times: 1 } }, { 0: 3, [-1]: 1 }],
    ['left after four computations', { 0: { times: 9 } }, { 0: 4 }],
    ['left where they are not wanted', { 0: { times: 1 }, 1: { times: 1 } }, { 0: 1 }],
    ['tried once while they wait', { 0: { times: 9, fromMs: nowMs + recollectCapMs } }, { 0: 1 }],
    ['left where they wait for longer than any', { 0: { times: 9, fromMs: nowMs + recollectCapMs + 1 } }, {}],
  ])('are %s', async (_, due, expected) => {
    const { asked, values } = await computed(due)
    expect(values).toEqual(expected)
    expect(asked[0]).toMatchObject({ collectors: ['vault/d'], current: anHour, limit: 500 })
  })

  it('are not asked for where there is no such collector', async () => {
    expect(await computed({ 0: { times: 1 } }, [])).toEqual({ asked: [], values: {} })
  })
})
