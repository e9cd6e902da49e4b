import { expect, it } from 'vitest'
import { clientWhileHeld, noteKeyAnswer } from '../../src/app/fleet-delivering.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type FailureCause, Lease } from '../../src/fleet/leases.ts'
import type { Answer } from '../../src/model/verdict.ts'

const body = '{}'
const answered = (status: number, more: { readonly notBeforeMs?: number } = {}): Answer => ({
  kind: 'answered',
  status,
  body: undefined,
  ...more,
})

it.each<[what: string, answer: Answer, isReached: boolean]>([
  ['an acceptance', answered(200), true],
  ['a refusal', answered(422), true],
  ['a refused key', answered(401), false],
  ['a key that may not write this', answered(403), false],
  ['too many requests', answered(429), true],
  ['an error of the service', answered(500), true],
  ['a service that asks to wait', answered(503, { notBeforeMs: 7 }), true],
  ['no answer', { kind: 'unanswered', reason: 'ECONNREFUSED' }, false],
  ['a login page', answered(302), false],
  ['a proxy that wants a password', answered(407), false],
  ['a gateway without a service', answered(502), false],
  ['a gateway that says so with a 503', answered(503), false],
  ['a gateway that waited in vain', answered(504), false],
])('%s lets a daemon keep what it delivers, or another one try: %o', async (_, answer, isReached) => {
  const results: boolean[] = []
  const role = {
    noteSuccess: () => void results.push(true),
    noteFailure: () => void results.push(false),
    whileHeld: <T>(work: (signal: AbortSignal) => Promise<T>) => work(new AbortController().signal),
  }
  const asked = { push: async () => answer, validateKey: async () => answer }
  const client = clientWhileHeld(asked as never, () => role, systemTime)
  expect(await client.push(body, 'key', new AbortController().signal)).toBe(answer)
  expect(results).toEqual([isReached])
  // A key that is known may be refused for what it is to write.
  expect(await client.validateKey('key')).toBe(answer)
  expect(results).toEqual(isReached ? [true] : [false, false])
})

const gone: Answer = { kind: 'unanswered', reason: 'ECONNRESET' }
const [reached, unknown] = [answered(500), answered(401)]

it.each<[what: string, failures: readonly FailureCause[], answers: readonly Answer[], failing: string | undefined]>([
  ['a way that is back, though nothing was asked meanwhile', ['way'], [answered(200)], undefined],
  ['a way that is back to a service with trouble', ['way'], [gone, reached], undefined],
  ['a way that is still cut', ['way'], [gone], 'the service does not answer (ECONNRESET)'],
  ['a key that was known all the time, and may not write', ['right'], [answered(200)], 'failed: right'],
  ['one whose way was cut meanwhile', ['right'], [gone, answered(200)], 'failed: right'],
  ['a key that is known again', ['right'], [unknown, answered(200)], undefined],
  ['a key of which nothing is said', ['right'], [unknown, reached], 'the service refuses its key (401)'],
  ['a key that can be read again', ['key'], [answered(200)], undefined],
])('a daemon that failed is named until an answer shows that this is over: %s', (_, failures, answers, failing) => {
  const leases = { hasOthers: true, trustLeftMs: 0, release: async () => {} }
  const lease = new Lease({ names: [] }, { leases, time: systemTime, reportFailure: () => {} })
  for (const cause of failures) lease.noteFailure(`failed: ${cause}`, cause)
  for (const answer of answers) noteKeyAnswer(lease, answer)
  expect(lease.failing).toBe(failing)
})
