import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { type Hour, hourAfter, hourAt, hourText } from '../../../src/model/hour.ts'
import { command } from '../../support/command.ts'
import { allAccepted, answering } from '../../support/listening.ts'
import { configured, levelCollector } from '../../support/tidegauge.ts'
import type { Sent } from '../stage.ts'

/** The service's answer about what it has: the latest values, all of them, an error, or something else. */
export type Shape = 'latest' | 'history' | 'error' | 'garbage'

const collectors = {
  // Numbers of the hour: what any run must give for it.
  'past.js': `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ fails: z.string().optional() }),
  metrics: { Hours: { unit: 'h' }, Third: {} },
  history: true,
  collect({ hour, options }) {
    if (hour === Date.parse(options.fails)) throw new Error('the well is dry')
    return { Hours: hour / 3600000, Third: hour / 3 }
  },
})
`,
  'now.js': levelCollector,
}

/** A command line at instants of its own, against a service that stores everything. */
export interface CatchUpStage {
  /** Every value that came, by `{metric id} {timestamp}`. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>
  readonly start: Hour
  readonly folder: string
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  answers(shape: Shape): void
  /** Runs a command so many hours after the start, by the clock of service and command. */
  at(hours: number, ...args: string[]): ReturnType<typeof command>
  /** The hours so many after the start for which a metric has come. */
  hoursOf(label: string): number[]
  /** The machine keeps nothing between its runs. */
  forget(): void
}

/**
 * @param options of the collector `past`, as YAML
 * @param isAlone without the collector that reads only the present
 * @param rest further keys of the file
 * @param more a further entry of `collectors`
 */
export async function catchUpStage({
  since = '',
  options = '',
  rest = '',
  more = '',
  isAlone = false,
} = {}): Promise<CatchUpStage> {
  const arrivals = new Map<string, number[]>()
  let shape: Shape = 'latest'
  const url = await answering((request, body) => ({
    // The clock that the command goes by.
    headers: { date: new Date().toUTCString() },
    ...(request.method === 'POST' ? stored(body, arrivals) : shown(request.url, arrivals, shape)),
  }))
  const yaml = `service: { url: "${url}", key: { env: METRICS_KEY } }
delivery: { pace: 1000 }
${rest}
protocols:
  - id: pool
    name: Pool
    collectors:
      - { use: ./past.js${since && `, since: ${since}`}, options: { ${options} } }
${isAlone ? '' : '      - { use: ./now.js }\n'}${more && `      - ${more}\n`}`
  const { folder, config } = configured(yaml, collectors)
  const env = { METRICS_KEY: 'a-key-that-nobody-may-see' }
  const start = hourAfter(hourAt(Date.now()), 1)
  onTestFinished(() => void vi.useRealTimers())
  return {
    arrivals,
    start,
    folder,
    config,
    env,
    answers(next) {
      shape = next
    },
    async at(hours, ...args) {
      // The clock alone: timers and sockets go on.
      vi.useFakeTimers({ toFake: ['Date'], now: start + hours * 3_600_000 })
      return command([...(args.length > 0 ? args : ['collect', '--catch-up']), '--config', config], env)
    },
    hoursOf(label) {
      const own = [...arrivals.keys()].filter(key => key.startsWith(`pool___${label} `))
      return own.map(key => (Date.parse(key.split(' ')[1] ?? '') - start) / 3_600_000).sort((a, b) => a - b)
    },
    forget() {
      rmSync(join(folder, 'data'), { recursive: true, force: true })
      mkdirSync(join(folder, 'data'))
    },
  }
}

function shown(url: string | undefined, arrivals: Map<string, number[]>, shape: Shape) {
  if (url === '/api/validate-key') return { body: { valid: true } }
  if (shape === 'error') return { status: 500, body: {} }
  if (shape === 'garbage') return { body: { hello: ['world'] } }
  const all = [...arrivals].map(([key, values]) => {
    const [id = '', timestamp = ''] = key.split(' ')
    return { id, timestamp, value: values.at(-1) }
  })
  all.sort((one, other) => (one.timestamp < other.timestamp ? 1 : -1))
  if (url !== '/api/metrics') {
    return { body: all.filter(({ id }, index) => all.findIndex(other => other.id === id) === index) }
  }
  return { body: shape === 'history' ? { stored: all } : { count: all.length } }
}

function stored(body: string, arrivals: Map<string, number[]>) {
  const { metrics } = JSON.parse(body) as { metrics: Sent[] }
  for (const { id, timestamp, value } of metrics) {
    const key = `${id} ${timestamp}`
    arrivals.set(key, [...(arrivals.get(key) ?? []), value])
  }
  return allAccepted(metrics)
}

/** Values of `past` for an hour, by label. */
export const expectedOf = (hour: Hour) => ({ Hours: hour / 3_600_000, Third: hour / 3 })

/** The keys and values of `past` from an hour of the stage on, both ends included. */
export function expectedArrivals({ start }: CatchUpStage, from: number, to: number): Record<string, number> {
  const hours = Array.from({ length: to - from + 1 }, (_, index) => hourAfter(start, from + index))
  return Object.fromEntries(
    hours.flatMap(hour =>
      Object.entries(expectedOf(hour)).map(([label, value]) => [`pool___${label} ${hourText(hour)}`, value]),
    ),
  )
}
