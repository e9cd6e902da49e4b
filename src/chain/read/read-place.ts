import type { Endpoint } from '../endpoint/endpoint.ts'
import { EndpointFailure } from '../endpoint/endpoint-failure.ts'
import { hexOf } from '../shapes.ts'
import { callTogether } from './aggregate-call.ts'
import { type ReadTarget, requireKept, requireState } from './block-pin.ts'
import type { ReadMemory, ReadScope } from './read-memory.ts'
import { callAt } from './single-reads.ts'

/** Outcome of an empty aggregate; `odd`: the node answers, but something else. */
type Together = 'answered' | 'failed' | 'odd'

/**
 * The endpoint and block of reads, with what is known of the chain. Tells a node that fails at one read from one that
 * fails at all, by a read that cannot fail, made at most once.
 */
export class ReadPlace implements ReadScope {
  readonly endpoint: Endpoint
  readonly block: ReadTarget
  readonly memory: ReadMemory
  readonly signal: AbortSignal
  #state: Promise<EndpointFailure | undefined> | undefined
  #together: Promise<Together> | undefined
  #kept: Promise<void> | undefined

  constructor(endpoint: Endpoint, block: ReadTarget, memory: ReadMemory, signal: AbortSignal) {
    this.endpoint = endpoint
    this.block = block
    this.memory = memory
    this.signal = signal
  }

  /**
   * Whether an empty aggregate is answered. If it is an error, an empty read must be answered.
   *
   * @throws EndpointFailure the node's failure when neither is, or when the aggregate's answer is wrong: a node that
   * answers one call wrongly is not trusted with another
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

  /** Checks that the block's state is served. @throws EndpointFailure when an empty read is not answered either */
  async requireState(): Promise<void> {
    this.#state ??= this.#askState()
    const missing = await this.#state
    if (missing) throw missing
  }

  /** As the function of that name, asked at most once. @throws StateMissing */
  requireKept(): Promise<void> {
    this.#kept ??= requireKept(this.endpoint, this.block, this.signal)
    return this.#kept
  }

  async #asksTogether(): Promise<Together> {
    const aggregate = await callTogether(this, []).catch(passed)
    if (aggregate instanceof EndpointFailure) return 'failed'
    if (aggregate.kind === 'answers') return 'answered'
    return aggregate.kind === 'absent' || (aggregate.kind === 'failed' && !aggregate.isError) ? 'odd' : 'failed'
  }

  async #askState(): Promise<EndpointFailure | undefined> {
    return await requireState(this.endpoint, this.block, this.signal).then(() => undefined, passed)
  }

  /**
   * Whether Multicall3 is absent, by its code: an empty answer is not enough, as it is remembered for all earlier blocks.
   *
   * @returns `there` when there is code, which should have answered; `unknown` when the node does not say
   */
  async codeOfMulticall(): Promise<'absent' | 'there' | 'unknown'> {
    const { endpoint, block, memory, signal } = this
    const call = { method: 'eth_getCode', params: [memory.multicall, hexOf(block.number)] }
    const [code] = await callAt(endpoint, block, [call], signal)
    if (code?.kind !== 'result') return 'unknown'
    return code.result === '0x' ? 'absent' : 'there'
  }
}

/** Returns a failure of the endpoint; throws any other error. */
function passed(error: unknown): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  throw error
}
