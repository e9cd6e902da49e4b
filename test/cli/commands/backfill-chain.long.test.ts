import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { headerOf } from '../../chain/support/scripted-chain.ts'
import type { Steps } from '../../chain/support/stepped-chain.ts'
import { says } from '../../support/tidegauge.ts'
import { type ChainStage, chainStage, prunedBefore, regularSteps, resets } from '../backfill-chain-stage.ts'

interface Printed {
  readonly calls: Readonly<Record<string, number>>
  readonly requests: number
  readonly pushes: number
  readonly certainty?: string
  readonly left: number
  readonly collectors: readonly Readonly<Record<string, number>>[]
}

async function json(stage: ChainStage, ...args: string[]): Promise<Printed> {
  return JSON.parse((await stage.run(...stage.range, '--json', ...args)).stdout) as Printed
}

/** The node's own counts so far. */
function countedBy({ archive }: ChainStage): Pick<Printed, 'calls' | 'requests'> {
  return { calls: Object.fromEntries(archive.counts.callsByMethod), requests: archive.counts.requests }
}

function forget({ archive }: ChainStage): void {
  Object.assign(archive.counts, { requests: 0, calls: 0 })
  archive.counts.callsByMethod.clear()
  archive.counts.ethCallsByBlock.clear()
}

const ranges = [
  [30, []],
  [250, []],
  [120, ['--newest-first', '--concurrency', '50']],
] as const

