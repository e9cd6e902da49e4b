import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { ChainReader } from '../reads.ts'
import type { OpenChainReader } from './reader.ts'

/** Dependencies of `ElsewhereReader`. */
export interface ElsewhereDeps {
  /** Name of the chain in the configuration. */
  readonly name: string
  /** The readers whose endpoints are not asked: the first is the chain's own. */
  readonly others: readonly Pick<OpenChainReader, 'id' | 'settleMs' | 'servedBy' | 'health'>[]
  /** Opens a reader on the chain's endpoints of other hosts; `undefined` when there is none. */
  readonly open: (hosts: ReadonlySet<string>) => OpenChainReader | undefined
}

/**
 * Reads a chain from an endpoint of another host than the one that served the hour, for a second opinion. Endpoints in
 * quarantine are not asked.
 */
export class ElsewhereReader implements ChainReader {
  readonly id: number
  readonly settleMs: number
  readonly #deps: ElsewhereDeps
  /** By the hosts that are left out. */
  readonly #opened = new Map<string, OpenChainReader>()

  constructor(deps: ElsewhereDeps) {
    const [own] = deps.others
    this.id = own?.id ?? 0
    this.settleMs = own?.settleMs ?? 0
    this.#deps = deps
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
    return [...this.#opened.values()].map(reader => reader.servedBy(hour)).find(host => host !== undefined)
  }

  health(): ReturnType<OpenChainReader['health']> {
    return []
  }

  close(): void {
    for (const reader of this.#opened.values()) reader.close()
  }

  async #on<T>(hour: Hour, work: (reader: OpenChainReader) => Promise<T>): Promise<T> {
    const { name, others } = this.#deps
    const served = others.flatMap(reader => reader.servedBy(hour) ?? [])
    const quarantined = others.flatMap(reader => reader.health().filter(({ state }) => state === 'quarantine'))
    const hosts = new Set([...served, ...quarantined.map(({ host }) => host)])
    const reader = this.#readerWithout(hosts)
    if (reader) return work(reader)
    throw new Fault('chain-unreachable', `${name} has no endpoint of another host than ${[...hosts].join(', ')}`, {
      fix: 'add one under rpc',
    })
  }

  #readerWithout(hosts: ReadonlySet<string>): OpenChainReader | undefined {
    const key = [...hosts].sort().join(' ')
    const opened = this.#opened.get(key) ?? this.#deps.open(hosts)
    if (opened) this.#opened.set(key, opened)
    return opened
  }
}
