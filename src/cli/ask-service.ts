import { connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import type { Time } from '../edge/time.ts'
import { backoffMs } from '../model/backoff.ts'
import { Fault } from '../model/fault.ts'
import type { Answer } from '../model/verdict.ts'
import { joinedListings, type ListedMetrics, listedMetrics } from './listed-metrics.ts'

/** A protocol's metrics as the service lists them, or why they cannot be read. */
export type ServiceListing =
  | { readonly kind: 'read'; readonly listed: ListedMetrics }
  | { readonly kind: 'unreadable'; readonly reason: string }

const attemptsMax = 5
const restBaseMs = 250
const askedWaitMsMax = 30_000

/**
 * Asks the service what it has of some protocols: the latest values of each, and what it lists for its key, which may
 * show hours that are missing before. Never rejects.
 */
export async function askService(
  context: AppContext,
  protocolIds: readonly string[],
): Promise<ReadonlyMap<string, ServiceListing>> {
  await using stack = new AsyncDisposableStack()
  const { client, keyOf } = await connect(context, stack)
  const byKey = new Map<string, Promise<ListedMetrics | undefined>>()
  const storedFor = (key: string) => {
    const known = byKey.get(key) ?? untilAnswered(context.time, () => client.stored(key)).then(listedIn)
    byKey.set(key, known)
    return known
  }
  const listings = protocolIds.map(async (id): Promise<[string, ServiceListing]> => {
    try {
      const key = keyOf(id)
      const latest = await untilAnswered(context.time, () => client.latest(id, key))
      return [id, listingFrom(id, latest, await storedFor(key))]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [id, { kind: 'unreadable', reason: error.message }]
    }
  })
  return new Map(await Promise.all(listings))
}

/** Asks again after an answer that may pass. */
async function untilAnswered(time: Time, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask()
    if (attempt === attemptsMax || !mayPass(answer)) return answer
    const askedMs = answer.kind === 'answered' ? (answer.notBeforeMs ?? 0) - time.nowMs() : 0
    const ownMs = backoffMs({ baseMs: restBaseMs, capMs: restBaseMs * 2 ** attemptsMax }, attempt, time.chance())
    await time.sleep(Math.max(ownMs, Math.min(askedMs, askedWaitMsMax)))
  }
}

function mayPass(answer: Answer): boolean {
  return answer.kind === 'unanswered' || answer.status >= 500 || [408, 425, 429].includes(answer.status)
}

function listedIn(answer: Answer): ListedMetrics | undefined {
  return answer.kind === 'answered' && answer.status >= 200 && answer.status < 300
    ? listedMetrics(answer.body)
    : undefined
}

function listingFrom(protocolId: string, latest: Answer, stored: ListedMetrics | undefined): ServiceListing {
  const isOwn = ([id]: readonly [string, unknown]) => id.startsWith(`${protocolId}___`)
  const [newest, all] = [listedIn(latest), new Map([...(stored ?? [])].filter(isOwn))]
  if (newest || all.size > 0) return { kind: 'read', listed: joinedListings(newest ?? new Map(), all) }
  if (latest.kind === 'unanswered') return { kind: 'unreadable', reason: latest.reason }
  // It is not registered yet.
  if (latest.status === 404) return { kind: 'read', listed: new Map() }
  const isAccepted = latest.status >= 200 && latest.status < 300
  const reason = isAccepted ? 'its answer has no list of metrics with timestamps' : `it answered ${latest.status}`
  return { kind: 'unreadable', reason }
}
