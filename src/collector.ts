/**
 * The public API for collectors: `import { defineCollector, units, z, address, secret } from 'tidegauge'`. At run time
 * this module imports only zod and pure code, so that loading it costs a collector little.
 */
import type {
  AbiEvent,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionParameters,
  ContractFunctionReturnType,
  GetEventArgs,
  Log,
  MulticallContracts,
  MulticallResults,
  Narrow,
} from 'viem'
import { z } from 'zod'
import { headers, secret } from './config/secret-option.ts'
import { optionsEdge } from './edge/options-edge.ts'
import type { AsOfBlock } from './model/block.ts'
import { type Hour, hourText } from './model/hour.ts'
import type { MetricSpec } from './model/metric.ts'

export type { AsOfBlock, Hour, MetricSpec }
export { headers, hourText, secret, z }

/** Options schema for an address, `0x` and 40 hexadecimal digits: `options: z.strictObject({ token: address })`. */
export const address = z
  .string({ error: 'must be an address in quotes: 0x and 40 hexadecimal digits' })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address: 0x and 40 hexadecimal digits' })
  .transform(text => text as `0x${string}`)

/**
 * Options schema for a file or folder that the collector reads: `options: z.strictObject({ table: path })`. It parses
 * to an absolute path; a relative path starts at the configuration file's folder. A collector's process can read its
 * own folder, the packages, and the paths declared this way and written in the configuration.
 */
export const path = z
  .string({ error: 'must be the path of a file or a folder' })
  .min(1, { error: 'must be the path of a file or a folder' })
  .transform(written => optionsEdge.path(written))

/**
 * Converts an amount in smallest units to a decimal number, rounded once to the nearest double (the service stores
 * doubles): `units(1_500_000n, 6)` is 1.5.
 *
 * @param decimals from 0 to 255, as a token's `decimals()` answers; a bigint where the ABI says `uint256`
 * @throws TypeError when the amount is not a bigint; RangeError for other decimals
 */
export function units(amount: bigint, decimals: number | bigint): number {
  if (typeof amount !== 'bigint') {
    throw new TypeError(`units(amount, decimals): the amount must be a bigint like 1500000n, not ${literal(amount)}`)
  }
  const places = typeof decimals === 'bigint' ? Number(decimals) : decimals
  if (!Number.isInteger(places) || places < 0 || places > 255) {
    const wrong = `the decimals must be a whole number from 0 to 255, not ${literal(decimals)}`
    throw new RangeError(`units(amount, decimals): ${wrong}`)
  }
  const digits = (amount < 0n ? -amount : amount).toString().padStart(places + 1, '0')
  const point = digits.length - places
  return Number(`${amount < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`)
}

