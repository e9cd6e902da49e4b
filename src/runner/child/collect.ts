import {
  type ChainAsOf,
  type ChainMoment,
  type CollectContext,
  type Collector,
  type Http,
  type List,
  noItems,
  type Price,
  type Usd,
} from '../../collector.ts'
import type { OptionMistake } from '../../config/config.ts'
import { systemTime } from '../../edge/time.ts'
import type { Hex } from '../../model/block.ts'
import { Fault, type FaultRecord, faultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import { firstChars } from '../../model/text.ts'
import {
  type CollectorRef,
  type DescribedToDaemon,
  hoursBeforeMax,
  type Listed,
  type ListTask,
  type Priced,
  type PriceFound,
  tokenPriceName,
} from '../messages.ts'
import { originOf } from '../origin.ts'
import type { RunOutcome } from '../runner.ts'
import type { HostSlots, ShownHttp } from './child-end.ts'
import { declaredMetrics, loadCollector, parseOptions, readsPast } from './load.ts'
import { type Scope, type Settled, settledOrLate } from './scope.ts'
import { cut, faultOf, shown } from './thrown.ts'

/** Dependencies of a run on its process. */
export interface RunDeps {
  readonly scope: Scope
  readonly signal: AbortSignal
  /** Time limit of the run, in milliseconds. */
  readonly deadlineMs: number
  /** Slots for its requests. */
  readonly slots: HostSlots
  /** Where the daemon sees its requests; absent where it does not. */
  readonly shown?: ShownHttp | undefined
  /**
   * A chain as of the hour, or of whole hours before it.
   *
   * @param logHours number of hours up to that one whose logs are read, if they are final. Default: 1
   * @throws Fault `chain-unknown`
   */
  chain(name: string, hour: Hour, hoursBefore: number, logHours?: number): ChainAsOf
  /** Rejects with Fault `price-unknown` or `price-missing`. */
  price(name: string): Promise<Priced>
  /** Rejects with Fault `list-unknown` or `list-missing`. @param recent as it was when it was last read */
  list(name: string, recent: boolean): Promise<readonly Hex[]>
}

/** Loads a collector, parses its options and checks its declarations. Rejects with Fault `collector-unusable`. */
export async function describeCollector(ref: CollectorRef): Promise<DescribedToDaemon> {
  const loadedCollector = await loadCollector(ref)
  const optionsResult = await parseOptions(loadedCollector, ref)
  if (!optionsResult.ok) return { kind: 'mistaken', mistakes: optionsResult.mistakes }
  const isShipped = originOf(ref).kind === 'shipped'
  const mistakes = isShipped ? shippedMistakes(loadedCollector.definition, ref, optionsResult.options) : []
  if (mistakes.length > 0) return { kind: 'mistaken', mistakes }
  const metrics = declaredMetrics(loadedCollector.definition, optionsResult.options, ref.use)
  const history = readsPast(loadedCollector.definition, optionsResult.options, ref.use)
  const { declared, secrets } = optionsResult
  return { kind: 'usable', metrics, history, declared, secrets }
}

/** A shipped collector of which the configuration takes more under a section of its own than as an entry of a protocol. */
interface EntryCollector extends Collector {
  /** Mistakes of options that are right in that section alone. */
  entryMistakes(options: unknown): readonly OptionMistake[]
}

/** Mistakes in the options of shipped code that its schema takes. */
function shippedMistakes(definition: Collector, { id }: CollectorRef, options: unknown): OptionMistake[] {
  // The id of what reads a price or a list has no protocol in it.
  const isEntry = id.includes('/') && 'entryMistakes' in definition
  return [...crossedBounds(options, []), ...(isEntry ? (definition as EntryCollector).entryMistakes(options) : [])]
}

/** Mistakes of a `min` above its `max`, at any depth: in the options of shipped code these are bounds. */
function crossedBounds(options: unknown, path: readonly (string | number)[]): OptionMistake[] {
  if (typeof options !== 'object' || options === null) return []
  const { min, max } = options as { readonly min?: unknown; readonly max?: unknown }
  const isCrossed = typeof min === 'number' && typeof max === 'number' && min > max
  const message = `must be at least min, which is ${min}: nothing is in between`
  return [
    ...(isCrossed ? [{ path: [...path, 'max'], message }] : []),
    ...Object.entries(options).flatMap(([name, part]) =>
      crossedBounds(part, [...path, Array.isArray(options) ? Number(name) : name]),
    ),
  ]
}

/**
 * Runs a collector for one hour. When its signal is aborted, the labels that are there by then are returned.
 *
 * @throws Fault when the run as a whole failed
 */
export async function collectHour(ref: CollectorRef, hour: Hour, deps: RunDeps): Promise<RunOutcome> {
  const prepared = await prepare(ref)
  const output = await outputOf(prepared, contextOf(prepared.options, hour, deps), deps)
  return outcomeOf(output, prepared, deps)
}

/** A shipped collector that also reads prices exactly: its one, or those of tokens. */
interface PriceReader extends Collector {
  /** In the order of the tokens. */
  pricesOf(context: CollectContext<unknown>, tokens: readonly string[]): Promise<readonly PriceFound[]>
}

/**
 * Reads a price of the configuration, or those of tokens.
 *
 * @throws Fault when no source of the price answers
 */
export async function readPrices(
  ref: CollectorRef,
  hour: Hour,
  tokens: readonly string[],
  deps: RunDeps,
): Promise<readonly PriceFound[]> {
  const { definition, options, file } = await prepare(ref)
  if (!isPriceReader(definition)) throw new Fault('collector-unusable', `${ref.use} reads no price`)
  const prices = await awaited(definition.pricesOf(contextOf(options, hour, deps), tokens), file, deps)
  return prices.map(found => ('failure' in found ? { ...found, failure: cut(found.failure) } : found))
}

/** Result of a collector's code. @throws Fault when it rejects, or not in time */
async function awaited<T>(returned: Promise<T>, file: string | undefined, deps: RunDeps): Promise<T> {
  const outcome = await settledOrLate(returned, deps.signal)
  if (outcome.kind === 'late') throw lateFault(deps.scope, deps.deadlineMs)
  if (outcome.kind === 'threw') throw faultOf(outcome.error, 'collector-threw', file)
  return outcome.value
}

/** Means to read a list, besides those of every collector. */
interface ListContext extends CollectContext<unknown>, Pick<ListTask, 'finalHour' | 'memory'> {
  /** The logs of several hours up to this one, which are final and are remembered. */
  logsOver(chain: string, hours: number): Pick<ChainAsOf, 'logs'>
}

/** The shipped collector of lists. */
interface ListCollector extends Collector {
  /** The list without its blocks, which the daemon knows. */
  listOf(context: ListContext): Promise<Omit<Listed, 'pins'>>
}

/** Reads a list of the configuration. @throws Fault when it cannot be read */
export async function readList({ collector: ref, hour, finalHour, memory }: ListTask, deps: RunDeps): Promise<Listed> {
  const { definition, options, file } = await prepare(ref)
  if (!isOfList(definition)) throw new Fault('collector-unusable', `${ref.use} reads no list`)
  const logsOver = (name: string, hours: number) => deps.chain(name, hour, 0, hours)
  const reading = definition.listOf({ ...contextOf(options, hour, deps), finalHour, memory, logsOver })
  return { ...(await awaited(reading, file, deps)), pins: [] }
}

function isOfList(definition: Collector): definition is ListCollector {
  return 'listOf' in definition
}

function isPriceReader(definition: Collector): definition is PriceReader {
  return 'pricesOf' in definition
}

async function outputOf({ definition, file }: Prepared, context: CollectContext<unknown>, deps: RunDeps) {
  // In a promise's executor, so that a collect that throws synchronously rejects.
  const returned = new Promise<unknown>(resolve => resolve(definition.collect(context)))
  const output = await awaited(returned, file, deps)
  const fault = outputFault(output)
  if (fault) throw fault
  return output
}

async function outcomeOf(output: unknown, preparation: Prepared, deps: RunDeps): Promise<RunOutcome> {
  const { labels, privateLabels } = preparation
  const returned = new Set(ownLabels(output))
  const meant = labels.filter(label => returned.has(label) || !privateLabels.has(label))
  const pendingEnds = meant.map(async label => {
    const settled = await settledOrLate(valueUnder(output, label), deps.signal)
    return labelEnd(label, settled, lateFault(deps.scope, deps.deadlineMs), preparation)
  })
  const ends = [...(await Promise.all(pendingEnds)), ...undeclaredEnds(output, labels)]
  return {
    readings: Object.fromEntries(ends.flatMap(end => (end.kind === 'reading' ? [[end.label, end.value]] : []))),
    failures: Object.fromEntries(ends.flatMap(end => (end.kind === 'failure' ? [[end.label, end.fault]] : []))),
    ofNone: ends.flatMap(end => (end.kind === 'reading' && end.isOfNone ? [end.label] : [])),
    // The daemon knows what was read.
    pins: [],
  }
}

function contextOf(options: unknown, hour: Hour, deps: RunDeps): CollectContext<unknown> {
  const { scope, signal, slots, chain, shown } = deps
  const httpDeps = { signal, slots, time: systemTime, waitsFor: scope.waitsFor, ...(shown && { shown }) }
  const http: Http = {
    // Loaded when first used: undici costs more than most collectors.
    async json(url, schema, request = {}) {
      const { fetchJson } = await import('./http.ts')
      return fetchJson(url, schema, { ...httpDeps, request })
    },
    async text(url, request = {}) {
      const { fetchText } = await import('./http.ts')
      return fetchText(url, { ...httpDeps, request })
    },
    async bytes(url, request = {}) {
      const { fetchBytes } = await import('./http.ts')
      return fetchBytes(url, { ...httpDeps, request })
    },
  }
  const exact = async (name: string) => {
    const [numerator = '', denominator = ''] = (await deps.price(name)).exact.split('/')
    return { numerator: BigInt(numerator), denominator: BigInt(denominator) }
  }
  const price: Price = Object.assign(async (name: string) => (await deps.price(name)).nearest, {
    exact,
    ofToken: (chain: string, token: string) => exact(tokenPriceName(chain, token)),
  })
  const list: List = Object.assign((name: string) => deps.list(name, false), {
    recent: (name: string) => deps.list(name, true),
  })
  return {
    options,
    hour,
    http,
    list,
    usd: usdBy(price, name => chain(name, hour, 0)),
    signal,
    deadlineMs: deps.deadlineMs,
    nowMs: () => systemTime.nowMs(),
    price,
    log: scope.log,
    chain: (name, moment) => chain(name, hour, hoursBeforeIn(moment)),
  }
}

/** Amounts in US dollars, by prices and chains of the hour. */
function usdBy(price: Price, chain: (name: string) => Pick<ChainAsOf, 'decimals'>): Usd {
  const total: Usd['total'] = async (name, amounts) => {
    const { Fraction, nearestNumber, scaled } = await import('../../../collectors/values/fraction.ts')
    const nonZero = amounts.filter(({ amount }) => amount !== 0n)
    const [decimals, prices] = await Promise.all([
      chain(name).decimals(nonZero.map(({ token }) => token)),
      Promise.all(nonZero.map(({ token }) => price.ofToken(name, token))),
    ])
    const sum = nonZero.reduce((sum, { amount }, place) => {
      const { numerator = 0n, denominator = 1n } = prices[place] ?? {}
      return sum.add(scaled(amount, decimals[place] ?? 0).mul(new Fraction(numerator, denominator)))
    }, new Fraction(0))
    return nearestNumber(sum)
  }
  return Object.assign((name: string, token: `0x${string}`, amount: bigint) => total(name, [{ token, amount }]), {
    total,
  })
}

/** The Fault of an aborted run. Where it waits for something, the daemon knows more of that, and words it. */
export function lateFault(scope: Scope, deadlineMs: number): Fault {
  const message = `no answer within ${deadlineMs / 1000} s`
  const waitedFor = scope.waitedFor()
  if (waitedFor === '') return new Fault('collector-hung', message, { fix: 'look for a promise that never settles' })
  return new Fault('collector-hung', message, { facts: { waitedFor } })
}

/** A collector ready to run for one hour. */
interface Prepared {
  readonly definition: Collector
  /** Path of the file, to name places in it; absent for a package, and for a collector that is shipped. */
  readonly file: string | undefined
  /** Whether it is shipped: its user writes a configuration, and no code. */
  readonly isShipped: boolean
  /** Parsed. */
  readonly options: unknown
  /** The declared labels. */
  readonly labels: readonly string[]
  /** Those that are private: an output may leave them out. */
  readonly privateLabels: ReadonlySet<string>
}

/** Loads a collector and parses its options. @throws Fault `collector-unusable` */
async function prepare(ref: CollectorRef): Promise<Prepared> {
  const { definition, file } = await loadCollector(ref)
  const optionsResult = await parseOptions({ definition }, ref)
  if (!optionsResult.ok) {
    const [mistake] = optionsResult.mistakes
    throw new Fault('collector-unusable', `options of ${ref.use}: ${mistake?.path.join('.')}: ${mistake?.message}`)
  }
  if (optionsResult.secrets.some(id => ref.secrets?.[id] === undefined)) {
    throw new Fault('collector-unusable', `options of ${ref.use} refer to a secret that it is not given`, {
      fix: 'name it in the configuration as { env: NAME } or { file: PATH }; after an edit it is given from the next hour on',
    })
  }
  const metrics = Object.entries(declaredMetrics(definition, optionsResult.options, ref.use))
  const labels = metrics.map(([label]) => label)
  const privateLabels = new Set(metrics.flatMap(([label, spec]) => (spec.private ? [label] : [])))
  const isShipped = originOf(ref).kind === 'shipped'
  return {
    definition,
    file: isShipped ? undefined : file,
    isShipped,
    options: optionsResult.options,
    labels,
    privateLabels,
  }
}

/** Undeclared labels named in an outcome; further ones are counted. */
const undeclaredLabelsMax = 5

/** Result of one label of an output. */
type LabelEnd = { readonly label: string } & (
  | { readonly kind: 'reading'; readonly value: number; readonly isOfNone?: boolean }
  | { readonly kind: 'failure'; readonly fault: FaultRecord }
)

/** The value of a label, still to be awaited. A getter that throws gives a rejected promise. */
function valueUnder(output: unknown, label: string): Promise<unknown> {
  return new Promise(resolve => {
    if (typeof output !== 'object' || output === null) throw wrong(`collect returned ${shown(output)}, not an object`)
    if (!Reflect.has(output, label)) throw wrong(`"${label}" is declared, but missing in what collect returned`)
    resolve(Reflect.get(output, label))
  })
}

/** The collector of a label. */
type LabelSource = Pick<Prepared, 'file' | 'isShipped'>

/** Checks a label's value: only a finite number is one, and the 0 of no items. */
function labelEnd(label: string, outcome: Settled, late: Fault, { file, isShipped }: LabelSource): LabelEnd {
  if (outcome.kind === 'late') return failed(label, late)
  if (outcome.kind === 'threw') return failed(label, faultOf(outcome.error, 'collector-threw', file))
  const { value } = outcome
  if (value === noItems) return { label, kind: 'reading', value: 0, isOfNone: true }
  if (typeof value === 'number' && Number.isFinite(value)) return { label, kind: 'reading', value }
  return failed(label, wrong(`"${label}" is ${shown(value)}, not a finite number`, fixFor(value, isShipped)))
}

/** A failure for each returned label that is not declared; when there are many, only their number. */
function undeclaredEnds(output: unknown, declaredLabels: readonly string[]): LabelEnd[] {
  const undeclared = ownLabels(output).filter(label => !declaredLabels.includes(label))
  const more = undeclared.length - undeclaredLabelsMax
  return undeclared.slice(0, undeclaredLabelsMax).map((label, index) => {
    const rest = index === undeclaredLabelsMax - 1 && more > 0 ? `, and ${more} more` : ''
    const name = cut(label)
    return failed(name, wrong(`"${name}"${rest}: returned but not declared`, 'add it to metrics, or do not return it'))
  })
}

/** Fault when `collect` returned no object. */
function outputFault(output: unknown): Fault | undefined {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) return undefined
  return wrong(`collect returned ${shown(output)}, not an object of readings by label`)
}

