import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAt, hourNumber, hourText } from '../../src/model/hour.ts'
import { allAccepted, answering } from '../support/listening.ts'
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

/** A collector that reads the number of its hour from a server, which knows a request that is repeated by the run's name. */
const counted = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: { Level: {} },
  history: true,
  async collect({ options, http, hour }) {
    const url = options.url + new Date(hour).toISOString() + '?run=' + Math.random()
    return { Level: await http.json(url, z.number()) }
  },
})
`

/** @param answer the body of a request → the answer's body */
const serverOf = (answer: (request: IncomingMessage, body: string) => Promise<unknown>) =>
  answering(async (request, body) => ({ body: await answer(request, body) }))

/** Trouble of a request to the service. */
type Treatment = 'break off' | 'answer nothing' | 'refuse the key'

/** Hours that runs of the collectors read, and values that the service was sent. */
export async function fleetScene() {
  const reads: Hour[] = []
  const runs = new Set<string>()
  const unanswered = new Set<string>()
  const sent = new Map<string, Set<number>>()
  const values = new Map<string, number[]>()
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
    const { pathname, search } = new URL(`${request.url}`, 'http://source')
    const hour = hourAt(Date.parse(decodeURIComponent(pathname.slice(1))))
    // A run repeats a request that is not answered in time.
    if (search === '' || !runs.has(search)) reads.push(hour)
    runs.add(search)
    changed()
    if (isHeld && !answered.has(hour)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(resolve, hour)
      // A reader that was killed, or that is tired of waiting, waits no more.
      request.socket.once('close', () => held.delete(resolve) && unanswered.add(search))
      await promise
    }
    return hourNumber(hour)
  })
  const treatments = new Map<string, Treatment>()
  const unansweredSockets = new Map<Socket, string>()
  let lastKey = ''
  const service = await answering(async (request, body) => {
    const key = `${request.headers.authorization}`.slice('Bearer '.length)
    const treatment = treatments.get(key)
    if (treatment === 'break off') request.socket.destroy()
    if (treatment === 'answer nothing') {
      unansweredSockets.set(request.socket, key)
      await once(request.socket, 'close')
    }
    // Only a push shows what a key may not do.
    if (request.method !== 'POST') return { body: { valid: true } }
    if (treatment) return { status: 401, body: { error: 'unknown key' } }
    lastKey = key
    pushedAtMs.push(systemTime.steadyMs())
    await mayAnswer
    const { metrics } = JSON.parse(body) as { metrics: { id: string; timestamp: string; value: number }[] }
    for (const { id, timestamp, value } of metrics) {
      const hour = hourText(hourAt(Date.parse(timestamp)))
      values.set(`${id} ${hour}`, [...(values.get(`${id} ${hour}`) ?? []), value])
      sent.set(hour, (sent.get(hour) ?? new Set()).add(value))
    }
    changed()
    return allAccepted(metrics)
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
    /** Runs whose read was given up by them, or ended with them. */
    unanswered,
    sent,
    /** All values that were sent of each metric and hour, by `ID HOUR`. */
    values,
    /** When each push began, by the steady clock. */
    pushedAtMs,
    /** The key of the last push that was accepted. */
    get lastKey() {
      return lastKey
    },
    /** Treats requests with a key in some way from now on; those that wait in vain are cut. @param how absent for as usual */
    treat(key: string, how?: Treatment) {
      if (how) treatments.set(key, how)
      else treatments.delete(key)
      for (const [socket, keyOfSocket] of unansweredSockets) if (keyOfSocket === key) socket.destroy()
    },
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
  /** Key of each, in YAML; default: one for all, in a variable. */
  readonly keyOf?: (name: string) => string
  /** Address of the service of each; default: that of the scene. */
  readonly serviceOf?: (name: string) => string
  /** Address that the collector of each reads from; default: the source of the scene. */
  readonly sourceOf?: (name: string) => string
  /** Settings of deliveries, in YAML. */
  readonly delivery?: string
  /** Where each serves its status; default: at a port that the system chooses. */
  readonly listen?: string
  /** Address of a webhook for notifications; default: there is none. */
  readonly alertUrl?: string
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
    keyOf = () => '{ env: METRICS_KEY }',
    sourceOf = () => source,
    listen = '127.0.0.1:0',
    alertUrl,
  }: FleetParts = {},
) {
  const address = await databases.empty()
  const envOf = (place: number) => ({
    ...{ METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: way(address, place) },
    ...(alertUrl !== undefined && { ALERT_URL: alertUrl }),
  })
  const configs = names.map(name => {
    const { config } = configured(
      `service: { url: "${serviceOf(name)}", key: ${keyOf(name)} }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: ${name} }
status: { listen: "${listen}" }
delivery: ${delivery}
notify: ${alertUrl === undefined ? '[]' : '[{ webhook: { env: ALERT_URL } }]'}
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
