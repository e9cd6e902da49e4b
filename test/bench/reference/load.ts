/**
 * A process that pushes, for the benchmark: one line of JSON in, `{ url, key, startHour, pushes } | { …, ms }`, one line
 * out, `{ pushes, ms, errors, startHour }`. Each of its connections pushes a protocol of its own, one hour after
 * another, so that every value is new.
 */
import { createInterface } from 'node:readline'
import { Pool } from 'undici'
import { systemTime } from '../../../src/edge/time.ts'
import type { Load, Loaded } from './roles.ts'
import { connections, metricsPerPush, protocolIdOf } from './roles.ts'

const hourMs = 3_600_000
/** Hours are counted from here; the bench stays far below what would be the future. */
const firstHourMs = Date.UTC(1990, 0, 1)

/** A push with a gap where each timestamp goes. */
function templateOf(connection: number): string[] {
  const protocolId = protocolIdOf(connection)
  const metrics = Array.from({ length: metricsPerPush }, (_, index) => ({
    id: `${protocolId}___Label${index}`,
    value: 1_000 + index / 7,
    protocolId,
    unit: 'USD',
    timestamp: '@',
  }))
  return JSON.stringify({ metrics }).split('@')
}

async function run({ url, key, startHour, pushes, ms }: Load): Promise<Loaded> {
  const pool = new Pool(url, { connections })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let [started, errors] = [0, 0]
  const startMs = systemTime.nowMs()
  const more = () => (pushes === undefined ? systemTime.nowMs() - startMs < (ms ?? 0) : started < pushes)
  const drive = async (connection: number) => {
    const template = templateOf(connection)
    for (let hour = startHour; more(); hour += 1) {
      started += 1
      const body = template.join(`${new Date(firstHourMs + hour * hourMs).toISOString().slice(0, 19)}Z`)
      const answer = await pool.request({ method: 'POST', path: '/api/metrics', headers, body })
      const result = (await answer.body.json()) as { processed?: number; warnings?: unknown[] }
      if (answer.statusCode !== 200 || result.processed !== metricsPerPush || result.warnings?.length !== 0) errors += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => drive(connection)))
  const tookMs = systemTime.nowMs() - startMs
  await pool.close()
  return { pushes: started, ms: tookMs, errors }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line) as Load))}\n`)
}