/** A short value as it is written in code; of any other, its type. */
function literal(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'text' : JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/** The declaration of one label. A field that is `undefined` counts as absent, so that an option can be passed on. */
export type DeclaredMetric = { readonly [P in keyof MetricSpec]: MetricSpec[P] | undefined }

/** The labels a collector declares: `{ TVL: { unit: 'USDC', min: 0 }, Price: { unit: 'USDC', maxJump: '20%' } }`. */
export type MetricSpecs = Readonly<Record<string, DeclaredMetric>>

/** A raw value: a finite number or a promise of one. A promise that rejects fails only its own metric. */
export type Reading = number | Promise<number>

/** One reading for every declared label, and no other. */
export type Readings<M extends MetricSpecs> = { readonly [L in keyof M]: Reading }

/** Makes a label that `metrics` does not declare a type error in the result of `collect`. */
type OnlyDeclared<M extends MetricSpecs, R> = { readonly [L in keyof R]: L extends keyof M ? R[L] : never }

type ReadOnly = 'pure' | 'view'

/**
 * One chain as of the hour. Every promise rejects when its read fails: a failure is never a value.
 *
 * @example
 * ```ts
 * const supply = await chain('ethereum').read({ address: token, abi: erc20Abi, functionName: 'totalSupply' })
 * ```
 */
export interface ChainAsOf {
  /** The as-of block: the last one with a timestamp at or before the hour. */
  block(): Promise<AsOfBlock>
  /**
   * Reads one or many view functions at the as-of block, typed by their ABI. All reads of all collectors for one hour
   * and chain travel together, so single reads cost no more than a list. A list rejects when one of its calls fails.
   *
   * @throws Fault when no endpoint can answer or a contract reverts
   */
  read<
    const A extends readonly unknown[] | import('viem').Abi,
    F extends ContractFunctionName<A, ReadOnly>,
    const P extends ContractFunctionArgs<A, ReadOnly, F>,
  >(call: ContractFunctionParameters<A, ReadOnly, F, P>): Promise<ContractFunctionReturnType<A, ReadOnly, F, P>>
  read<const C extends readonly unknown[]>(
    calls: readonly [...MulticallContracts<Narrow<C>, { mutability: ReadOnly }>],
  ): Promise<MulticallResults<Narrow<C>, false, { mutability: ReadOnly }>>
  /** Native balance, in wei. */
  balance(of: `0x${string}`): Promise<bigint>
  /** Logs of one event after the previous hour's as-of block, up to and including this hour's, oldest first. */
  logs<const E extends AbiEvent>(filter: {
    readonly address: `0x${string}` | readonly `0x${string}`[]
    readonly event: E
    readonly args?: GetEventArgs<[E], E['name'], { EnableUnion: true; IndexedOnly: true; Required: false }>
  }): Promise<readonly Pick<Log<bigint, number, false, E, true>, 'args' | 'address' | 'blockNumber' | 'logIndex'>[]>
}

/**
 * Method, headers and body of an off-chain request: `{ headers: { 'x-api-key': options.apiKey }, body: { query } }`.
 */
export interface HttpRequest {
  /** By name. A value may be a `secret` of the options. Default: none of its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Body of a POST: a string is sent as it is, anything else as JSON. At most 1 MiB. Default: no body. */
  readonly body?: unknown
  /** Default: POST with a body, else GET. */
  readonly method?: 'GET' | 'POST' | undefined
  /**
   * Whether the request changes nothing at the source, so that it may be retried after a failure. Default: true for a
   * GET and for a body with a GraphQL `query` that is not a mutation, else false.
   */
  readonly isRead?: boolean | undefined
}

/**
 * Off-chain reads. Transient failures are retried within the run's deadline, never before the source's `Retry-After`.
 * An answer has at most 8 MiB. Redirects into private networks are refused; headers and body are sent only to the
 * origin of `url`.
 */
export interface Http {
  /**
   * Fetches and parses JSON: a GET, or a POST when there is a body. For a past hour put `hour` into the URL or the
   * body, and check in the schema that the answer is of that hour. Every call asks the source: nothing is cached.
   *
   * @param url http or https; errors and logs show only its host
   * @param schema of the answer; `z.output` of it is returned
   * @throws Fault when the source cannot be reached or refuses, or when the answer does not fit the schema (it names
   * the place)
   * @example
   * ```ts
   * const { usd } = await http.json(`https://api.example.com/eth?at=${hour / 1000}`, z.object({ usd: z.number() }))
   * ```
   */
  json<S extends z.ZodType>(url: string, schema: S, request?: HttpRequest): Promise<z.output<S>>
  /**
   * Fetches an answer that is not JSON, such as CSV, as text. Only the status tells whether it succeeded. Throws as
   * `json`.
   */
  text(url: string, request?: HttpRequest): Promise<string>
}

/** Writes to the daemon's log under the collector's name: `log.warn('paused', { pool })`. Secrets are redacted. */
export interface CollectorLog {
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
}

/** The argument of `collect`: one hour, the options, and the means to read. */
export interface CollectContext<O> {
  /** The options, as parsed by the collector's own schema. */
  readonly options: O
  /** The hour to read as of, in milliseconds since 1970; `hourText(hour)` writes it out. */
  readonly hour: Hour
  /** A chain by its name in the configuration. @throws Fault when none has that name */
  chain(name: string): ChainAsOf
  readonly http: Http
  readonly log: CollectorLog
  /** Aborted at the deadline of the run (`collect.deadline`). */
  readonly signal: AbortSignal
}

/** A collector: its options, its metrics, and the function that reads them. */
export interface CollectorDefinition<S extends z.ZodType, M extends MetricSpecs, R = Readings<M>> {
  /** Schema of the options in the configuration. Use `z.strictObject`, so that a misspelt option is an error. */
  readonly options: S
  /**
   * Every label with its unit and bounds, known before anything is read. A function when they depend on the options.
   */
  readonly metrics: M | ((options: z.output<S>) => M)
  /**
   * true: any past hour can be read, by catch-up and backfill. false: only the present can be read, so no past hour is
   * asked for. A function when it depends on the options.
   */
  readonly history: boolean | ((options: z.output<S>) => boolean)
  /** Reads the values as of `hour`. Throw or reject when that fails: never return a substitute. */
  collect(
    context: CollectContext<z.output<S>>,
  ): Promise<R & Readings<M> & OnlyDeclared<M, R>> | (R & Readings<M> & OnlyDeclared<M, R>)
}

/** The default export of a collector's file. */
export type Collector = CollectorDefinition<z.ZodType, MetricSpecs>

/**
 * Types a collector: options are inferred from the schema, and an undeclared or missing label is a type error. Returns
 * its argument.
 *
 * @example
 * ```ts
 * export default defineCollector({
 *   options: z.strictObject({ chain: z.string(), token: address }),
 *   metrics: { Supply: { unit: 'USDC', min: 0 } },
 *   history: true,
 *   async collect({ options, chain }) {
 *     const supply = chain(options.chain).read({ address: options.token, abi: erc20Abi, functionName: 'totalSupply' })
 *     return { Supply: units(await supply, 6) }
 *   },
 * })
 * ```
 */
export function defineCollector<S extends z.ZodType, const M extends MetricSpecs, R>(
  definition: CollectorDefinition<S, M, R>,
): CollectorDefinition<S, M, R> {
  return definition
}
