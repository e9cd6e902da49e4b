import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter, hourAt, hoursFrom, hourText } from '../../src/model/hour.ts'
import { command } from '../support/command.ts'
import { listening } from '../support/listening.ts'
import { configured, type Ended, levelCollector, start } from '../support/tidegauge.ts'
import { type ScriptedService, scriptedService } from './stage.ts'

/** Orders to the collector. */
interface Orders {
  'hangs-from'?: number
  'fails-at'?: number
  more?: number
}

/** Server to which a collector reports each hour it is run for. It answers whether to hang, to fail, or which value to give. */
async function watchPost(): Promise<{
  readonly url: string
  readonly reads: Map<Hour, number>
  readonly orders: Orders
}> {
  const reads = new Map<Hour, number>()
  const orders: Orders = {}
  const url = await listening((request, response) => {
    const hour = Number(request.url?.slice(1)) as Hour
    reads.set(hour, (reads.get(hour) ?? 0) + 1)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(orders))
  })
  return { url, reads, orders }
}

const watched = `import { defineCollector, z } from 'tidegauge'
const orders = z.object({ 'hangs-from': z.number(), 'fails-at': z.number(), more: z.number() }).partial()
export default defineCollector({
  options: z.strictObject({ post: z.string(), history: z.literal(true).default(true) }),
  metrics: { Count: { unit: 'hours' }, Half: {}, Third: {} },
  history: true,
  async collect({ hour, http, options }) {
    const { more = 0, ...said } = await http.json(options.post + '/' + hour, orders)
    if (hour >= (said['hangs-from'] ?? Infinity)) await new Promise(() => {})
    if (hour === said['fails-at']) throw new Error('the well is dry')
    const count = hour / 3600000 + more
    return { Count: count, Half: count / 2, Third: count / 3 }
  },
})
`

/** Metrics of one hour of the collector that can read the past. */
export const metricsAnHour = 3

/** Surroundings of a test of the command. */
export interface BackfillStage {
  readonly service: ScriptedService
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  readonly hours: readonly Hour[]
  /** `--from` and `--to` of all hours. */
  readonly range: readonly string[]
  run(...args: string[]): Promise<Ended>
  /** Starts one and lets the test watch it. */
  start(...args: string[]): ReturnType<typeof start>
  /** Reads of each hour so far. */
  reads(): ReadonlyMap<Hour, number>
  /** Sets what the collector does from now on. */
  set(name: 'hangs-from' | 'fails-at' | 'more', value: number | undefined): void
}

/**
 * A service, and a configuration with `pool/watched.js`, which reads the past, and `pool/now.js`, which does not.
 *
 * @param count hours, well before the current one
 * @param more sections of the configuration @param collectors further entries
 */
export async function backfillStage(count: number, more = '', collectors = ''): Promise<BackfillStage> {
  const service = await scriptedService()
  const post = await watchPost()
  const yaml = `service: { url: "${service.url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
${more}
delivery: { pace: 1000 }
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: ./watched.js, id: past, options: { post: "${post.url}" } }
      - { use: ./now.js, id: now }
${collectors}`
  const { config } = configured(yaml, { 'watched.js': watched, 'now.js': levelCollector })
  const env = { METRICS_KEY: 'a-key-that-nobody-may-see' }
  const last = hourAfter(hourAt(systemTime.nowMs()), -3)
  const hours = hoursFrom(hourAfter(last, 1 - count), last)
  const words = (args: readonly string[]) => ['backfill', ...args, '--config', config]
  return {
    service,
    config,
    env,
    hours,
    range: ['--from', hourText(hours[0] ?? last), '--to', hourText(last)],
    run: (...args) => command(words(args), env),
    start: (...args) => start(words(args), env),
    reads: () => post.reads,
    set(name, value) {
      if (value === undefined) delete post.orders[name]
      else post.orders[name] = value
    },
  }
}

/** The hours the service has been sent, each as often as it was. */
export function sentHours({ service }: BackfillStage, label = 'Count'): string[] {
  return service.stored.filter(({ id }) => id === `pool___${label}`).map(({ timestamp }) => timestamp)
}

export const hourTexts = (hours: readonly Hour[]) => hours.map(hour => hourText(hour))
