import type { Hour } from '../model/hour.ts'
import type { Place } from './mistakes/mistakes.ts'

/** Where a secret is kept; its value is read when it is needed and is never part of the configuration. */
export type SecretRef =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'env'; readonly name: string }

/** A secret that the file asks for, and where. */
export type PlacedSecret = SecretRef & { readonly place: Place }

/** What an operator knows of a node's limits; what is absent is found out from its answers. */
export interface EndpointLimits {
  readonly callsPerSecondMax?: number
  /** In one request. */
  readonly batchCallsMax?: number
  /** Blocks of one `eth_getLogs`, at most. */
  readonly logBlocksMax?: number
}

/**
 * An RPC endpoint: `http(s)://`, `ws(s)://`, or the absolute path of an IPC socket. Its URL often holds a key: it is
 * treated as a secret even when it is written in the file.
 */
export type EndpointRef = ({ readonly kind: 'url'; readonly url: string } | SecretRef) &
  EndpointLimits & { readonly place: Place; readonly headers?: Readonly<Record<string, HeaderValue>> }

/** What a header of a request holds, or where that is kept. */
export type HeaderValue = { readonly kind: 'text'; readonly text: string } | SecretRef

/** A chain, and where it is read. */
export interface ChainConfig {
  readonly name: string
  /** Chain id as answered by `eth_chainId`. */
  readonly id: number
  /** At least one; the first is preferred. */
  readonly rpc: readonly EndpointRef[]
  /** How long after an hour its as-of block counts as final, in milliseconds. */
  readonly settleMs: number
}

/** One use of a collector by a protocol. */
export interface CollectorConfig {
  /** `{protocol id}/{own id}`; the own id defaults to the collector's name. Unique. */
  readonly id: string
  readonly protocolId: string
  /** As written: a name in `collectors/`, a path relative to the configuration file, or an npm package. */
  readonly use: string
  /** As written; parsed by the collector's own schema when it is loaded. */
  readonly options: unknown
  /** First hour that is expected of it; when absent, the hour in which the daemon first runs it. */
  readonly since?: Hour
  readonly place: Place
  /**
   * The place of a path inside `options`, for errors that the collector's own schema finds; the nearest existing part.
   * Of its value, unless the key is asked for.
   */
  placeOf(path: readonly PropertyKey[], at?: 'key' | 'value'): Place
}

/** A protocol, as it is registered with the service, and what collects for it. */
export interface ProtocolConfig {
  readonly id: string
  readonly name: string
  readonly logo?: string
  readonly chains?: readonly string[]
  /** Overrides the service's key. */
  readonly key?: PlacedSecret
  /** Register the protocol by itself when the service does not know it. Default: true with the embedded service. */
  readonly register: boolean
  readonly collectors: readonly CollectorConfig[]
  readonly place: Place
}

export type ServiceConfig =
  | { readonly kind: 'embedded' }
  /** `url` has no trailing slash. The key may be absent where every protocol has its own. */
  | { readonly kind: 'remote'; readonly url: string; readonly key?: PlacedSecret }

/** Lines below this level are not logged. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The whole configuration, parsed once and frozen. Paths are absolute. */
export interface Config {
  readonly file: string
  readonly service: ServiceConfig
  /** Folder of the outbox and all that is kept: with the embedded service, the folder `embedded` in it. */
  readonly data: string
  readonly collect: {
    readonly deadlineMs: number
    /** How far back hours missed in downtime are caught up; less than `outbox.keepMs`. */
    readonly catchUpMs: number
  }
  readonly delivery: { readonly timeoutMs: number; readonly inFlight: number; readonly pacePerSecond: number }
  /** How long settled metrics stay in the outbox. */
  readonly outbox: { readonly keepMs: number }
  readonly status: {
    readonly host: string
    readonly port: number
    /** Names that the status server answers to beside IP addresses; none: every name, unless it listens on loopback. */
    readonly hosts: readonly string[]
  }
  readonly log: { readonly level: LogLevel }
  readonly chains: readonly ChainConfig[]
  readonly protocols: readonly ProtocolConfig[]
}

/** A mistake in a collector's options, found by its own schema; `path` counts from the options' root. */
export interface OptionMistake {
  readonly path: readonly (string | number)[]
  readonly message: string
  /** Of an unknown option: those that there are. */
  readonly known?: readonly string[]
}
