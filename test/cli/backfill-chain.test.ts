import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import type { Steps } from '../chain/support/synthetic-chain.ts'
import { type ChainStage, chainStage, regularSteps } from './backfill-chain-stage.ts'

interface Told {
  readonly calls: Readonly<Record<string, number>>
  readonly requests: number
  readonly pushes: number
  readonly certainty?: string
  readonly left: number
  readonly collectors: readonly Readonly<Record<string, number>>[]
}

async function json(stage: ChainStage, ...args: string[]): Promise<Told> {
  return JSON.parse((await stage.run(...stage.range, '--json', ...args)).stdout) as Told
}

/** What the node itself has counted so far. */
function countedBy({ archive }: ChainStage): Pick<Told, 'calls' | 'requests'> {
  return { calls: Object.fromEntries(archive.counts.callsByMethod), requests: archive.counts.requests }
}

function forget({ archive }: ChainStage): void {
  Object.assign(archive.counts, { requests: 0, calls: 0 })
  archive.counts.callsByMethod.clear()
  archive.counts.ethCallsByBlock.clear()
}

describe('backfill of a chain', () => {
  it.for([
    [250, []],
    [30, []],
    [120, ['--newest-first', '--concurrency', '50']],
  ] as const)('of %i hours %j takes exactly what its plan says where the chain is regular', async ([hours, args]) => {
    const stage = await chainStage(regularSteps, hours, 2)
    const planned = await json(stage, '--plan', ...args)
    expect(planned.certainty).toBe('exact')
    expect(stage.service.pushes).toHaveLength(0)
    forget(stage)
    const actual = await json(stage, ...args)
    const { calls, requests, pushes } = planned
    expect({ calls, requests, pushes }).toEqual({
      calls: actual.calls,
      requests: actual.requests,
      pushes: actual.pushes,
    })
    expect({ calls, requests }).toEqual(countedBy(stage))
    expect(stage.service.pushes).toHaveLength(pushes)
    expect(stage.service.sent).toHaveLength(hours * 2 * 5)
    // All collectors of an hour in one call, all hours of a window in one request.
    expect(calls['eth_call']).toBe(hours)
    expect([...stage.archive.counts.ethCallsByBlock.values()].every(count => count === 1)).toBe(true)
  })

  it('says "about" in the plan where the chain is not regular', async () => {
    const steps: Steps = { blocks: step => (step % 7 === 3 ? 0 : 1), seconds: () => 12 }
    const stage = await chainStage(steps, 60, 1)
    const plan = await stage.run(...stage.range, '--plan')
    expect(plan.stdout).toMatch(/60 hours; about [\d,]+ RPC calls/)
    expect(plan.stdout).toContain('60 eth_call')
    expect(plan.code).toBe(0)
  })

  it('stops before it makes more calls than it may, says how to go on, and reads no hour twice then', async () => {
    const stage = await chainStage(regularSteps, 60, 2)
    const range = [...stage.range, '--concurrency', '20']
    const { code, stderr } = await stage.run(...range, '--max-calls', '180')
    expect(code).toBe(1)
    expect(stderr).toContain('more than 180 RPC calls would be needed')
    expect(stderr).toContain(`→ tidegauge backfill ${range.join(' ')} --config`)
    expect(stage.archive.counts.calls).toBeLessThanOrEqual(180)
    const done = stage.service.sent.length / 10
    expect(done).toBeGreaterThanOrEqual(20)
    expect(done % 20).toBe(0)
    expect((await stage.run(...range)).code).toBe(0)
    expect([...stage.archive.counts.ethCallsByBlock.values()].every(count => count === 1)).toBe(true)
    expect(stage.archive.counts.ethCallsByBlock.size).toBe(60)
    expect(stage.service.sent).toHaveLength(60 * 10)
  })

  it('reads no hour twice that was stored before kill -9', async () => {
    const stage = await chainStage(regularSteps, 200, 1)
    const child = stage.start(...stage.range, '--concurrency', '10')
    if (!child.stderr) throw new Error('it says nothing')
    for await (const line of createInterface({ input: child.stderr })) if (line.startsWith('50 %')) break
    child.kill('SIGKILL')
    await once(child, 'close')
    const before = stage.archive.counts.ethCallsByBlock.size
    expect(before).toBeGreaterThanOrEqual(100)
    expect((await stage.run(...stage.range)).code).toBe(0)
    const counts = [...stage.archive.counts.ethCallsByBlock.values()]
    expect(counts).toHaveLength(200)
    // At most the one part that was under way.
    expect(counts.filter(count => count === 2).length).toBeLessThanOrEqual(10)
    expect(counts.every(count => count <= 2)).toBe(true)
    expect(new Set(stage.service.sent.map(({ id, timestamp }) => `${id} ${timestamp}`)).size).toBe(1000)
  })
})
