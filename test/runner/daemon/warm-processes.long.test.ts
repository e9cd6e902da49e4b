import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CollectorConfig } from '../../../src/config/config.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { RunnerDeps } from '../../../src/runner/daemon/process-runner.ts'
import { WarmProcesses } from '../../../src/runner/daemon/warm-processes.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { configured, hour, testRunner } from '../setup.ts'

/** Reads the id of its process. */
const source = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}),
  metrics: { Pid: {} },
  history: true,
  collect: ({ log }) => {
    log.info('collecting')
    return { Pid: process.pid }
  },
})`

function ownCollector(): CollectorConfig {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'pid.mjs'), source)
  return configured('./pid.mjs', { file: join(folder, 'mine.yaml') })
}

function warmProcesses(): WarmProcesses {
  const warm = new WarmProcesses(systemTime)
  onTestFinished(() => warm.abandon())
  return warm
}

/** The process that a runner collects in; afterwards the runner is stopped. */
async function pidOf(collector: CollectorConfig, deps: Partial<RunnerDeps>): Promise<number | undefined> {
  const { runner, lines } = testRunner(deps)
  await runner.describe(collector)
  const { readings } = await runner.collect(collector, hour)
  expect(lines).toEqual([expect.objectContaining({ collector: collector.id, message: 'collecting' })])
  await runner.stop()
  return readings['Pid']
}

describe('a process without work', () => {
  it('is taken by the next runner, and by that alone', async () => {
    const [warm, collector] = [warmProcesses(), ownCollector()]
    const first = await pidOf(collector, { warm, leavesWarm: true })
    expect(await pidOf(collector, { warm })).toBe(first)
    expect(await pidOf(collector, { warm })).not.toBe(first)
  })

  it('is not taken for another configuration, and reads the chains of the next runner', async () => {
    const [warm, collector] = [warmProcesses(), ownCollector()]
    const first = await pidOf(collector, { warm, leavesWarm: true })
    const other = configured(collector.use, { file: collector.place.file.replace('mine', 'other') })
    expect(await pidOf(other, { warm })).not.toBe(first)
    const chains = { demo: { id: 1, blockAt: () => Promise.reject(new Error('unused')) } }
    expect(await pidOf(collector, { warm, chains: chains as never })).toBe(first)
  })

  it('that has ended is not taken', async () => {
    const [warm, collector] = [warmProcesses(), ownCollector()]
    const first = (await pidOf(collector, { warm, leavesWarm: true })) ?? 0
    process.kill(first, 'SIGKILL')
    expect(await pidOf(collector, { warm })).not.toBe(first)
  })
})
