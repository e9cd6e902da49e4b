import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure, ReadFailure } from '../endpoint/endpoint-failure.ts'
import { answerMsMax } from '../limits.ts'
import { isJoinable, type JoinableRead, type ReadAnswer, type ReadRequest } from '../reads.ts'
import { callTogether } from './aggregate-call.ts'
import type { ReadTarget } from './block-pin.ts'
import { partMsMax } from './limits.ts'
import { chunks, isUnsure, partsOf } from './parts.ts'
import type { ReadMemory } from './read-memory.ts'
import { ReadPlace } from './read-place.ts'
import type { ApartWay } from './reads-apart.ts'
import { isAnswer, type ReadOutcome, readOneByOne } from './single-reads.ts'

/**
 * Executes reads at one block in as few `eth_call`s as fit: one through Multicall3, split while the node finds it too
 * much or fails at it, one by one where Multicall3 is not deployed. Calls that do not depend on each other are sent in
 * one turn. A read the node fails at does not affect the others; a read it is too slow for is a failure of kind `slow`,
 * which `readLate` may still answer.
 *
 * @param memory of the chain, the same for all of its hours and endpoints
 * @returns outcomes in the order of the requests
 * @throws EndpointFailure when the endpoint fails at all reads of the block
 */
export async function readAt(
  endpoint: Endpoint,
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  memory: ReadMemory,
): Promise<readonly ReadOutcome[]> {
  const place = new ReadPlace(endpoint, block, memory, signal)
  if (memory.allTogether(endpoint) && requests.every(isJoinable)) return readTogether(place, requests)
  const ways = requests.map(request => memory.wayOf(endpoint, request))
  const of = (way: ApartWay | undefined) => requests.filter((_, index) => ways[index] === way)
  // A read that cannot be joined is never sent with the others.
  const [together, singly] = [of(undefined).filter(isJoinable), of('singly')]
  const [ofTogether, ofSingly] = await Promise.all([
    together.length > 0 ? readTogether(place, together) : [],
    singly.length > 0 ? readSingly(place, singly, together.length > 0) : [],
  ])
  const outcomes = { together: ofTogether.values(), singly: ofSingly.values() }
  return ways.map(way => {
    if (way === 'late') return tooSlow(place)
    return outcomes[way ?? 'together'].next().value ?? tooSlow(place)
  })
}

/**
 * Executes reads the endpoint was too slow for: each alone, with the full time limit. A read that is fast alone is sent
 * with the others again.
 *
 * @throws EndpointFailure
 */
export async function readLate(
  endpoint: Endpoint,
  block: ReadTarget,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  memory: ReadMemory,
): Promise<readonly ReadOutcome[]> {
  const place = new ReadPlace(endpoint, block, memory, signal)
  const outcomes = await readOneByOne(place, requests, partMsMax)
  for (const [index, request] of requests.entries()) {
    if (isSlow(outcomes[index])) continue
    memory.apart.delete(endpoint, request)
  }
  return withSlow(requests, outcomes, slow => readOneByOne(place, slow, answerMsMax))
}

