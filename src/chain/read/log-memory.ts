import type { Hex, LogFilter } from '../../model/block.ts'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { EndpointWatch } from '../endpoint/endpoint-watch.ts'
import { logSourcesRememberedMax } from './limits.ts'

/** Facts learnt from reading logs of a chain. They save questions: an answer that is known is not asked for again. */
export class LogMemory {
  /** Endpoints that do not serve `eth_getBlockReceipts`. */
  readonly withoutBlockReceipts = new WeakSet<Endpoint>()
  readonly #watch: EndpointWatch | undefined
  /** The lowest block at which a contract is known to exist. */
  readonly #existsFrom = new Map<string, bigint>()
  /** The lowest block whose receipts an endpoint is known to have. */
  readonly #receiptsFrom = new WeakMap<Endpoint, bigint>()
  readonly #hadLogs = new Map<string, boolean>()
  readonly #remarks = new WeakMap<Endpoint, Set<string>>()

  constructor(watch?: EndpointWatch) {
    this.#watch = watch
  }

  /** Whether a contract is known to exist at a block: it existed at that one, or at an earlier one. */
  exists(address: Hex, number: bigint): boolean {
    return isFrom(this.#existsFrom.get(address.toLowerCase()), number)
  }

  /** Records that a contract exists at a block. */
  sawContract(address: Hex, number: bigint): void {
    const key = address.toLowerCase()
    if (!this.exists(address, number)) keep(this.#existsFrom, key, number)
  }

  /** Whether an endpoint is known to have the receipts of a block: it had those of that one, or of an earlier one. */
  hasReceipts(endpoint: Endpoint, number: bigint): boolean {
    return isFrom(this.#receiptsFrom.get(endpoint), number)
  }

  /** Records that an endpoint has the receipts of a block. */
  sawReceipts(endpoint: Endpoint, number: bigint): void {
    if (!this.hasReceipts(endpoint, number)) this.#receiptsFrom.set(endpoint, number)
  }

  /** Whether an hour without logs of a filter is news: the hour read before had some, or none was read yet. */
  isNewlyEmpty(filter: LogFilter): boolean {
    return this.#hadLogs.get(JSON.stringify(filter)) ?? true
  }

  /** Records whether an hour had logs of a filter. */
  sawHour(filter: LogFilter, hasLogs: boolean): void {
    keep(this.#hadLogs, JSON.stringify(filter), hasLogs)
  }

  /** Reports a mistake of an endpoint that does no harm, once. */
  remark(endpoint: Endpoint, text: string): void {
    const said = this.#remarks.get(endpoint) ?? new Set()
    if (said.has(text)) return
    this.#remarks.set(endpoint, said.add(text))
    this.#watch?.remarked(endpoint, text)
  }
}

function isFrom(from: bigint | undefined, number: bigint): boolean {
  return from !== undefined && from <= number
}

function keep<V>(map: Map<string, V>, key: string, value: V): void {
  if (map.size >= logSourcesRememberedMax && !map.has(key)) map.clear()
  map.set(key, value)
}
