import type { IncomingMessage } from 'node:http'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAt, hourNumber, hourText } from '../../src/model/hour.ts'
import { answering } from '../support/listening.ts'
import type { TestDatabases } from '../support/postgres/databases.ts'
import { configured, startDaemon } from '../support/tidegauge.ts'

/** Metrics of one push, at most. */
const batchMax = 100

/** A collector that reads the number of its hour from a server; its metrics of an hour fill a push. */
const wide = `import { defineCollector, z } from 'tidegauge'
const labels = Array.from({ length: ${batchMax} }, (_, number) => 'L' + number)
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: Object.fromEntries(labels.map(label => [label, {}])),
  history: true,
  async collect({ options, http, hour }) {
    const value = await http.json(options.url + new Date(hour).toISOString(), z.number())
    return Object.fromEntries(labels.map(label => [label, value]))
  },
})
`

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

/** @param answer the body of a request → the answer's body */
const serverOf = (answer: (request: IncomingMessage, body: string) => Promise<unknown>) =>
  answering(async (request, body) => ({ body: await answer(request, body) }))

/** Hours that the collectors read, and values that the service was sent. */
export async function fleetScene() {
  const reads: Hour[] = []
  const sent = new Map<string, Set<number>>()
  const ids = new Set<string>()
  const pushedAtMs: number[] = []
  let isHeld = false
  const answered = new Set<Hour>()
  let mayAnswer = Promise.resolve()
  /** Ends the waits of reads that are held, the oldest first. */
  const held = new Map<() => void, Hour>()
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  const source = await serverOf(async request => {
    const hour = hourAt(Date.parse(decodeURIComponent(`${request.url}`.slice(1))))
    reads.push(hour)
    changed()
    if (isHeld && !answered.has(hour)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(resolve, hour)
      // A reader that was killed waits no more.
      request.socket.once('close', () => held.delete(resolve))
      await promise
    }
    return hourNumber(hour)
  })
  const service = await serverOf(async (request, body) => {
    if (request.method !== 'POST') return { valid: true }
    pushedAtMs.push(systemTime.steadyMs())
    await mayAnswer
    const { metrics } = JSON.parse(body) as { metrics: { id: string; timestamp: string; value: number }[] }
    for (const { id, timestamp, value } of metrics) {
      ids.add(id)
      const hour = hourText(hourAt(Date.parse(timestamp)))
      sent.set(hour, (sent.get(hour) ?? new Set()).add(value))
    }
    changed()
    return { success: true, processed: metrics.length, errors: [], warnings: [] }
  })
  function release(resolves: readonly (() => void)[]): void {
    for (const resolve of resolves) {
      held.delete(resolve)
      resolve()
    }
  }
  return {
    source,
    service,
    reads,
    sent,
    /** Ids of all metrics that were sent. */
    ids,
    /** When each push began, by the steady clock. */
    pushedAtMs,
    /** Pushes are not answered from now on. @returns answers them all, and later ones */
    holdPushes() {
      const release = Promise.withResolvers<void>()
      mayAnswer = release.promise
      return release.resolve
    },
    /** Reads are not answered from now on. @returns answers them all, and later ones */
    hold() {
      isHeld = true
      return () => {
        isHeld = false
        release([...held.keys()])
      }
    },
    /** Answers some of the reads that are held now, if any. */
    answer(count: number) {
      release([...held.keys()].slice(0, count))
    },
    /** Answers reads of an hour although they are held, also those that come later. */
    answerHour(hour: Hour) {
      answered.add(hour)
      release([...held].flatMap(([resolve, of]) => (of === hour ? [resolve] : [])))
    },
    async until(isSo: () => boolean) {
      while (!isSo()) await new Promise<void>(resolve => waiting.add(resolve))
    },
  }
}

export type FleetScene = Awaited<ReturnType<typeof fleetScene>>

/** Parts of the configurations of a fleet that the tests choose. */
interface FleetParts {
  /** Address of the database for each of them; default: its own. */
  readonly way?: (address: string, place: number) => string
  /** A protocol that one of them alone knows, in YAML; by default they know the same. */
  readonly own?: (name: string) => string
  /** Address of the service of each; default: that of the scene. */
  readonly serviceOf?: (name: string) => string
  /** Address that the collector of each reads from; default: the source of the scene. */
  readonly sourceOf?: (name: string) => string
  /** Settings of deliveries, in YAML. */
  readonly delivery?: string
}

/** A protocol of a daemon that fills a push with each hour. */
export function wideProtocol(id: string, { source }: Pick<FleetScene, 'source'>, since: Hour): string {
  const collector = `{ use: ./wide.ts, since: "${hourText(since)}", options: { url: "${source}/" } }`
  return `{ id: ${id}, name: Wide, collectors: [${collector}] }`
}

/** Starts daemons that share a database and expect hours from one on. */
export async function startFleet(
  databases: Pick<TestDatabases, 'empty'>,
  { source, service }: FleetScene,
  since: Hour,
  names: readonly string[],
  {
    way = address => address,
    own,
    delivery = '{}',
    serviceOf = () => service,
    sourceOf = () => source,
  }: FleetParts = {},
) {
  const address = await databases.empty()
  const envOf = (place: number) => ({ METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: way(address, place) })
  const configs = names.map(name => {
    const { config } = configured(
      `service: { url: "${serviceOf(name)}", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "127.0.0.1:0" }
delivery: ${delivery}
protocols:
  - id: tides
    name: Tides
    collectors:
      - { use: ./counted.ts, since: "${hourText(since)}", options: { url: "${sourceOf(name)}/" } }
${own === undefined ? '' : `  - ${own(name)}\n`}`,
      { 'counted.ts': counted, 'wide.ts': wide },
    )
    return config
  })
  const daemons = await Promise.all(configs.map((config, place) => startDaemon(config, envOf(place))))
  return { daemons, configs, env: envOf(0), name: new URL(address).pathname.slice(1) }
}