/** Outcomes in which those of slow reads are replaced by reading them again. */
async function withSlow(
  requests: readonly ReadRequest[],
  outcomes: readonly ReadOutcome[],
  again: (slow: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>,
): Promise<readonly ReadOutcome[]> {
  const slow = requests.filter((_, index) => isSlow(outcomes[index]))
  if (slow.length === 0) return outcomes
  const later = (await again(slow)).values()
  return outcomes.map(outcome => (isSlow(outcome) ? (later.next().value ?? outcome) : outcome))
}

function isSlow(outcome: ReadOutcome | undefined): boolean {
  return outcome instanceof EndpointFailure && outcome.kind === 'slow'
}

const tooSlow = ({ endpoint }: ReadPlace) => new ReadFailure(endpoint.host, 'takes this read too long', 'slow')

async function readTogether(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  if (place.memory.isAbsentAt(place.block.number)) return readSingly(place, requests)
  const parts = chunks(requests)
  const [only] = parts
  if (only && parts.length === 1) return readPart(place, only)
  return (await Promise.all(parts.map(part => readPart(place, part)))).flat()
}

/** @param partMs time limit of the request; given when the part has a request of its own */
async function readPart(
  place: ReadPlace,
  requests: readonly JoinableRead[],
  partMs?: number,
): Promise<readonly ReadOutcome[]> {
  const { endpoint, memory } = place
  if (memory.splits.take(requests, endpoint)) return readHalves(place, requests)
  const aggregate = await callTogether(place, requests, partMs)
  switch (aggregate.kind) {
    case 'answers':
      return withCertainReverts(place, requests, aggregate.answers)
    case 'absent': {
      const [outcomes, code] = await Promise.all([readSingly(place, requests), place.codeOfMulticall()])
      if (code === 'absent') memory.sawAbsent(place.block.number)
      if (code !== 'there') return outcomes
      return readFailed(
        place,
        requests,
        new EndpointFailure(endpoint.host, 'answered the reads with nothing', 'refused'),
      )
    }
    case 'too-much':
      // An aggregate reverts only where the gas ends: or a node says so that has no state.
      if (aggregate.isRevert) await place.requireKept()
      memory.splits.remember(requests, endpoint)
      return readHalves(place, requests)
    case 'slow':
      return partMs === undefined || requests.length === 1 ? readSlow(place, requests) : readAlone(place, requests)
    case 'failed':
      if (aggregate.isNothing) await place.requireKept()
      return readFailed(place, requests, aggregate.failure)
  }
}

/** Executes the two halves of a list; a single read that is too much for an aggregate may pass alone. */
async function readHalves(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  if (requests.length === 1) return readSingly(place, requests)
  const halves = partsOf(requests, 2)
  return (await Promise.all(halves.map(part => readPart(place, part)))).flat()
}

/** Handles an aggregate the node failed at: because of one of its reads, or because it fails at any. */
async function readFailed(
  place: ReadPlace,
  requests: readonly JoinableRead[],
  failure: EndpointFailure,
): Promise<readonly ReadOutcome[]> {
  const [only] = requests
  if (only && requests.length === 1) {
    place.memory.apart.set(place.endpoint, only, 'singly')
    return readSingly(place, requests)
  }
  return (await place.servesTogether(failure)) ? readHalves(place, requests) : readSingly(place, requests)
}

/**
 * Executes reads that were not answered in time together: in parts, each in its own request, then each read of a slow
 * part alone. The wait is short, so that callers get the fast ones within their deadline.
 */
async function readSlow(place: ReadPlace, requests: readonly JoinableRead[]): Promise<readonly ReadOutcome[]> {
  const [only] = requests
  if (only && requests.length === 1) {
    place.memory.apart.set(place.endpoint, only, 'late')
    return [tooSlow(place)]
  }
  const parts = partsOf(requests, Math.ceil(Math.sqrt(requests.length)))
  return (await Promise.all(parts.map(part => readPart(place, part, partMsMax)))).flat()
}

async function readAlone(place: ReadPlace, requests: readonly ReadRequest[]): Promise<readonly ReadOutcome[]> {
  const { endpoint, memory } = place
  const outcomes = await readOneByOne(place, requests, partMsMax)
  outcomes.forEach((outcome, index) => {
    const request = requests[index]
    if (request && isSlow(outcome)) memory.apart.set(endpoint, request, 'late')
  })
  return outcomes
}

/**
 * Executes reads one by one; those not answered in time in one batch are sent each alone.
 *
 * @param isServed whether other reads are answered at that block
 * @throws EndpointFailure when the endpoint fails at all reads of the block
 */
async function readSingly(
  place: ReadPlace,
  requests: readonly ReadRequest[],
  isServed = false,
): Promise<readonly ReadOutcome[]> {
  const batched = await readOneByOne(place, requests)
  const outcomes = await withSlow(requests, batched, slow => readAlone(place, slow))
  if (!isServed && !outcomes.some(isAnswer)) await place.requireState()
  if (!isServed && !outcomes.some(isValue)) await place.requireKept()
  remember(place, requests, outcomes)
  return outcomes
}

/** Whether an outcome is a value that a node without state would not answer. */
function isValue(outcome: ReadOutcome): boolean {
  return isAnswer(outcome) && outcome.output !== '0x'
}

/** Remembers what the contracts themselves answered to reads that were sent alone. */
function remember({ memory }: ReadPlace, requests: readonly ReadRequest[], outcomes: readonly ReadOutcome[]): void {
  requests.forEach((request, place) => {
    const outcome = outcomes[place]
    if (isAnswer(outcome)) memory.sawAnswer(request, outcome)
  })
}

/**
 * Repeats reads that reverted without data, each alone: the contract may have reverted, or other reads of the aggregate
 * used up the gas. Those that all did so alone in an earlier hour are believed.
 */
async function withCertainReverts(
  place: ReadPlace,
  requests: readonly ReadRequest[],
  answers: readonly ReadAnswer[],
): Promise<readonly ReadOutcome[]> {
  const unsure = requests.filter((request, index) => {
    const answer = answers[index]
    if (answer?.kind === 'returned') place.memory.sawAnswer(request, answer)
    return isUnsure(answer)
  })
  if (unsure.every(request => place.memory.isKnownRevert(request))) return answers
  const alone = await readSingly(place, unsure, true).catch(error => {
    if (!(error instanceof EndpointFailure)) throw error
    return unsure.map(() => new ReadFailure(error.host, error.reason, error.kind, error.retryAtMs))
  })
  const inOrder = alone.values()
  return answers.map(answer => (isUnsure(answer) ? (inOrder.next().value ?? answer) : answer))
}
