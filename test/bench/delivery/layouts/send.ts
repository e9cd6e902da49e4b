import { type Agent, request } from 'undici'
import { batchMetricsMax } from '../../../../src/model/limits.ts'
import { inFlight } from '../metrics.ts'
import type { Layout, Portion } from './layout.ts'

/** Portions read at once. */
const pagePortions = 20

const headers = { accept: 'application/json', authorization: 'Bearer bench-key', 'content-type': 'application/json' }

/** Posts a body that is complete; throws when the sink takes fewer metrics than a portion has. */
export async function post(dispatcher: Agent, url: string, body: string): Promise<void> {
  const answer = await request(`${url}/api/metrics`, { method: 'POST', headers, body, dispatcher })
  const { processed } = (await answer.body.json()) as { processed?: number }
  if (processed !== batchMetricsMax) throw new Error(`${answer.statusCode}: ${processed} processed`)
}

/** Runs as many lanes as the daemon has pushes under way. */
export async function inLanes(lane: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: inFlight }, lane))
}

/** The least that delivers a protocol out of a layout. A lane sends again once the verdict on its last push is recorded. */
export async function deliverLean(layout: Layout, protocol: number, dispatcher: Agent, url: string): Promise<void> {
  let [page, read]: [Portion[], Portion | undefined] = [[], undefined]
  const next = () => {
    if (page.length === 0) page = layout.next(protocol, read, pagePortions)
    read = page.at(-1) ?? read
    return page.shift()
  }
  let [answered, recorded]: [Portion[], Promise<void> | undefined] = [[], undefined]
  const record = async () => {
    await new Promise(resolve => void setImmediate(resolve))
    const portions = answered
    ;[answered, recorded] = [[], undefined]
    layout.deliver(portions)
  }
  await inLanes(async () => {
    for (let portion = next(); portion; portion = next()) {
      await post(dispatcher, url, `{"metrics":[${portion.json}]}`)
      answered.push(portion)
      recorded ??= record()
      await recorded
    }
  })
}
