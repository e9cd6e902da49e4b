/**
 * What a collector sees: `import { defineCollector, units, z, address, secret } from 'tidegauge'`. This module is the package's
 * public export; it imports nothing at run time but zod and
 * pure code, so that it costs a collector next to nothing.
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

/** Options schema for an address: `0x` and 40 hexadecimal digits. */
export const address = z
  .string({ error: 'must be an address in quotes: 0x and 40 hexadecimal digits' })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address: 0x and 40 hexadecimal digits' })
  .transform(text => text as `0x${string}`)

/**
 * Options schema for a file, or a folder, that the collector reads: `options: z.strictObject({ table: path })`. What it
 * parses is absolute; a relative one counts from the configuration file. Beside its own folder and packages a collector's
 * process can read only what is declared so and written in the configuration.
 */
export const path = z
  .string({ error: 'must be the path of a file or a folder' })
  .min(1, { error: 'must be the path of a file or a folder' })
  .transform(written => optionsEdge.path(written))

/**
 * A whole number of smallest units as a decimal number: `units(1_500_000n, 6)` is 1.5. Rounded once, to the nearest
 * double, which is what travels to the service.
 *
 * @param decimals from 0 to 255, as a token's `decimals()` answers; a bigint where the ABI says `uint256`
 * @throws TypeError for an amount that is no bigint; RangeError for other decimals
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

/** A value as it is written in code, when it is short and plain; else its type. */
function literal(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'text' : JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/** What is declared of a label. A part that is `undefined` is one that is absent, so that an option can be passed on. */
export type DeclaredMetric = { readonly [P in keyof MetricSpec]: MetricSpec[P] | undefined }

/** The labels a collector declares, with their unit and bounds. */
export type MetricSpecs = Readonly<Record<string, DeclaredMetric>>

/** A raw value: a finite number, or the promise of one. A promise that rejects fails its own metric alone. */
export type Reading = number | Promise<number>

/** A reading for every declared label, and nothing else. */
export type Readings<M extends MetricSpecs> = { readonly [L in keyof M]: Reading }

/** Makes an undeclared label of what `collect` returns a type error. */
type OnlyDeclared<M extends MetricSpecs, R> = { readonly [L in keyof R]: L extends keyof M ? R[L] : never }

type ReadOnly = 'pure' | 'view'

/** One chain, as of the hour. Every promise rejects when a read fails: a failure is never a value. */
export interface ChainAsOf {
  /** Last block with a timestamp at or before the hour. */
  block(): Promise<AsOfBlock>
  /**
   * One or many view calls, typed by their ABI, at the as-of block. All reads of all collectors for one hour and chain
   * travel together, so reading one by one costs no more than reading a list. A list rejects when one of its calls fails.
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

/** What may be said of an off-chain request beside its address. */
export interface HttpRequest {
  /** A value may be a secret of the options. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Makes it a POST: a text is sent as it is, anything else as JSON. At most 1 MiB.
   */
  readonly body?: unknown
  /** Default: POST with a body, else GET. */
  readonly method?: 'GET' | 'POST' | undefined
  /**
   * Whether a POST changes nothing at the source, so that it may be sent again after a failure. Default: true for a body
   * with a GraphQL `query` that is no mutation, else false. A GET always is.
   */
  readonly isRead?: boolean | undefined
}

/**
 * Off-chain reads: within the run's deadline and 8 MiB, with a retry of what may pass, never before the instant a source
 * asks to wait for. A redirect leads into no private network; headers and a body stay with the origin of `url`.
 */
export interface Http {
  /**
   * A GET, or a POST where there is a body. For a past hour put `hour` into the URL or the body, and check in the schema
   * that the answer is of that hour.
   *
   * @param url http or https; of it nothing but the host is ever told
   * @param schema of the answer; what does not fit is a fault that names the place in the answer and what is there
   * @returns the parsed answer. Every call asks the source: no answer is kept
   */
  json<S extends z.ZodType>(url: string, schema: S, request?: HttpRequest): Promise<z.output<S>>
  /** The same for what is no JSON, such as CSV: the answer as text. Nothing but the status says whether it is one. */
  text(url: string, request?: HttpRequest): Promise<string>
}

/** Lines of a collector in the daemon's log, under the collector's name. Secrets of the configuration are redacted. */
export interface CollectorLog {
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
}

/** What a collector is called with: one hour, its options, and the ways to read. */
export interface CollectContext<O> {
  /** As parsed by the collector's own schema. */
  readonly options: O
  /** The hour to read as of, in milliseconds since 1970; `hourText(hour)` writes it out. */
  readonly hour: Hour
  /** A chain by its name in the configuration. */
  chain(name: string): ChainAsOf
  readonly http: Http
  readonly log: CollectorLog
  /** Aborted at the deadline. */
  readonly signal: AbortSignal
}

/** What a collector is: its options, its metrics, and how they are read. */
export interface CollectorDefinition<S extends z.ZodType, M extends MetricSpecs, R = Readings<M>> {
  /** Schema of the options in the configuration; use `z.strictObject`, so that a typo is an error. */
  readonly options: S
  /** Every label with its unit and bounds, before anything is read; a function where they depend on the options. */
  readonly metrics: M | ((options: z.output<S>) => M)
  /**
   * true: the past can be read, and any hour may be asked for. false: "only now", never run for a past hour. A function
   * where it depends on the options.
   */
  readonly history: boolean | ((options: z.output<S>) => boolean)
  /** Reads the values as of `hour`. Throw, or reject, when that fails: never return a stand-in. */
  collect(
    context: CollectContext<z.output<S>>,
  ): Promise<R & Readings<M> & OnlyDeclared<M, R>> | (R & Readings<M> & OnlyDeclared<M, R>)
}

/** What a collector's file exports by default. */
export type Collector = CollectorDefinition<z.ZodType, MetricSpecs>

/** Types a collector: options are inferred from the schema, an undeclared or missing label is a type error. */
export function defineCollector<S extends z.ZodType, const M extends MetricSpecs, R>(
  definition: CollectorDefinition<S, M, R>,
): CollectorDefinition<S, M, R> {
  return definition
}
