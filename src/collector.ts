/**
 * The public API for collectors: `import { defineCollector, units, z, address, secret } from 'tidegauge'`. At run time
 * this module imports only zod and pure code, so that loading it costs a collector little.
 */
import { z } from 'zod'
import { headers, secret } from './config/secret-option.ts'
import { optionsEdge } from './edge/options-edge.ts'
import type { AsOfBlock } from './model/block.ts'
import { type Hour, hourText } from './model/hour.ts'
import type { MetricSpec } from './model/metric.ts'
import { units } from './model/number-text.ts'
import type { ChainAsOf, ChainMoment } from './runner/child/typed/chain-as-of.ts'

export type { AsOfBlock, ChainAsOf, ChainMoment, Hour, MetricSpec }
export { headers, hourText, secret, units, z }

/** Options schema for an address, `0x` and 40 hexadecimal digits: `options: z.strictObject({ token: address })`. */
export const address = z
  .string({ error: 'must be an address in quotes: 0x and 40 hexadecimal digits' })
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address: 0x and 40 hexadecimal digits' })
  .transform(text => text as `0x${string}`)

/**
 * Options schema for a file or folder that the collector reads: `options: z.strictObject({ table: path })`. It parses
 * to an absolute path; a relative path starts at the configuration file's folder. A collector's process can read its
 * own folder (next to a configuration only its file and what that imports), the packages, and the paths declared this way and written in the configuration.
 */
export const path = z
  .string({ error: 'must be the path of a file or a folder' })
  .min(1, { error: 'must be the path of a file or a folder' })
  .transform(written => optionsEdge.path(written))

/** The declaration of one label. A field that is `undefined` counts as absent, so that an option can be passed on. */
export type DeclaredMetric = { readonly [P in keyof MetricSpec]: MetricSpec[P] | undefined }

/** The labels a collector declares: `{ TVL: { unit: 'USDC', min: 0 }, Price: { unit: 'USDC', maxJump: '20%' } }`. */
export type MetricSpecs = Readonly<Record<string, DeclaredMetric>>

/**
 * A sum, count or total of no items: 0. After an hour with another value it is held for a person, since a source that has
 * nothing is more often one that is read wrongly: `return { Active: pools.length === 0 ? noItems : pools.length }`.
 */
export const noItems: unique symbol = Symbol.for('tidegauge.noItems')

/** A number, or the 0 of no items. */
export type ReadingValue = number | typeof noItems

/** A raw value: a finite number or a promise of one. A promise that rejects fails only its own metric. */
export type Reading = ReadingValue | Promise<ReadingValue>

/** One reading for every declared label, and no other. */
export type Readings<M extends MetricSpecs> = { readonly [L in keyof M]: Reading }

/** Makes a label that `metrics` does not declare a type error in the result of `collect`. */
type OnlyDeclared<M extends MetricSpecs, R> = { readonly [L in keyof R]: L extends keyof M ? R[L] : never }

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
  /**
   * Statuses whose answer is returned as well, such as 400 of a source whose JSON then says why. Default: only 2xx.
   */
  readonly statuses?: readonly number[] | undefined
  /**
   * `text`: each number of a JSON answer arrives as the text that the source wrote, for `z.string()` in the schema.
   * Integers beyond 2^53 and long decimals are exact only so. Default: JavaScript numbers.
   */
  readonly numbers?: 'text' | undefined
}

/**
 * Off-chain reads. Transient failures are retried within the run's deadline, never before the source's `Retry-After`.
 * An answer has at most 8 MiB. Requests of all collectors to one host share a limit: 8 at a time and 20 a second, lowered for
 * a while by a 429 or a `Retry-After`. Redirects into private networks are refused; headers and body are sent only to the
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
  /** Fetches an answer that is no text, such as SSZ, Protocol Buffers or an image, as it is. Throws as `json`. */
  bytes(url: string, request?: HttpRequest): Promise<Uint8Array>
}

