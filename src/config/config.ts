import { dirname, resolve } from 'node:path'
import { Fault } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { DayHours } from '../model/rhythm.ts'
import { lineOf, type Place, type PlacedMistake, shortest } from './mistakes.ts'

/** Parts of a configuration with mistakes that could be read. */
type ReadNevertheless = Partial<Pick<ConfigError, 'drafts' | 'includes'>>

/** A configuration that cannot be used: all of its mistakes, at least one, in the order of its files. */
export class ConfigError extends Fault {
  readonly mistakes: readonly PlacedMistake[]
  /** Collectors whose options can be checked although the file has mistakes. */
  readonly drafts: readonly CollectorConfig[]
  /** Files that it includes, as far as that could be read: a mistake may be in one of them. */
  readonly includes: readonly Include[]

  constructor(file: string, mistakes: readonly PlacedMistake[], { drafts = [], includes = [] }: ReadNevertheless = {}) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    const first = mistakes[0] ? `: ${lineOf(mistakes[0])}` : ''
    const fix = mistakes[0]?.fix
    super('config', `${count} in the configuration${mistakes.length > 1 ? ', the first' : ''}${first}`, {
      facts: { file: shortest(file) },
      ...(fix === undefined ? {} : { fix }),
    })
    this.mistakes = mistakes
    this.drafts = drafts
    this.includes = includes
  }
}

/** A secret that reports to people need, and its role. */
interface OutgoingSecret {
  /** Its role, for messages: `the address of the heartbeat`. */
  readonly what: string
  readonly ref: PlacedSecret
  /** `address`: it is posted to. */
  readonly kind: 'address' | 'token' | 'chat'
}

/** The secrets that the heartbeat and notifications need. */
function outgoingSecrets({ heartbeat, notify }: Pick<Config, 'heartbeat' | 'notify'>): OutgoingSecret[] {
  return [
    ...(heartbeat ? [{ what: 'the address of the heartbeat', ref: heartbeat.url, kind: 'address' } as const] : []),
    ...notify.flatMap((receiver, index): OutgoingSecret[] => {
      const name = `notify[${index}]`
      if (receiver.kind !== 'telegram') {
        return [{ what: `the ${receiver.kind} address of ${name}`, ref: receiver.url, kind: 'address' }]
      }
      const { token, chat } = receiver
      const chatRef = chat.kind === 'text' ? [] : [{ ...chat, place: token.place }]
      return [
        { what: `the token of ${name}`, ref: token, kind: 'token' },
        ...chatRef.map(ref => ({ what: `the chat of ${name}`, ref, kind: 'chat' as const })),
      ]
    }),
  ]
}

/** A secret that a configuration refers to, but for options of collectors. */
export interface ConfigSecret {
  /** Its role, for messages: `the key of the service`. */
  readonly what: string
  readonly ref: SecretRef
  readonly place: Place
  /** Its use, which says what it must be. A `word` is a key or a token. */
  readonly use:
    | { readonly kind: 'word' | 'chat' | 'database' | 'post' | 'proxy' | 'certificate-key' }
    | { readonly kind: 'node'; readonly chain: string }
    | { readonly kind: 'header'; readonly header: string }
  /** Present for the key of a protocol, which an included file may have. */
  readonly isOfProtocol?: true
}

/** All secrets that a configuration refers to, but for options of collectors. */
export function configSecrets(config: Config): ConfigSecret[] {
  const { service, proxy, data, chains, protocols, heartbeat, notify } = config
  const secret = (what: string, ref: PlacedSecret, use: ConfigSecret['use']): ConfigSecret => {
    return { what, ref, place: ref.place, use }
  }
  const word = { kind: 'word' } as const
  return [
    ...(data.kind === 'postgres' ? [secret('the address of the database', data.address, { kind: 'database' })] : []),
    ...(proxy && proxy.kind !== 'url' ? [secret('proxy', proxy, { kind: 'proxy' })] : []),
    ...(service.kind === 'remote' ? secretsOfService(service) : []),
    ...protocols.flatMap(({ id, key }): ConfigSecret[] =>
      key ? [{ ...secret(`the key of ${id}`, key, word), isOfProtocol: true }] : [],
    ),
    ...chains.flatMap(chain => chain.rpc.flatMap(node => secretsOfNode(chain, node))),
    ...outgoingSecrets({ ...(heartbeat && { heartbeat }), notify }).map(({ what, ref, kind }) =>
      secret(what, ref, kind === 'address' ? { kind: 'post' } : kind === 'chat' ? { kind } : word),
    ),
  ]
}

