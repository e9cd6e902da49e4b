import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { hoursRememberedMax } from '../look-up/limits.ts'
import type { ChainReader } from '../reads.ts'
import type { OpenChainReader } from './reader.ts'

/**
 * Reads a chain from an endpoint of another host than the ones that served the hour so far, for one more opinion.
 * Endpoints in quarantine are not asked.
 */
export class ElsewhereReader implements ChainReader {
  readonly id: number
  readonly settleMs: number
  readonly #name: string
  readonly #own: OpenChainReader
  readonly #before: readonly Pick<ChainReader, 'servedBy'>[]
  /** By the hosts that are left out. */
  readonly #readers = new Map<string, OpenChainReader>()
  /** The reader that was asked last for an hour. */
  readonly #asked = new Map<Hour, OpenChainReader>()

  /** @param own the chain's own reader @param before the readers whose hosts are not asked, besides its own */
  constructor(name: string, own: OpenChainReader, before: readonly Pick<ChainReader, 'servedBy'>[]) {
    this.id = own.id
    this.settleMs = own.settleMs
    this.#name = name
    this.#own = own
    this.#before = [own, ...before]
  }

  readonly block: ChainReader['block'] = (hour, ...rest) => this.#on(hour, reader => reader.block(hour, ...rest))
  readonly read: ChainReader['read'] = (hour, ...rest) => this.#on(hour, reader => reader.read(hour, ...rest))
  readonly logs: ChainReader['logs'] = (hour, ...rest) => this.#on(hour, reader => reader.logs(hour, ...rest))
  readonly recheck: ChainReader['recheck'] = (hour, ...rest) => this.#on(hour, reader => reader.recheck(hour, ...rest))

  get nextLookUp(): Promise<void> {
    return Promise.resolve()
  }

  /** Host of the endpoint that served an hour here; `undefined` while none has. */
  servedBy(hour: Hour): string | undefined {
    return this.#asked.get(hour)?.servedBy(hour)
  }

  async #on<T>(hour: Hour, work: (reader: OpenChainReader) => Promise<T>): Promise<T> {
    const served = this.#before.flatMap(reader => reader.servedBy?.(hour) ?? [])
    const quarantined = this.#own.health().filter(({ state }) => state === 'quarantine')
    const hosts = new Set([...served, ...quarantined.map(({ host }) => host)])
    const reader = this.#readerWithout(hosts)
    if (!reader) {
      const text = `${this.#name} has no endpoint of another host than ${[...hosts].join(', ')}`
      throw new Fault('chain-unreachable', text, { facts: { chain: this.#name }, fix: 'add one under rpc' })
    }
    this.#remember(hour, reader)
    return work(reader)
  }

  #remember(hour: Hour, reader: OpenChainReader): void {
    this.#asked.delete(hour)
    this.#asked.set(hour, reader)
    const [oldest] = this.#asked.keys()
    if (this.#asked.size > hoursRememberedMax && oldest !== undefined) this.#asked.delete(oldest)
  }

  /** An endpoint whose address is known later is asked from then on. */
  #readerWithout(hosts: ReadonlySet<string>): OpenChainReader | undefined {
    const key = [...hosts].sort().join(' ')
    const reader = this.#readers.get(key) ?? this.#own.without(hosts)
    if (reader) this.#readers.set(key, reader)
    return reader
  }
}