/** A price before it is rounded: a fraction of two positive integers. */
export interface ExactPrice {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** The prices of the configuration as of the hour, in US dollars. */
export interface Price {
  /**
   * A price by its name under `prices:`, rounded once to the nearest double. It is read once an hour, however many
   * collectors ask, and its reads travel with those of the chain.
   *
   * @throws Fault when none has that name, or when no source of it answers for the hour
   * @example
   * ```ts
   * const [amount, eth] = await Promise.all([chain('ethereum').balance(options.treasury), price('ETH')])
   * ```
   */
  (name: string): Promise<number>
  /** The same before it is rounded. */
  exact(name: string): Promise<ExactPrice>
  /**
   * The price of a token by its address, from `tokenPrices:` of the configuration. All that are asked for in one turn are
   * read together, and each once an hour, however many collectors ask.
   *
   * @param chain its name in the configuration
   * @throws Fault when no source has a price of the token for the hour
   */
  ofToken(chain: string, address: `0x${string}`): Promise<ExactPrice>
}

/** An amount of a token in its smallest unit. The addresses 0x0 and 0xEeee… stand for the coin of the chain. */
export interface TokenAmount {
  readonly token: `0x${string}`
  readonly amount: bigint
}

/**
 * Amounts of tokens in US dollars of the hour, by the decimals that the tokens tell and the prices of `tokenPrices:`. Exact until
 * it is rounded once. All that is asked for in one turn is read together; an amount of 0 needs no price.
 */
export interface Usd {
  /**
   * @param chain its name in the configuration
   * @throws Fault when the token tells no decimals, or no source has a price of it for the hour
   * @example
   * ```ts
   * return { TVL: usd('ethereum', weth, await chain('ethereum').balance(options.treasury)) }
   * ```
   */
  (chain: string, token: `0x${string}`, amount: bigint): Promise<number>
  /** The sum of several, whole or none. Throws as for one. */
  total(chain: string, amounts: readonly TokenAmount[]): Promise<number>
}

/** The lists of the configuration as of the hour. */
export interface List {
  /**
   * The addresses of a list by its name under `lists:`, each once. It is read once an hour, however many collectors ask.
   *
   * @throws Fault when none has that name, or when it cannot be read for the hour
   */
  (name: string): Promise<readonly `0x${string}`[]>
  /**
   * Its addresses when it was last read, of whichever hour: a guess, by which reads can be begun before the list is there.
   * No value may depend on it.
   */
  recent(name: string): Promise<readonly `0x${string}`[]>
}

/** Writes to the daemon's log under the collector's name: `log.warn('paused', { pool })`. Secrets are redacted. */
export interface CollectorLog {
  /** Not logged unless `log.level` is `debug`. */
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
  /** For an event that an operator may want to know. */
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  /** For what an operator should look at. */
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
}

/** The argument of `collect`: one hour, the options, and the means to read. */
export interface CollectContext<O> {
  /** The options, as parsed by the collector's own schema. */
  readonly options: O
  /** The hour to read as of, in milliseconds since 1970; `hourText(hour)` writes it out. */
  readonly hour: Hour
  /**
   * A chain by its name in the configuration, as of the hour, or of an earlier hour: `chain('ethereum', { hoursBefore: 24 })`
   * for a value of the day before. Both are looked up and read together, in the same requests.
   *
   * @throws Fault when none has that name, or for hours that are not whole
   */
  chain(name: string, moment?: ChainMoment): ChainAsOf
  /** Off-chain reads. */
  readonly http: Http
  /** Prices as of the hour. */
  readonly price: Price
  /** Amounts of tokens in US dollars of the hour. */
  readonly usd: Usd
  /**
   * Lists of addresses as of the hour: `const pools = await list('pools')`. A list by event or by place is remembered, so that an
   * hour reads what is new alone.
   */
  readonly list: List
  /** The daemon's log; a run has at most 500 lines. */
  readonly log: CollectorLog
  /** Aborted at the deadline of the run (`collect.deadline`, or `deadline` next to `use`). */
  readonly signal: AbortSignal
  /** Time limit of the run, in milliseconds, for sources that take one. */
  readonly deadlineMs: number
  /**
   * The clock of this machine, in milliseconds since 1970: no source can be later. It belongs in no value and no
   * request, since the same hour gives the same value whenever it is read.
   */
  nowMs(): number
}

/** A function of the options; as a method, so that `Collector` takes one of any options. */
type OfOptions<S extends z.ZodType, T> = { of(options: z.output<S>): T }['of']

/** A collector: its options, its metrics, and the function that reads them. */
export interface CollectorDefinition<S extends z.ZodType, M extends MetricSpecs, R = Readings<M>> {
  /** Schema of the options in the configuration. Use `z.strictObject`, so that a misspelt option is an error. */
  readonly options: S
  /**
   * Every label with its unit and bounds, known before anything is read. A function when they depend on the options.
   */
  readonly metrics: M | OfOptions<S, M>
  /**
   * true: any past hour can be read, by catch-up and backfill. false: only the present can be read, so no past hour is
   * asked for. A function when it depends on the options.
   */
  readonly history: boolean | OfOptions<S, boolean>
  /** Reads the values as of `hour`. Throw or reject when that fails: never return a substitute. */
  collect(
    context: CollectContext<z.output<S>>,
  ): Promise<R & Readings<M> & OnlyDeclared<M, R>> | (R & Readings<M> & OnlyDeclared<M, R>)
}

/** The default export of a collector's file: what `defineCollector` returns, of any options and labels. */
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