function secretsOfService({ key, headers, certificate }: Extract<ServiceConfig, { kind: 'remote' }>) {
  const [purpose, isKey] = ['the key of the certificate for the service', { kind: 'certificate-key' }] as const
  return [
    ...(key ? [{ what: 'the key of the service', ref: key, place: key.place, use: { kind: 'word' } } as const] : []),
    ...(certificate ? [{ what: purpose, ref: certificate.key, place: certificate.key.place, use: isKey }] : []),
    ...(headers ? secretsOfHeaders('the service', headers) : []),
  ]
}

function secretsOfHeaders(what: string, { headers, place }: PlacedHeaders): ConfigSecret[] {
  return Object.entries(headers).flatMap(([header, ref]): ConfigSecret[] =>
    ref.kind === 'text' ? [] : [{ what, ref, place, use: { kind: 'header', header } }],
  )
}

function secretsOfNode({ name }: ChainConfig, node: EndpointRef): ConfigSecret[] {
  const { headers = {}, place } = node
  const address: ConfigSecret[] =
    node.kind === 'url'
      ? []
      : [{ what: `the address of a node of ${name}`, ref: node, place, use: { kind: 'node', chain: name } }]
  return [...address, ...secretsOfHeaders(`a node of ${name}`, { headers, place })]
}

/** All collectors of a configuration, those that read prices and lists first. */
export function allCollectors(config: Pick<Config, 'prices' | 'lists' | 'protocols'>): CollectorConfig[] {
  const { prices, lists, protocols } = config
  return [...[...prices, ...lists].map(each => each.collector), ...protocolCollectors({ protocols })]
}

/** The address of the service, equal for all configurations that send to it: `https://metrics.example/api`, or `embedded`. */
export function serviceAddress({ service }: Pick<Config, 'service'>): string {
  return service.kind === 'remote' ? service.url : service.kind
}

/** The collectors of all protocols. */
export function protocolCollectors({ protocols }: Pick<Config, 'protocols'>): CollectorConfig[] {
  return protocols.flatMap(({ collectors }) => collectors)
}

/** Id of a secret's place, for names of receivers: equal for equal places. */
export function placeName(ref: SecretRef): string {
  return ref.kind === 'env' ? ref.name : ref.path
}

/** A secret that a collector's options refer to, and its path in them. */
export interface OptionSecret {
  readonly ref: SecretRef
  readonly path: OptionMistake['path']
}

/**
 * Finds all maps in a collector's options that have the form of a secret's place, `{ env: NAME }` or `{ file: PATH }`
 * and nothing else. The collector's schema decides whether they are secrets.
 */
export function secretsWritten(options: unknown, configFile: string, path: OptionSecret['path'] = []): OptionSecret[] {
  if (typeof options !== 'object' || options === null) return []
  if (Array.isArray(options)) {
    return options.flatMap((part, index) => secretsWritten(part, configFile, [...path, index]))
  }
  const ref = refOf(options, configFile)
  if (ref) return [{ ref, path }]
  return Object.entries(options).flatMap(([name, part]) => secretsWritten(part, configFile, [...path, name]))
}

function refOf(map: object, configFile: string): SecretRef | undefined {
  const [entry, ...others] = Object.entries(map)
  if (!entry || others.length > 0) return undefined
  const [kind, location]: [string, unknown] = entry
  if (typeof location !== 'string') return undefined
  if (kind === 'env') return { kind, name: location }
  return kind === 'file' ? { kind, path: resolve(dirname(configFile), location) } : undefined
}

/** Id of a secret's place: equal for equal places, different for others. */
export function secretId(ref: SecretRef): string {
  return ref.kind === 'env' ? `env ${ref.name}` : `file ${ref.path}`
}

/** Where a secret is kept. Its value is read when needed and is never part of the configuration. */
export type SecretRef =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'env'; readonly name: string }

/** A secret that the file refers to, and the place of the reference. */
export type PlacedSecret = SecretRef & { readonly place: Place }

/** Known limits of an endpoint; absent ones are discovered. */
interface EndpointLimits {
  /** Calls a second, at most. */
  readonly callsPerSecondMax?: number
  /** Calls in one request, at most. */
  readonly batchCallsMax?: number
  /** Blocks of one `eth_getLogs`, at most. */
  readonly logBlocksMax?: number
}

