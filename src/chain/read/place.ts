import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { hexOf } from '../shapes.ts'
import { callTogether, type ReadTarget } from './aggregate-call.ts'
import { requireState } from './block-pin.ts'
import { multicall3Address } from './multicall.ts'
import type { ReadMemory } from './read-memory.ts'
import { callAt } from './single-reads.ts'

/** What an aggregate of nothing comes to; `odd`: the node answers, but something else. */
type Together = 'answered' | 'failed' | 'odd'

/**
 * Where reads are made, and what is known of the chain. It tells a node that fails at a read from one that fails at all
 * of them, by asking for what cannot fail; that is asked at most once.
 */
export class ReadPlace {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly memory: ReadMemory
  readonly signal: AbortSignal
  #state: Promise<EndpointFailure | undefined> | undefined
  #together: Promise<Together> | undefined

  constructor(endpoint: Endpoint, block: ReadTarget, memory: ReadMemory, signal: AbortSignal) {
    this.endpoint = endpoint
    this.block = block
    this.memory = memory
    this.signal = signal
  }

  /**
   * Whether an aggregate of nothing is answered; if it is an error, a read of nothing is answered, though.
   *
   * @throws EndpointFailure what the node failed with, when neither is, or the aggregate is answered by what is none: who
   *   answers something else for one call is not believed for another
   */
  async servesTogether(failure: EndpointFailure): Promise<boolean> {
    this.#together ??= this.#asksTogether()
    this.#state ??= this.#askState()
    const [together, missing] = await Promise.all([this.#together, this.#state])
    if (together === 'answered') return true
    if (missing) throw failure.kind === 'refused' ? missing : failure
    if (together === 'odd') throw failure
    return false
  }

  /** @throws EndpointFailure when a read of nothing is not answered either */
  async requireState(): Promise<void> {
    this.#state ??= this.#askState()
    const missing = await this.#state
    if (missing) throw missing
  }

  async #asksTogether(): Promise<Together> {
    const { endpoint, block, memory, signal } = this
    const aggregate = await callTogether(endpoint, block, memory.inputs.of([]), memory, signal).catch(passed)
    if (aggregate instanceof EndpointFailure) return 'failed'
    if (aggregate.kind === 'answers') return 'answered'
    return aggregate.kind === 'absent' || (aggregate.kind === 'failed' && !aggregate.isError) ? 'odd' : 'failed'
  }

  async #askState(): Promise<EndpointFailure | undefined> {
    return await requireState(this.endpoint, this.block, this.signal).then(() => undefined, passed)
  }

  /**
   * Absence is remembered for all blocks before, so it takes more than an empty answer: there is no code.
   *
   * @returns whether reads one by one stand for it: not where there is code, which must have answered
   */
  async confirmAbsent(): Promise<boolean> {
    const { endpoint, block, memory, signal } = this
    const call = { method: 'eth_getCode', params: [multicall3Address, hexOf(block.number)] }
    const [code] = await callAt(endpoint, block, [call], signal)
    if (code?.kind !== 'result') return true
    if (code.result !== '0x') return false
    memory.sawAbsent(block.number)
    return true
  }
}

/** A failure of the endpoint as a value. */
function passed(error: unknown): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  throw error
}
