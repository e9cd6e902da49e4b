import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { aggregateDigitsMax, aggregateReadsMax } from '../limits.ts'
import type { ReadAnswer, ReadRequest } from '../reads.ts'
import { hexOf } from '../shapes.ts'
import { callTogether, type ReadTarget } from './aggregate-call.ts'
import { multicall3Address } from './multicall.ts'
import type { ReadMemory } from './read-memory.ts'
import { callAt, type ReadOutcome, readSingly } from './single-reads.ts'

/** Where reads are made, and what is known of the chain. */
interface Place {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly memory: ReadMemory
  readonly signal: AbortSignal
}

/**
 * Reads at one block, in as few `eth_call`s as fit: one through Multicall3, halved while the node finds it too much,
 * one by one where Multicall3 is not deployed yet. What can be asked at once is asked in the same turn.
 *
 * @param memory of the chain, the same for all of its hours and endpoints
 * @returns outcomes in the order of the requests
 * @throws EndpointFailure when the endpoint fails: then nothing was read
 */
export async function readAt(
  endpoint: Endpoint,
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  memory: ReadMemory,
): Promise<readonly ReadOutcome[]> {
  const place = { endpoint, block, memory, signal }
  if (memory.isAbsentAt(block.number)) return readSingly(endpoint, block, requests, signal)
  const parts = chunks(requests)
  const [only] = parts
  if (only && parts.length === 1) return readPart(place, only)
  return (await Promise.all(parts.map(part => readPart(place, part)))).flat()
}

/** The same, only that what one read cannot have fails all of them. @throws EndpointFailure */
export async function readAllAt(...parts: Parameters<typeof readAt>): Promise<readonly ReadOutcome[]> {
  const outcomes = await readAt(...parts)
  const failure = outcomes.find(outcome => outcome instanceof EndpointFailure)
  if (failure) throw failure
  return outcomes
}

async function readPart(place: Place, requests: readonly ReadRequest[]): Promise<readonly ReadOutcome[]> {
  const { endpoint, block, memory, signal } = place
  const call = memory.inputs.of(requests)
  if (memory.splits.take(call, endpoint)) return readHalves(place, requests)
  const aggregate = await callTogether(endpoint, block, call, memory, signal)
  switch (aggregate.kind) {
    case 'answers':
      return withCertainReverts(place, requests, aggregate.answers)
    case 'absent':
      return (await Promise.all([readSingly(endpoint, block, requests, signal), confirmAbsent(place)]))[0]
    case 'too-much':
      memory.splits.remember(call, endpoint)
      return readHalves(place, requests)
  }
}

/** A single read that is too much within an aggregate may pass alone. */
async function readHalves(place: Place, requests: readonly ReadRequest[]): Promise<readonly ReadOutcome[]> {
  if (requests.length === 1) return readSingly(place.endpoint, place.block, requests, place.signal)
  const half = Math.ceil(requests.length / 2)
  const halves = [requests.slice(0, half), requests.slice(half)]
  return (await Promise.all(halves.map(part => readPart(place, part)))).flat()
}

/** Absence is remembered for all blocks before, so it takes more than an empty answer: there is no code. */
async function confirmAbsent({ endpoint, block, memory, signal }: Place): Promise<void> {
  const call = { method: 'eth_getCode', params: [multicall3Address, hexOf(block.number)] }
  const [code] = await callAt(endpoint, block, [call], signal)
  if (code?.kind !== 'result') return
  if (code.result !== '0x') throw new EndpointFailure(endpoint.host, 'answered the reads with nothing')
  memory.sawAbsent(block.number)
}

/**
 * A revert without data may be the contract's, or gas that other reads of the aggregate used up: such reads are made
 * again alone, which tells.
 */
async function withCertainReverts(
  { endpoint, block, signal }: Place,
  requests: readonly ReadRequest[],
  answers: readonly ReadAnswer[],
): Promise<readonly ReadOutcome[]> {
  const unsure = requests.filter((_, index) => isUnsure(answers[index]))
  if (unsure.length === 0) return answers
  const alone = await readSingly(endpoint, block, unsure, signal)
  let next = 0
  return answers.map(answer => (isUnsure(answer) ? (alone[next++] ?? answer) : answer))
}

function isUnsure(answer: ReadAnswer | undefined): boolean {
  return answer?.kind === 'reverted' && answer.output === '0x'
}

/** Parts small enough for one call each. */
function chunks(requests: readonly ReadRequest[]): ReadRequest[][] {
  const parts: ReadRequest[][] = []
  let digits = Number.POSITIVE_INFINITY
  for (const request of requests) {
    const more = request.kind === 'call' ? request.input.length : 0
    const last = parts.at(-1)
    if (last && last.length < aggregateReadsMax && digits + more <= aggregateDigitsMax) {
      last.push(request)
      digits += more
    } else {
      parts.push([request])
      digits = more
    }
  }
  return parts
}