describe('backfill of a chain', () => {
  it.for(ranges)('of %i hours %j takes about what its plan says', async ([hours, args]) => {
    const stage = await chainStage(regularSteps, hours, 2)
    const planned = await json(stage, '--plan', ...args)
    expect(planned.certainty).toBe('about')
    expect(stage.service.pushes).toHaveLength(0)
    forget(stage)
    const actual = await json(stage, ...args)
    const { calls, requests } = actual
    expect({ calls, requests }).toEqual(countedBy(stage))
    const all = (printed: Printed) => Object.values(printed.calls).reduce((sum, count) => sum + count, 0)
    expect(all(planned) / all(actual)).toBeGreaterThan(0.5)
    expect(all(planned) / all(actual)).toBeLessThan(2)
    expect(planned.calls['eth_call']).toBe(hours)
    expect(planned.requests).toBeGreaterThan(0)
    expect(planned.pushes).toBe(actual.pushes)
    expect(stage.service.pushes).toHaveLength(planned.pushes)
    expect(stage.service.stored).toHaveLength(hours * 2 * 5)
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
    const { code, stderr } = await stage.run(...range, '--max-calls', '100')
    expect(code).toBe(1)
    expect(stderr).toMatch(/one more hour takes about \d+ RPC calls, and \d+ of the 100 of --max-calls are left/)
    expect(stderr).toMatch(new RegExp(`→ tidegauge backfill --config \\S+ ${range.join(' ')} --max-calls 100\n`))
    expect(stage.archive.counts.calls).toBeLessThanOrEqual(100)
    const done = stage.service.stored.length / 10
    expect(done).toBeGreaterThanOrEqual(10)
    // No call was made for an hour that was not stored.
    expect(stage.archive.counts.ethCallsByBlock.size).toBe(done)
    expect((await stage.run(...range)).code).toBe(0)
    expect([...stage.archive.counts.ethCallsByBlock.values()].every(count => count === 1)).toBe(true)
    expect(stage.archive.counts.ethCallsByBlock.size).toBe(60)
    expect(stage.service.stored).toHaveLength(60 * 10)
  })

  it('ends with few calls at a time, and refuses fewer than one hour takes', async () => {
    const stage = await chainStage(regularSteps, 20, 1)
    for (let before = -1; stage.service.stored.length < 100; ) {
      expect(stage.service.stored.length).toBeGreaterThan(before)
      before = stage.service.stored.length
      await stage.run(...stage.range, '--max-calls', '30')
    }
    expect([...stage.archive.counts.ethCallsByBlock.values()]).toEqual(Array(20).fill(1))
    forget(stage)
    const { code, stderr } = await stage.run(...stage.range, '--overwrite', '--max-calls', '5')
    expect(code).toBe(2)
    expect(stderr).toContain('--max-calls 5 is too few: one hour takes about 18 RPC calls')
    expect(stage.archive.counts.calls).toBe(0)
  })

  it('waits for an endpoint that is away, says so, and then does everything', async () => {
    const stage = await chainStage(regularSteps, 40, 2)
    stage.instead = resets
    const child = stage.start(...stage.range, '--concurrency', '10')
    const waits = await says(child, /^waits: /)
    expect(waits).toMatch(/^waits: .*main.*127\.0\.0\.1.*; tries again in 5 s$/)
    stage.instead = undefined
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
    expect(stage.service.stored).toHaveLength(40 * 10)
    expect([...stage.archive.counts.ethCallsByBlock.values()]).toEqual(Array(40).fill(1))
  })

  it('ends at once on Ctrl-C while it waits, with no hour failed, and says how to go on', async () => {
    const stage = await chainStage(regularSteps, 10, 1)
    stage.instead = resets
    const child = stage.start(...stage.range, '--max-calls', '200')
    let [stdout, stderr] = ['', '']
    child.stdout?.on('data', text => {
      stdout += text
    })
    child.stderr?.on('data', text => {
      stderr += text
    })
    await says(child, /^waits: /)
    child.kill('SIGINT')
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(1)
    expect(stdout).toMatch(/p0\/c0 +0 +0 +0 +0/)
    expect(stderr).toContain('10 runs of a collector for an hour left; go on with')
    expect(stderr).toMatch(new RegExp(`→ tidegauge backfill --config \\S+ ${stage.range.join(' ')} --max-calls 200\n`))
  })

  it('plans only from hours that could be read, and says which could not be and why', async () => {
    const stage = await chainStage(regularSteps, 100, 2)
    const healthy = await json(stage, '--plan')
    stage.instead = prunedBefore(stage.archive.head - 50 * 300)
    const plan = await stage.run(...stage.range, '--plan', '--json')
    expect(plan.code).toBe(1)
    const { calls, certainty, sample } = JSON.parse(plan.stdout) as Printed & {
      readonly sample: { readonly faults: object[] }
    }
    expect(calls['eth_call']).toBe(100)
    const [found, foundHealthy] = [calls, healthy.calls].map(each => each['eth_getBlockByNumber'] ?? 0)
    expect((found ?? 0) / (foundHealthy ?? 1)).toBeGreaterThan(0.7)
    expect((found ?? 0) / (foundHealthy ?? 1)).toBeLessThan(1.3)
    expect(certainty).toBe('about')
    expect(sample.faults).toHaveLength(2)
    const text = (await stage.run(...stage.range, '--plan')).stdout
    expect(text).toContain(`${stage.range[1]} could not be read by p0/c0: `)
    expect(text).toMatch(/for this \S+ and \S+ were read: /)
    expect(text).toMatch(/100 hours; about [\d,]+ RPC calls/)
    const actual = (await stage.run(...stage.range)).stdout
    expect(actual).toMatch(/p0\/c0 +4\d +0 +5\d/)
    expect(actual).toMatch(/1\d\d +main: .*has no state of block \d+.*… +p0\/c0/)
    expect(actual).toMatch(/^to do: an archive node is needed/m)
    const table = actual.slice(0, actual.indexOf('hours of these'))
    expect(Math.max(...table.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120)
  })

  it('says plainly in the plan that nothing could be read', async () => {
    const stage = await chainStage(regularSteps, 10, 1)
    stage.instead = resets
    const { code, stdout } = await stage.run(...stage.range, '--plan')
    expect(code).toBe(1)
    expect(stdout).toContain('10 hours; their cost is unknown, as none could be read')
    expect(stdout).toContain(`${stage.range[1]} could not be read by p0/c0: main: 127.0.0.1`)
    expect(stdout).not.toContain('push')
  })

  it('calls hours before the first block not possible, in the plan and when it runs', async () => {
    const stage = await chainStage(regularSteps, 1, 1)
    const first = headerOf(stage.archive.chain, 0).timestampSeconds * 1000
    const from = hourAt(first - 10 * hourMs)
    const range = ['--from', hourText(from), '--to', hourText(hourAfter(from, 20))]
    const plan = await stage.run(...range, '--plan', '--json')
    expect(plan.code).toBe(0)
    expect(JSON.parse(plan.stdout)).toMatchObject({
      hours: 10,
      certainty: 'about',
      collectors: [{ impossible: 11, metrics: 50 }],
    })
    const early = await stage.run(...range.slice(0, 2), '--to', hourText(hourAfter(from, 5)), '--plan', '--json')
    expect(JSON.parse(early.stdout)).toMatchObject({ hours: 0, pushes: 0, collectors: [{ impossible: 6, metrics: 0 }] })
    const { code, stdout, stderr } = await stage.run(...range)
    expect(code).toBe(0)
    expect(stdout).toMatch(/p0\/c0 +10 +0 +0 +11 +50/)
    expect(stderr).toContain(`start with --from ${hourText(hourAfter(from, 11))}`)
  })
})
