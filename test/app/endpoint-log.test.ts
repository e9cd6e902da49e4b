import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { EndpointLog, endpointStates } from '../../src/app/open-chains.ts'
import { EndpointHealth } from '../../src/chain/endpoint/endpoint-pool.ts'
import type { FailureKind } from '../../src/chain/endpoint/failures.ts'
import { systemTime } from '../../src/edge/time.ts'
import { echoes, faulty, never, openPool } from '../chain/support/endpoints.ts'
import type { RpcFault } from '../support/faulty-rpc.ts'

const minuteMs = 60_000
const gone = 'endpoint cannot serve: it is asked last until it can'
const back = 'endpoint serves again'

/** Two nodes, of which the first misbehaves, and the log of their chain. */
async function stage(isAlone = false) {
  const [first, second] = [await faulty(), await faulty()]
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null, timestamp: false }, { write: line => lines.push(JSON.parse(line)) })
  const time = { ...systemTime, atMs: 1_700_000_000_000, nowMs: () => time.atMs, steadyMs: () => time.atMs }
  const watch = new EndpointLog('ethereum', log, time)
  const pool = openPool(isAlone ? [first.url] : [first.url, second.url], { time, watch })
  const call = () => pool.serve({}, never, endpoint => endpoint.call(echoes(1), never)).catch(() => {})
  /** The node is dead, or well, from now on; asked again after so many minutes. */
  const after = async (minutes: number, isWell: boolean, fault: RpcFault = { kind: 'reset' }) => {
    first.misbehave(...(isWell ? [] : [fault]))
    time.atMs += minutes * minuteMs
    await call()
  }
  return { first, pool, lines, after, said: () => lines.map(({ msg }) => msg) }
}

describe('the log of endpoints', () => {
  it('says once that one is gone, which, why and what to do, and once that it is back, after how long', async () => {
    const { first, lines, after } = await stage()
    await after(0, true)
    expect(lines).toEqual([])
    for (let hour = 0; hour < 5; hour += 1) await after(60, false)
    expect(lines).toEqual([
      {
        level: 40,
        chain: 'ethereum',
        endpoint: first.host,
        reason: expect.stringContaining('does not answer'),
        fix: 'look into the log of the server, or ask who runs it; a second endpoint under rpc: takes over',
        msg: gone,
      },
    ])
    await after(7, true)
    await after(60, true)
    expect(lines.slice(1)).toEqual([
      { level: 30, chain: 'ethereum', endpoint: first.host, afterSeconds: 4 * 3600 + 7 * 60, msg: back },
    ])
  })

  it('takes the step that collect takes', async () => {
    const { lines, after } = await stage()
    await after(60, false, { kind: 'status', status: 401 })
    expect(lines).toMatchObject([{ fix: expect.stringMatching(/^check the key in the address or the headers/) }])
  })

  it('says the same of the only one', async () => {
    const { after, said } = await stage(true)
    await after(0, false)
    await after(60, true)
    expect(said()).toEqual([gone, back])
  })

  it('folds what comes and goes, and says how often that was', async () => {
    const { lines, after, said } = await stage()
    await after(0, false)
    await after(1, true)
    for (let time = 0; time < 4; time += 1) {
      await after(1, false)
      await after(1, true)
    }
    expect(said()).toEqual([gone, back])
    await after(60, false)
    expect(said()).toEqual([gone, back, gone])
    expect(lines.at(-1)).toMatchObject({ outagesBefore: 4 })
  })

  it('says of one that came back and is gone for long that it is gone', async () => {
    const { lines, after, said } = await stage()
    await after(0, false)
    await after(1, true)
    await after(1, false)
    expect(said()).toEqual([gone, back])
    await after(60, false)
    await after(60, true)
    expect(said()).toEqual([gone, back, gone, back])
    expect(lines.at(-1)).toMatchObject({ afterSeconds: 2 * 3600 })
  })

  it('says when one is out of quarantine, and nothing of errors about a read or a rate', async () => {
    const { first, pool, said, after, lines } = await stage()
    pool.quarantine(first.host, 'another host answers otherwise')
    await after(30, true)
    expect(said()).toEqual([])
    await after(31, true)
    expect(lines).toMatchObject([{ msg: back, afterSeconds: 61 * 60 }])
    first.misbehave({ kind: 'rate', retryAfter: '3' })
    await pool.serve({}, never, endpoint => endpoint.call(echoes(1), never))
    expect(lines).toHaveLength(1)
  })
})

describe('the state of an endpoint', () => {
  it.each<FailureKind>(['rate', 'behind', 'pruned', 'unreachable'])('is not well after %s until it serves', kind => {
    const time = { ...systemTime, atMs: 1_700_000_000_000, nowMs: () => time.atMs }
    const health = new EndpointHealth(time)
    const report = () => ({ host: 'a.example', ...health.report, calls: { answered: 1 } })
    const state = () => endpointStates({ ethereum: { health: () => [report()] } as never })[0]?.state
    health.failed({ kind, retryAtMs: time.atMs + minuteMs })
    time.atMs += 10 * minuteMs
    expect(state()).toBe('failed')
    health.didWell()
    expect(state()).toBe('well')
  })
})