function ownLabels(output: unknown): string[] {
  try {
    return typeof output === 'object' && output !== null ? Object.keys(output) : []
  } catch {
    return []
  }
}

function fixFor(value: unknown, isShipped: boolean): string {
  if (isShipped)
    return 'take another value, or correct its `decimals` where they are wrong: no number is larger than 1.8e308'
  if (typeof value === 'bigint') return 'turn it into a number with units(amount, decimals)'
  if (value === null || value === undefined) return 'throw, or reject, when a value is not known'
  return 'return a number, or reject when there is none; is an await missing?'
}

function failed(label: string, fault: Fault): LabelEnd {
  return { label, kind: 'failure', fault: faultRecord(fault) }
}

function wrong(message: string, fix?: string): Fault {
  return new Fault('collector-output', message, fix === undefined ? {} : { fix })
}

/**
 * Whole hours before the run's hour that a chain is read as of.
 *
 * @throws Fault for any other value, and for unknown options: if ignored, a past value would be the present one
 */
export function hoursBeforeIn({ hoursBefore = 0, ...others }: ChainMoment = {}): number {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw hoursBeforeWrong(`has no option ${firstChars(unknown, 40)}`, 'its option is hoursBefore')
  if (Number.isInteger(hoursBefore) && hoursBefore >= 0 && hoursBefore <= hoursBeforeMax) return hoursBefore
  const found = typeof hoursBefore === 'number' ? `not ${hoursBefore}` : `not ${typeof hoursBefore}`
  throw hoursBeforeWrong(
    `reads whole hours before its own: ${found}`,
    `write a whole number from 0 to ${hoursBeforeMax}`,
  )
}

function hoursBeforeWrong(what: string, fix: string): Fault {
  return new Fault('collector-threw', `chain(name, { hoursBefore }) ${what}`, { fix })
}
