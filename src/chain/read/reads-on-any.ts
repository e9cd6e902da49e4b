import { Fault } from '../../model/fault.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import type { EndpointPool, Refused, Served } from '../endpoint/endpoint-pool.ts'
import type { ReadRequest } from '../reads.ts'
import type { ReadOutcome } from './single-reads.ts'

/** Reads some of an hour's requests on one endpoint. */
type ReadOn = (endpoint: Endpoint, requests: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>

/**
 * Reads on whichever endpoint can. What is too much for one as a single read is asked of the others too, and fails alone
 * where it is so for all.
 *
 * @throws Fault when no endpoint can read anything
 */
export async function readOnAny(
  pool: EndpointPool,
  hour: Served,
  requests: readonly ReadRequest[],
  signal: AbortSignal,
  readOn: ReadOn,
): Promise<readonly ReadOutcome[]> {
  const outcomes = new Map<ReadRequest, ReadOutcome>()
  let before: readonly Refused[] = []
  let rest = requests
  while (rest.length > 0) {
    const { endpoint, read } = await readRest(pool, hour, rest, signal, readOn, before)
    read.forEach((outcome, index) => {
      const request = rest[index]
      if (request) outcomes.set(request, outcome)
    })
    rest = rest.filter(request => outcomes.get(request) instanceof EndpointFailure)
    const failure = rest.map(request => outcomes.get(request)).find(outcome => outcome instanceof EndpointFailure)
    if (failure && endpoint) before = [...before, { endpoint, failure }]
  }
  return requests.flatMap(request => outcomes.get(request) ?? [])
}

interface RestRead {
  readonly endpoint?: Endpoint
  readonly read: readonly ReadOutcome[]
}

/** Reads on one of the endpoints that were not asked before; where none of them can, that is what the reads come to. */
async function readRest(
  pool: EndpointPool,
  hour: Served,
  rest: readonly ReadRequest[],
  signal: AbortSignal,
  readOn: ReadOn,
  before: readonly Refused[],
): Promise<RestRead> {
  const work = async (endpoint: Endpoint) => ({ endpoint, read: await readOn(endpoint, rest) })
  if (before.length === 0) return pool.serve(hour, signal, work)
  try {
    // The hour stays with the endpoint that read the most of it.
    return await pool.serve({ ...hour }, signal, work, before)
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error
    return { read: rest.map(() => error) }
  }
}
