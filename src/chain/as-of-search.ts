import { type Header, type Known, nextStep, type Step } from './as-of.ts'
import type { Endpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { hexOf, parseHeader } from './shapes.ts'

/** The as-of block of an hour with the block that proves it, or why there is none. */
export type AsOfAnswer = Extract<Step, { kind: 'found' | 'before-first' | 'past-head' }>

/** More than any search takes: the range halves with each round. */
const roundsMax = 100

/**
 * Searches on one endpoint.
 *
 * @param seeds headers from earlier searches; when they contradict the chain they are forgotten and it starts again
 * @throws EndpointFailure
 */
export async function findAsOf(
  endpoint: Endpoint,
  hourSeconds: number,
  seeds: readonly Header[],
  signal: AbortSignal,
): Promise<AsOfAnswer> {
  let known: Known = { headers: seeds }
  for (let round = 0; round < roundsMax; round++) {
    const step = nextStep(known, hourSeconds)
    if (step.kind === 'ask') known = await ask(endpoint, known, step.numbers, signal)
    else if (step.kind === 'contradiction') known = { headers: [] }
    else return step
  }
  throw new EndpointFailure(endpoint.host, 'answered headers that are not of one chain')
}

async function ask(
  endpoint: Endpoint,
  known: Known,
  numbers: readonly (bigint | 'latest')[],
  signal: AbortSignal,
): Promise<Known> {
  const headers = await readHeaders(endpoint, numbers, signal)
  const latest = headers[numbers.indexOf('latest')] ?? known.head
  return { headers: [...known.headers, ...headers], ...(latest && { head: latest }) }
}

/** Headers in the order of the numbers, in one round trip. A block the node does not have is its failure. */
export async function readHeaders(
  endpoint: Endpoint,
  numbers: readonly (bigint | 'latest')[],
  signal: AbortSignal,
): Promise<Header[]> {
  const answers = await endpoint.call(numbers.map(headerCall), signal)
  return numbers.map((number, index) => {
    const answer = answers[index]
    if (answer?.kind === 'error') throw endpoint.failure(answer.error)
    if (answer?.result === null) throw new EndpointFailure(endpoint.host, `does not have block ${number}`)
    const header = parseHeader(answer?.result)
    if (!header || (number !== 'latest' && header.number !== number)) {
      throw new EndpointFailure(endpoint.host, `answered something else than the header of block ${number}`)
    }
    return header
  })
}

/** The call that reads a block’s header. */
export function headerCall(number: bigint | 'latest') {
  return { method: 'eth_getBlockByNumber', params: [number === 'latest' ? number : hexOf(number), false] }
}
