import { setImmediate } from 'node:timers/promises'
import { Fault } from '../model/fault.ts'
import { type Hour, hourAfter } from '../model/hour.ts'
import type { Time } from '../time.ts'
import { readAt } from './aggregate-reads.ts'
import { findAsOf } from './as-of-search.ts'
import {
  allFailed,
  beforeFirstBlock,
  chainBehind,
  notAskable,
  secondsText,
  stoppedWhile,
  unexpected,
} from './chain-faults.ts'
import type { Endpoint } from './endpoint.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { type EndpointPool, endpointPool, type PassedOver } from './endpoint-pool.ts'
import { type Gathering, type HourState, Hours, type Proven } from './hours.ts'
import { headAgeMsMax } from './limits.ts'
import { readLogs } from './log-reads.ts'
import type { AsOfBlock, ChainReader, LogFilter, RawLog, ReadAnswer, ReadRequest } from './reads.ts'
import { isAskable } from './shapes.ts'
import { SharedWork } from './shared-work.ts'

/** Which chain is read, and where. */
export interface ChainReaderParts {
  /** The chain's name in the configuration. */
  readonly name: string
  /** What `eth_chainId` must answer. */
  readonly id: number
  /** URLs (http, https, ws, wss) or IPC paths, the first is preferred. Secrets: they appear in no Fault. */
  readonly endpoints: readonly string[]
  readonly time: Time
  /** Told when an endpoint could not serve and another is asked instead. */
  readonly passedOver?: PassedOver
}

/** A reader with its connections. */
export interface OpenChainReader extends ChainReader {
  /** Closes the connections that stay open; what is under way fails. */
  close(): void
}

/** Reads one chain as of hours. @throws Fault `config` for an endpoint that is neither URL nor path */
export function createChainReader(parts: ChainReaderParts): OpenChainReader {
  return new HourlyReader(parts)
}

class HourlyReader implements OpenChainReader {
  readonly #name: string
  readonly #time: Time
  readonly #pool: EndpointPool
  readonly #hours = new Hours()

  constructor({ name, id, endpoints, time, passedOver = () => {} }: ChainReaderParts) {
    this.#name = name
    this.#time = time
    this.#pool = endpointPool({ name, id }, endpoints, time, passedOver)
  }

  block(hour: Hour, signal: AbortSignal): Promise<AsOfBlock> {
    return this.#faulted(hour, signal, state => this.#asOf(state, signal))
  }

  read(hour: Hour, requests: readonly ReadRequest[], signal: AbortSignal): Promise<readonly ReadAnswer[]> {
    return this.#faulted(hour, signal, state => this.#read(state, requests, signal))
  }

  logs(hour: Hour, filter: LogFilter, signal: AbortSignal): Promise<readonly RawLog[]> {
    return this.#faulted(hour, signal, async state => {
      const to = await this.#asOf(state, signal)
      const from = await this.#firstBlockAfter(hourAfter(hour, -1), signal)
      return this.#pool.serve(state, signal, endpoint => readLogs(endpoint, from, to, filter, signal))
    })
  }

  close(): void {
    this.#pool.close()
  }

  async #asOf(state: HourState, signal: AbortSignal): Promise<AsOfBlock> {
    if (!state.search?.isUsable) {
      state.search = new SharedWork(async shared => {
        state.proven = await this.#pool.serve(state, shared, endpoint => this.#findOn(endpoint, state, shared))
        return state.proven
      })
    }
    const { number, hash, timestampSeconds } = (await state.search.join(signal)).block
    return { number, hash, timestampSeconds }
  }

  async #findOn(endpoint: Endpoint, { hour }: HourState, signal: AbortSignal): Promise<Proven> {
    const answer = await findAsOf(endpoint, hour / 1000, this.#hours.around(hour), signal)
    if (answer.kind === 'found') return answer
    if (answer.kind === 'before-first') throw beforeFirstBlock(this.#name, hour, answer.first)
    const { number, timestampSeconds } = answer.head
    if (this.#time.nowMs() - timestampSeconds * 1000 <= headAgeMsMax) throw chainBehind(this.#name, hour, answer.head)
    const head = `its last block ${number} is of ${secondsText(timestampSeconds)}`
    throw new EndpointFailure(endpoint.host, `has no block past the hour: ${head}`, 'behind')
  }

  async #read(state: HourState, requests: readonly ReadRequest[], signal: AbortSignal): Promise<ReadAnswer[]> {
    if (requests.length === 0) return []
    const odd = requests.find(request => !isAskable(request))
    if (odd) throw notAskable(this.#name, odd)
    if (!state.gathering?.work.isUsable) state.gathering = this.#gather(state)
    const { gathering } = state
    const places = requests.map(request => placeOf(gathering, request))
    const outcomes = await gathering.work.join(signal)
    return places.map(place => {
      const outcome = outcomes[place]
      if (outcome && !(outcome instanceof EndpointFailure)) return outcome
      throw allFailed(this.#name, outcome ? [outcome] : [])
    })
  }

  /** Opens a gathering: whatever is asked until its block is known and the event loop has turned travels with it. */
  #gather(state: HourState): Gathering {
    const close = () => {
      if (state.gathering === gathering) delete state.gathering
    }
    const travel = async (signal: AbortSignal) => {
      const block = await this.#asOf(state, signal)
      await setImmediate()
      close()
      return this.#pool.serve(state, signal, endpoint => readAt(endpoint, block, gathering.requests, signal))
    }
    const work = new SharedWork(async signal => {
      try {
        return await travel(signal)
      } catch (error) {
        // Perhaps a reorg took the block: the next try searches anew.
        if (error instanceof Fault) this.#hours.forget(state.hour)
        throw error
      } finally {
        close()
      }
    })
    const gathering: Gathering = { requests: [], places: new Map(), work }
    return gathering
  }

  async #firstBlockAfter(hour: Hour, signal: AbortSignal): Promise<bigint> {
    try {
      return (await this.#asOf(this.#hours.of(hour), signal)).number + 1n
    } catch (error) {
      if (error instanceof Fault && error.code === 'chain-before-first-block') return 0n
      throw error
    }
  }

  /** Every rejection is a Fault; an abort names the endpoint that was waited for. */
  async #faulted<T>(hour: Hour, signal: AbortSignal, work: (state: HourState) => Promise<T>): Promise<T> {
    const state = this.#hours.of(hour)
    try {
      return await work(state)
    } catch (error) {
      if (error instanceof Fault) throw error
      if (!signal.aborted) throw unexpected(this.#name, error)
      throw stoppedWhile(this.#name, state.endpoint?.host ?? this.#name, signal.reason)
    }
  }
}

/** Where a request stands among those gathered; one that is there already is not asked twice. */
function placeOf({ requests, places }: Gathering, request: ReadRequest): number {
  const key = request.kind === 'call' ? `${request.to}:${request.input}` : request.address
  const place = places.get(key.toLowerCase()) ?? requests.push(request) - 1
  places.set(key.toLowerCase(), place)
  return place
}
