import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { command } from '../support/command.ts'
import { answering } from '../support/listening.ts'
import { configured } from '../support/tidegauge.ts'

/** A metric as a service is sent it. */
export interface Sent {
  readonly id: string
  readonly value: number
  readonly unit?: string
  readonly timestamp: string
}

/** A service over real HTTP that stores what it is sent, and refuses and remarks what a test wants. */
export interface ScriptedService {
  readonly url: string
  /** The metrics of each push that it has accepted, in order. */
  readonly pushes: (readonly Sent[])[]
  /** Everything it has stored, in order. */
  readonly stored: Sent[]
  /** The reason to refuse a metric for; none at first. */
  refuses: (metric: Sent) => string | undefined
  /** Its answer to a GET; 404 at first. */
  shows: (path: string) => { readonly status: number; readonly body: unknown }
  /** Its remark about a metric that it stores; none at first. */
  remarks: (metric: Sent) => readonly string[]
}

/** Ends with the test. */
export async function scriptedService(): Promise<ScriptedService> {
  const scripted: Omit<ScriptedService, 'url'> = {
    pushes: [],
    stored: [],
    refuses: () => undefined,
    shows: () => nothing,
    remarks: () => [],
  }
  const url = await answering((request, body) =>
    request.method === 'POST' ? answer(scripted, metricsOf(body)) : scripted.shows(request.url ?? ''),
  )
  return Object.assign(scripted, { url })
}

const nothing = { status: 404, body: { error: 'there is nothing here' } }

const metricsOf = (body: string) => (JSON.parse(body) as { metrics: Sent[] }).metrics

function answer({ pushes, stored, refuses, remarks }: Omit<ScriptedService, 'url'>, metrics: readonly Sent[]) {
  const errors = metrics.flatMap(metric => refuses(metric) ?? [])
  if (errors.length > 0) return { status: 400, body: { success: false, processed: 0, errors, warnings: [] } }
  pushes.push(metrics)
  stored.push(...metrics)
  const warnings = metrics.flatMap(metric => remarks(metric).map(message => ({ id: metric.id, message })))
  return { status: 200, body: { success: true, processed: metrics.length, errors: [], warnings } }
}

/** Declaration and value of the collector of `gauge`; read again each time. */
export interface Given {
  readonly metrics: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly values: Readonly<Record<string, number>>
}

/** With one collector `pool/given.js` that gives what `given.json` says for any hour. */
function gauge(url: string, given: Given): { folder: string; config: string; env: Record<string, string> } {
  const yaml = `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./pool/given.js
`
  const { folder, config } = configured(yaml, {
    'pool/given.js': givenCollector,
    'pool/given.json': JSON.stringify(given),
  })
  return { folder, config, env: { METRICS_KEY: 'a-key-that-nobody-may-see' } }
}

const givenCollector = `import { readFileSync } from 'node:fs'
import { defineCollector, z } from 'tidegauge'
const given = () => JSON.parse(readFileSync(new URL('given.json', import.meta.url), 'utf8'))
export default defineCollector({
  options: z.strictObject({}),
  metrics: () => given().metrics,
  history: true,
  collect: () => given().values,
})
`

/** Hours well before the current one, so that none turns while a test runs. */
export const hourBack = (count: number) => hourText(hourAfter(hourAt(systemTime.nowMs()), -count))

/** A configuration against a scripted service. */
export interface Stage {
  readonly service: ScriptedService
  readonly config: string
  /** The part of the environment that a command needs: the key. */
  readonly env: Readonly<Record<string, string>>
  /** Runs a command on the configuration. */
  run(...args: string[]): ReturnType<typeof command>
  /** Runs one that prints JSON. */
  read<T>(...args: string[]): Promise<T>
  /** Value of the collector from now on. */
  give(given: Given): void
}

/** Sets one up; nothing is collected yet. */
export async function stage(given: Given): Promise<Stage> {
  const service = await scriptedService()
  const { folder, config, env } = gauge(service.url, given)
  const run = (...args: string[]) => command([...args, '--config', config], env)
  return {
    service,
    config,
    env,
    run,
    async read<T>(...args: string[]) {
      return JSON.parse((await run(...args, '--json')).stdout) as T
    },
    give: next => writeFileSync(join(folder, 'config', 'pool', 'given.json'), JSON.stringify(next)),
  }
}