/**
 * An RPC endpoint: `http(s)://`, `ws(s)://`, or the absolute path of an IPC socket. The URL often holds a key, so it is
 * treated as a secret even when it is written in the file.
 */
export type EndpointRef = ({ readonly kind: 'url'; readonly url: string } | SecretRef) &
  EndpointLimits & { readonly place: Place; readonly headers?: Readonly<Record<string, HeaderValue>> }

/** Value of a header, or where it is kept. */
export type HeaderValue = { readonly kind: 'text'; readonly text: string } | SecretRef

/** A chain and its endpoints. */
export interface ChainConfig {
  /** Its key under `chains:`. */
  readonly name: string
  /** Chain id as answered by `eth_chainId`. */
  readonly id: number
  /** At least one; the first is preferred. */
  readonly rpc: readonly EndpointRef[]
  /** Delay after an hour until its as-of block counts as final, in milliseconds. */
  readonly settleMs: number
  /** Number of hosts that must give the same values. Default: 1, no other host is asked but about a jump. */
  readonly agree?: number
  /** Address of Multicall3. Default: the usual one. */
  readonly multicall?: `0x${string}`
}

/** One use of a collector by a protocol. */
export interface CollectorConfig {
  /** `{protocol id}/{own id}`, unique. Default of the own id: the collector's name. */
  readonly id: string
  /** Id of the protocol that its metrics belong to. */
  readonly protocolId: string
  /** As written: a name in `collectors/`, a path relative to the file of `place`, or an npm package. */
  readonly use: string
  /** As written; parsed by the collector's own schema when it is loaded. */
  readonly options: unknown
  /** First expected hour. Default: the hour in which the daemon first runs it. */
  readonly since?: Hour
  /** Hours of the day that are expected of it. Default: all. */
  readonly at?: DayHours
  /** Time limit of a run for one hour, in milliseconds. Default: `collect.deadlineMs`. */
  readonly deadlineMs?: number
  /** Name of the daemon that runs it, in a fleet. Default: each one that works its lane; for `host`, the one that ran it first. */
  readonly machine?: string
  readonly place: Place
  /**
   * The place of a path inside `options`, or of its nearest existing part, for mistakes found by the collector's
   * schema. Default: the place of the value, not of the key.
   */
  placeOf(path: readonly PropertyKey[], at?: 'key' | 'value'): Place
  /** A path inside `options`, as a mistake names it. Default: `options` and the path. */
  readonly pathOf?: (path: readonly PropertyKey[]) => readonly PropertyKey[]
}

/** A price in US dollars by its name, the prices of the tokens of a chain, or a list of addresses by its name. */
export interface NamedConfig {
  /** Its key under `prices:` or `lists:`; of tokens, the chain's name and a slash, which no key has. */
  readonly name: string
  /**
   * Reads it: the shipped collector `price`, `token-price` or `list` with what stands there as its options. It belongs to no
   * protocol.
   */
  readonly collector: CollectorConfig
}

/** The collectors that read prices or lists, by the names of these. */
export function collectorsByName(named: readonly NamedConfig[]): Readonly<Record<string, CollectorConfig>> {
  return Object.fromEntries(named.map(({ name, collector }) => [name, collector]))
}

/** A protocol as it is registered with the service, and its collectors. */
export interface ProtocolConfig {
  /** Slug, unique at the service. */
  readonly id: string
  /** Name shown in the widget. */
  readonly name: string
  /** Address of a logo image. Default: none. */
  readonly logo?: string
  /** Names of chains, for display. Default: none. */
  readonly chains?: readonly string[]
  /** Overrides the service's key. */
  readonly key?: PlacedSecret
  /**
   * Whether the daemon registers the protocol when the service does not know it. Default: true with the embedded
   * service, else false.
   */
  readonly register: boolean
  readonly collectors: readonly CollectorConfig[]
  readonly place: Place
}

export type ServiceConfig =
  | { readonly kind: 'embedded' }
  /** `url` has no trailing slash. The key may be absent when every protocol has its own. */
  | {
      readonly kind: 'remote'
      readonly url: string
      readonly key?: PlacedSecret
      readonly headers?: PlacedHeaders
      readonly certificate?: CertificateConfig
    }

/** Headers of requests by name. */
export interface PlacedHeaders {
  readonly headers: Readonly<Record<string, HeaderValue>>
  readonly place: Place
}

