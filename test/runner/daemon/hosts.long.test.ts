import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime, type Time } from '../../../src/edge/time.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { ForeignHostLimits, HostLimits, hostSlotMsMax, RunDeadline } from '../../../src/runner/daemon/hosts.ts'
import { runnerLimits } from '../../../src/runner/daemon/limits.ts'
import type { RunnerDeps } from '../../../src/runner/daemon/process-runner.ts'
import type { RequestEnd } from '../../../src/runner/messages.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { configured, faultOf, hour, testRunner } from '../setup.ts'

interface Seen {
  /** Requests under way, this one included. */
  readonly underWay: number
  readonly status: number
}

/** A source that kills the process named in a request, and otherwise lets each request wait for a few turns of the event loop, so that others can come meanwhile. */
async function slowSource(answer: (underWay: number) => number | { readonly retryAfter: string }) {
  const seen: Seen[] = []
  let underWay = 0
  const reply = (response: ServerResponse, path: string) => {
    const pid = new URL(path, 'http://source').searchParams.get('pid')
    if (pid !== null) return void process.kill(Number(pid), 'SIGKILL')
    const said = answer(underWay)
    const status = typeof said === 'number' ? said : 429
    seen.push({ underWay, status })
    response.writeHead(status, typeof said === 'number' ? {} : { 'retry-after': said.retryAfter })
    const turn = (left: number): unknown => {
      if (left > 0) return setImmediate(() => turn(left - 1))
      underWay -= 1
      return response.end('{"value":1}')
    }
    turn(50)
  }
  const server = createServer((request, response) => {
    underWay += 1
    reply(response, request.url ?? '')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('the server has no port')
  return { url: `http://127.0.0.1:${bound.port}/`, host: `127.0.0.1:${bound.port}`, seen }
}

/** Collectors in processes of their own: a copy of the file for each. */
function inProcesses(count: number): (index: number, options: object) => ReturnType<typeof configured> {
  const folder = temporaryFolder()
  const files = Array.from({ length: count }, (_, index) => join(folder, `${index}.ts`))
  for (const file of files) copyFileSync(new URL('../fixtures/fetches.ts', import.meta.url), file)
  return (index, options) => configured(files[index % count] ?? '', { id: `fetches/${index}`, options })
}

/** A clock that runs ten times as fast, so that waits are short, and a runner whose own limits are as long as before. */
const tenfold: Partial<RunnerDeps> = {
  time: {
    ...systemTime,
    nowMs: () => 10 * systemTime.nowMs(),
    steadyMs: () => 10 * systemTime.steadyMs(),
    sleep: (ms, signal) => systemTime.sleep(ms / 10, signal),
  },
  deadlineMs: 600_000,
  limits: { pingEveryMs: 10_000, startMsMax: 300_000, graceMs: 10_000, idleMsMax: 600_000 },
}

describe('a collector that ends no request', () => {
  const asker = (collectorId: string) => {
    return { collectorId, hour, deadline: new RunDeadline(systemTime, 600_000), signal: AbortSignal.any([]) }
  }
  const takeMany = (hosts: Pick<HostLimits, 'take'>, collectorId: string, count: number) => {
    const ends: ((how: RequestEnd) => void)[] = []
    for (let left = count; left > 0; left -= 1)
      void hosts.take('a:1', asker(collectorId)).then(slot => slot.kind === 'granted' && ends.push(slot.end))
    return ends
  }

  it('has half of the slots of a host, and others the rest', async () => {
    const shared = new HostLimits(systemTime, { ...runnerLimits, hostRequestsMax: 4 })
    const held = takeMany(new ForeignHostLimits(shared, systemTime, { ...runnerLimits, hostRequestsMax: 4 }), 'bad', 9)
    await expect.poll(() => held.length).toBe(2)
    for (let count = 0; count < 6; count += 1) {
      const slot = await shared.take('a:1', asker('good'))
      if (slot.kind === 'granted') slot.end({ kind: 'answered' })
    }
    expect(held).toHaveLength(2)
  })

  it('takes no turns of those that end theirs', async () => {
    const shared = new HostLimits(systemTime, { ...runnerLimits, hostRequestsMax: 2 })
    const held = takeMany(shared, 'bad', 4)
    await expect.poll(() => held.length).toBe(2)
    const ended = takeMany(shared, 'good', 3)
    held[0]?.({ kind: 'failed' })
    for (let count = 0; count < 3; count += 1) {
      await expect.poll(() => ended.length).toBe(count + 1)
      ended[count]?.({ kind: 'answered' })
    }
  })
})

describe('collectors of one host', () => {
  it('share its limit over all processes, and all get their values from one that answers 429 above its own', async () => {
    // A process begins with four at once.
    const { url, seen } = await slowSource(underWay => (underWay > 2 ? 429 : 200))
    const { runner } = testRunner(tenfold)
    const collector = inProcesses(3)
    const runs = Array.from({ length: 50 }, (_, index) => runner.collect(collector(index, { url, requests: 3 }), hour))
    const outcomes = await Promise.all(runs)
    expect(outcomes.map(({ readings }) => readings['Sum'])).toEqual(Array(50).fill(3))
    expect(Math.max(...seen.map(({ underWay }) => underWay))).toBeLessThanOrEqual(8)
    const refused = seen.filter(({ status }) => status === 429).length
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(60)
  })

  it('leave it alone until the instant of Retry-After, and name it where their deadline is before', async () => {
    const { url, host, seen } = await slowSource(() => ({ retryAfter: '3600' }))
    const { runner } = testRunner()
    const collector = inProcesses(2)
    const first = await faultOf(runner.collect(collector(0, { url }), hour))
    expect(first.message).toContain(`${host} asks to wait until `)
    const others = await Promise.all([0, 2, 4].map(index => faultOf(runner.collect(collector(index, { url }), hour))))
    for (const { code, message, facts } of others) {
      expect({ code, host: facts['host'] }).toEqual({ code: 'http-unreachable', host })
      expect(message).toMatch(new RegExp(`^${host} is not asked before \\S+Z, past the deadline of this run$`))
    }
    expect(seen).toHaveLength(1)
    // A process of others may say anything: what it says holds for itself.
    const elsewhere = await faultOf(runner.collect(collector(1, { url }), hour))
    expect(elsewhere.message).toContain(`${host} asks to wait until `)
    expect(seen).toHaveLength(2)
  })

  it('get the turn of a process that has ended', async () => {
    const { url } = await slowSource(() => 200)
    // No turn is taken back before its process has ended.
    const sleep: Time['sleep'] = (ms, signal) => systemTime.sleep(ms === hostSlotMsMax ? 3_600_000 : ms, signal)
    const { runner } = testRunner({ limits: { hostRequestsMax: 1 }, time: { ...systemTime, sleep } })
    const collector = inProcesses(2)
    const killed = faultOf(runner.collect(collector(0, { url, requests: 5, isKilled: true }), hour))
    const other = runner.collect(collector(1, { url, requests: 5 }), hourAfter(hour, -1))
    expect((await killed).code).toBe('collector-hung')
    expect((await other).readings).toEqual({ Sum: 5 })
  })
})
