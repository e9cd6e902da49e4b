import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { claimedHoursMax } from '../../src/fleet/limits.ts'
import { type Hour, hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, type RunningDaemon, startDaemon } from '../support/tidegauge.ts'

/** A collector that reads the number of its hour from a server. */
const counted = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: { Level: {} },
  history: true,
  async collect({ options, http, hour }) {
    return { Level: await http.json(options.url + new Date(hour).toISOString(), z.number()) }
  },
})
`

/** A server on loopback, closed with the test. @param answer the body of a request → the answer's body */
async function serverOf(answer: (request: IncomingMessage, body: string) => Promise<unknown>): Promise<string> {
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await answer(request, body)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

/** Hours that the collectors read, and values that the service was sent. */
async function scene() {
  const reads: Hour[] = []
  const sent = new Map<string, Set<number>>()
  /** Reads are answered once this resolves. */
  let gate: Promise<void> = Promise.resolve()
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  const source = await serverOf(async request => {
    const hour = hourAt(Date.parse(decodeURIComponent(`${request.url}`.slice(1))))
    reads.push(hour)
    changed()
    await gate
    return hourNumber(hour)
  })
  const service = await serverOf(async (request, body) => {
    if (request.method !== 'POST') return { valid: true }
    const { metrics } = JSON.parse(body) as { metrics: { timestamp: string; value: number }[] }
    for (const { timestamp, value } of metrics) {
      const hour = hourText(hourAt(Date.parse(timestamp)))
      sent.set(hour, (sent.get(hour) ?? new Set()).add(value))
    }
    changed()
    return { success: true, processed: metrics.length, errors: [], warnings: [] }
  })
  return {
    source,
    service,
    reads,
    sent,
    hold() {
      const held = Promise.withResolvers<void>()
      gate = held.promise
      return held.resolve
    },
    async until(isSo: () => boolean) {
      while (!isSo()) await new Promise<void>(resolve => waiting.add(resolve))
    },
  }
}

type FleetScene = Awaited<ReturnType<typeof scene>>

describe.skipIf(postgresPlace.kind === 'missing')('a fleet', () => {
  const databases = useTestDatabases()

  /** Starts daemons that share a database and expect hours from one on. */
  async function fleetOf({ source, service }: FleetScene, since: Hour, names: readonly string[]) {
    const address = await databases.empty()
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address }
    const started = names.map(name => {
      const { config } = configured(
        `service: { url: "${service}", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
protocols:
  - id: tides
    name: Tides
    collectors:
      - { use: ./counted.ts, since: "${hourText(since)}", options: { url: "${source}/" } }
`,
        { 'counted.ts': counted },
      )
      return startDaemon(config, env)
    })
    return { daemons: await Promise.all(started), name: new URL(address).pathname.slice(1) }
  }

  /** The daemon that delivers, and the others. */
  async function delivererOf(daemons: readonly RunningDaemon[]) {
    const deliverer = await Promise.race(
      daemons.map(daemon => daemon.logged('this daemon delivers now').then(() => daemon)),
    )
    return { deliverer, others: daemons.filter(daemon => daemon !== deliverer) }
  }

  it('collects a backlog once, although a daemon is killed and the jobs are dropped, and delivers all of it', async () => {
    const world = await scene()
    const current = hourAt(systemTime.nowMs())
    const expected = hoursFrom(hourAfter(current, -47), current)
    const { daemons, name } = await fleetOf(world, hourAfter(current, -47), ['eu-1', 'eu-2', 'eu-3'])
    const open = world.hold()
    await world.until(() => world.reads.length >= 2 * claimedHoursMax)
    const { deliverer, others } = await delivererOf(daemons)
    await deliverer.kill('SIGKILL')
    await databases.server.query('DROP SCHEMA tidegauge_jobs CASCADE', [], name)
    open()
    // Another hour may begin meanwhile.
    await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
    await Promise.race(others.map(daemon => daemon.logged('this daemon delivers now')))
    for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
    // Those under way in any daemon when the jobs were dropped are read again.
    const again = world.reads.filter(hour => hour <= current).length - expected.length
    expect(again).toBeLessThanOrEqual(3 * (claimedHoursMax + 1))
    for (const daemon of others) expect(await daemon.kill('SIGTERM')).toBe(0)
  })

  it('stores and sends nothing of a daemon that wakes after another one has taken over', async () => {
    const world = await scene()
    const current = hourAt(systemTime.nowMs())
    const open = world.hold()
    const { daemons } = await fleetOf(world, current, ['eu-1', 'eu-2'])
    await world.until(() => world.reads.length > 0)
    const isHolder = (daemon: RunningDaemon) => daemon.log.some(line => line.includes('this daemon delivers now'))
    await delivererOf(daemons)
    const [first, second] = daemons.toSorted((one, other) => Number(isHolder(other)) - Number(isHolder(one)))
    if (!first || !second) throw new Error('two daemons were started')
    process.kill(first.pid, 'SIGSTOP')
    await second.logged('this daemon delivers now')
    open()
    // Another hour may begin meanwhile.
    await world.until(() => world.sent.has(hourText(current)))
    process.kill(first.pid, 'SIGCONT')
    await first.logged('this daemon does not deliver any more')
    expect([...(world.sent.get(hourText(current)) ?? [])]).toEqual([hourNumber(current)])
    expect(await second.kill('SIGTERM')).toBe(0)
    await first.logged('this daemon delivers now', 2)
    expect(await first.kill('SIGTERM')).toBe(0)
  })
})
