import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { FailureCause, Lease } from '../fleet/leases.ts'
import type { Answer } from '../model/verdict.ts'

/** Answers of what stands between: a login page, a proxy, a gateway. A 503 with `Retry-After` is the service's own. */
function isOfTheWay({ status, notBeforeMs }: Extract<Answer, { kind: 'answered' }>): boolean {
  const isRedirect = status >= 300 && status < 400
  return isRedirect || [407, 502, 504, 511].includes(status) || (status === 503 && notBeforeMs === undefined)
}

/** Why a request did not get through to the service; `undefined` for an answer of the service. */
function wayFailure(answer: Answer): string | undefined {
  if (answer.kind === 'unanswered') return `the service does not answer (${answer.reason})`
  return isOfTheWay(answer) ? `something on the way to the service answers in its place (${answer.status})` : undefined
}

/** Why the service refuses a request for its key; `undefined` for other answers. */
function keyFailure(answer: Answer): string | undefined {
  const isRefused = answer.kind === 'answered' && [401, 403].includes(answer.status)
  return isRefused ? `the service refuses its key (${answer.status})` : undefined
}

/** Notes a failure that another daemon, with another network and key, may not meet. @returns whether it is one */
function isFailureNoted(
  lease: Pick<Lease, 'noteFailure'>,
  answer: Answer,
  refusal: Extract<FailureCause, 'key' | 'right'>,
  sinceMs?: number,
): boolean {
  const way = wayFailure(answer)
  const reason = way ?? keyFailure(answer)
  if (reason !== undefined) lease.noteFailure(reason, way === undefined ? refusal : 'way', sinceMs)
  return reason !== undefined
}

/**
 * Notes the answer to a question for the key, asked by a daemon that failed. Any answer of the service ends that it does not
 * get through. An acceptance ends that the key is not known; that it may write shows in a push alone.
 */
export function noteKeyAnswer(lease: Pick<Lease, 'noteFailure' | 'noteSuccess'>, answer: Answer): void {
  if (wayFailure(answer) === undefined) lease.noteSuccess('way')
  const isFailure = isFailureNoted(lease, answer, 'key')
  // A key that is not known may write nothing: that is one failure.
  if (keyFailure(answer) !== undefined) lease.noteSuccess('right')
  // A 429 or a 500 says nothing about the key.
  if (!isFailure && answer.kind === 'answered' && answer.status < 300) lease.noteSuccess('key')
}

/**
 * The service's client, whose pushes are broken off when another daemon may deliver. A request that does not reach the
 * service, or whose key it refuses, is a failure of this daemon, which another one may not have.
 */
export function clientWhileHeld(
  client: ServiceClient,
  lease: () => Pick<Lease, 'noteSuccess' | 'noteFailure' | 'whileHeld'>,
  time: Pick<Time, 'steadyMs'>,
): ServiceClient {
  const withFailure = async (
    request: Promise<Answer>,
    refusal: 'key' | 'right',
    ...stops: readonly (AbortSignal | undefined)[]
  ) => {
    const sinceMs = time.steadyMs()
    const answer = await request
    const isBrokenOff = answer.kind === 'unanswered' && stops.some(stop => stop?.aborted)
    const isFailure = !isBrokenOff && isFailureNoted(lease(), answer, refusal, sinceMs)
    return { answer, isSuccess: !isBrokenOff && !isFailure }
  }
  const withNote = async (request: Promise<Answer>, ...stops: readonly (AbortSignal | undefined)[]) => {
    const { answer, isSuccess } = await withFailure(request, 'right', ...stops)
    if (isSuccess) lease().noteSuccess()
    return answer
  }
  return {
    host: client.host,
    push: (body, key, stop) =>
      lease().whileHeld(lost => withNote(client.push(body, key, AbortSignal.any([stop, lost])), stop, lost)),
    register: (registration, key, stop) => withNote(client.register(registration, key, stop), stop),
    // That a key is known says not that it may push.
    validateKey: async (key, stop) => (await withFailure(client.validateKey(key, stop), 'key', stop)).answer,
    widget: (...asked) => client.widget(...asked),
    close: () => client.close(),
  }
}