/** The HTTP proxy of all connections: its address, or where that is kept. */
export type ProxyConfig = ({ readonly kind: 'url'; readonly url: string } | SecretRef) & {
  /** Hosts that are connected to directly. */
  readonly except: readonly string[]
  readonly place: Place
}

/** A file, and the place at which it is named. */
interface PlacedFile {
  /** Absolute. */
  readonly path: string
  readonly place: Place
}

/** The certificate that is shown to the service, and its key, as PEM. */
export interface CertificateConfig {
  readonly cert: PlacedFile
  readonly key: PlacedSecret
}

/** Where the outbox is kept. */
export type DataConfig =
  /** `folder`: of the outbox and other data; with the embedded service, its sub-folder `embedded`. */
  | { readonly kind: 'folder'; readonly folder: string; readonly place?: Place }
  /** A PostgreSQL database that several daemons share. `keptIn`: folder of values that wait while it is away. */
  | { readonly kind: 'postgres'; readonly address: PlacedSecret; readonly keptIn: string }

/** A daemon among those that share a database. */
export interface FleetConfig {
  /** Its name. Default: the name of the host. */
  readonly name?: string
  /** Names of chains, `web`, `machine/NAME`. Default: every chain with a node that answers, `web`, its own machine. */
  readonly lanes?: readonly string[]
}

/** Where it is reported that each hour was collected and delivered. */
interface HeartbeatConfig {
  /** Address of a check, as Healthchecks.io gives it. */
  readonly url: PlacedSecret
}

/** A receiver of notifications: an address that takes a POST, or a chat that a bot writes to. */
export type ReceiverConfig =
  | { readonly kind: 'webhook' | 'slack'; readonly url: PlacedSecret }
  | {
      readonly kind: 'telegram'
      readonly token: PlacedSecret
      /** Number of the chat or name of a channel, or where it is kept. */
      readonly chat: HeaderValue
      /** Address of the Bot API, without a trailing slash. */
      readonly url: string
    }

/** Lines below this level are not logged. */
type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** An entry of `include`. */
export interface Include {
  /** Absolute: a path, or a pattern with wildcards. */
  readonly pattern: string
  /** Absolute paths of the files that it matched, without those of an entry before it. */
  readonly files: readonly string[]
  /** The only secrets that these files may use: names of variables, and absolute paths. Default: files below their folders, and variables that no other file names. */
  readonly secrets?: readonly string[]
  readonly place: Place
}

/** The whole configuration, parsed once and frozen. Paths are absolute. */
export interface Config {
  /** Path of the configuration file. */
  readonly file: string
  /** Further files that protocols were read from. */
  readonly includes: readonly Include[]
  /** `filesDigest` of the files as they were read: what the files hold now may be newer. */
  readonly digest: string
  readonly service: ServiceConfig
  readonly proxy?: ProxyConfig
  /** Certificates of authorities that are trusted besides the usual ones, as PEM. */
  readonly ca?: PlacedFile
  readonly data: DataConfig
  /** Empty where the outbox is in a folder. */
  readonly fleet: FleetConfig
  readonly collect: {
    readonly deadlineMs: number
    /** Catch-up range of hours missed in downtime, in milliseconds; less than `outbox.keepMs`. */
    readonly catchUpMs: number
  }
  readonly delivery: { readonly timeoutMs: number; readonly inFlight: number; readonly pacePerSecond: number }
  /** Time for which delivered metrics stay in the outbox, in milliseconds. */
  readonly outbox: { readonly keepMs: number }
  readonly status: {
    readonly host: string
    readonly port: number
    /**
     * Host names that the status server answers to besides IP addresses. Empty: any name, unless it listens on
     * loopback.
     */
    readonly hosts: readonly string[]
    /** Whether dead and held metrics turn readiness red (`strict`) or are warnings (`late`). */
    readonly ready: 'late' | 'strict'
  }
  readonly log: { readonly level: LogLevel }
  readonly heartbeat?: HeartbeatConfig
  readonly notify: readonly ReceiverConfig[]
  readonly chains: readonly ChainConfig[]
  readonly prices: readonly NamedConfig[]
  readonly lists: readonly NamedConfig[]
  readonly protocols: readonly ProtocolConfig[]
}

/** A mistake in a collector's options, found by its own schema; `path` starts at the options' root. */
export interface OptionMistake {
  /** Path within the options; empty for the options as a whole. */
  readonly path: readonly (string | number)[]
  /** One sentence that repeats no secret. */
  readonly message: string
  /** For an unknown option: the known ones. */
  readonly knownNames?: readonly string[]
}
