import type { ChainAsOf, CollectContext, Collector, Http, Price } from '../../collector.ts'
import { systemTime } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { CollectorRef, DescribedToDaemon, Priced } from '../messages.ts'
import type { RunOutcome } from '../runner.ts'
import { declaredMetrics, readsPast } from './definition.ts'
import { hoursBeforeIn } from './hours-before.ts'
import type { ShownHttp } from './http/shown.ts'
import type { RequestTurns } from './http/turns.ts'
import { loadCollector } from './load.ts'
import { parseOptions } from './options.ts'
import { labelEnd, outputFault, undeclaredEnds, valueUnder } from './output.ts'
import { type Prepared, prepare } from './prepare.ts'
import type { Scope } from './scope.ts'
import { settledOrLate } from './settled-or-late.ts'
import { faultOf } from './thrown/thrown.ts'

/** Dependencies of a run on its process. */
export interface RunDeps {
  readonly scope: Scope
  readonly signal: AbortSignal
  /** Time limit of the run, in milliseconds. */
  readonly deadlineMs: number
  /** Turns for its requests. */
  readonly turns: RequestTurns
  /** Where the daemon sees its requests; absent where it does not. */
  readonly shown?: ShownHttp | undefined
  /**
   * A chain as of the hour, or of whole hours before it.
   *
   * @throws Fault `chain-unknown`
   */
  chain(name: string, hour: Hour, hoursBefore: number): ChainAsOf
  /** Rejects with Fault `price-unknown` or `price-missing`. */
  price(name: string): Promise<Priced>
}

/** Loads a collector, parses its options and checks its declarations. Rejects with Fault `collector-unusable`. */
export async function describeCollector(ref: CollectorRef): Promise<DescribedToDaemon> {
  const loaded = await loadCollector(ref)
  const parsed = await parseOptions(loaded, ref)
  if (!parsed.ok) return { kind: 'mistaken', mistakes: parsed.mistakes }
  const metrics = declaredMetrics(loaded.definition, parsed.options, ref.use)
  const history = readsPast(loaded.definition, parsed.options, ref.use)
  const { declared, secrets } = parsed
  return { kind: 'usable', metrics, history, declared, secrets }
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

/** A shipped collector of one value that it also returns exactly. */
interface PriceCollector extends Collector {
  /** The price without its blocks, which the daemon knows. */
  priceOf(context: CollectContext<unknown>): Promise<Omit<Priced, 'pins'>>
}

/**
 * Reads a price of the configuration.
 *
 * @throws Fault when no source answers
 */
export async function readPrice(ref: CollectorRef, hour: Hour, deps: RunDeps): Promise<Priced> {
  const { definition, options, file } = await prepare(ref)
  if (!isOfPrice(definition)) throw new Fault('collector-unusable', `${ref.use} reads no price`)
  const reading = definition.priceOf(contextOf(options, hour, deps))
  const settled = await settledOrLate(reading, deps.signal, deps.scope.opened())
  if (settled.kind === 'late') throw lateFault(deps.scope, deps.deadlineMs)
  if (settled.kind === 'threw') throw faultOf(settled.error, 'collector-threw', file)
  return { ...settled.value, pins: [] }
}

function isOfPrice(definition: Collector): definition is PriceCollector {
  return 'priceOf' in definition
}

async function outputOf({ definition, file }: Prepared, context: CollectContext<unknown>, deps: RunDeps) {
  // In a promise's executor, so that a collect that throws synchronously rejects.
  const returned = new Promise<unknown>(resolve => resolve(definition.collect(context)))
  const settled = await settledOrLate(returned, deps.signal, deps.scope.opened())
  if (settled.kind === 'late') throw lateFault(deps.scope, deps.deadlineMs)
  if (settled.kind === 'threw') throw faultOf(settled.error, 'collector-threw', file)
  const fault = outputFault(settled.value)
  if (fault) throw fault
  return settled.value
}

async function outcomeOf(output: unknown, prepared: Prepared, deps: RunDeps): Promise<RunOutcome> {
  const { labels } = prepared
  const waiting = labels.map(async label => {
    const settled = await settledOrLate(valueUnder(output, label), deps.signal, deps.scope.opened())
    return labelEnd(label, settled, lateFault(deps.scope, deps.deadlineMs), prepared)
  })
  const ends = [...(await Promise.all(waiting)), ...undeclaredEnds(output, labels)]
  return {
    readings: Object.fromEntries(ends.flatMap(end => (end.kind === 'reading' ? [[end.label, end.value]] : []))),
    failures: Object.fromEntries(ends.flatMap(end => (end.kind === 'failure' ? [[end.label, end.fault]] : []))),
    // The daemon knows what was read.
    pins: [],
  }
}

function contextOf(options: unknown, hour: Hour, deps: RunDeps): CollectContext<unknown> {
  const { scope, signal, turns, chain, shown } = deps
  const httpDeps = { signal, turns, time: systemTime, waitsFor: scope.waitsFor, ...(shown && { shown }) }
  const http: Http = {
    // Loaded when first used: undici costs more than most collectors.
    async json(url, schema, request = {}) {
      const { fetchJson } = await import('./http/json.ts')
      return fetchJson(url, schema, { ...httpDeps, request })
    },
    async text(url, request = {}) {
      const { fetchText } = await import('./http/json.ts')
      return fetchText(url, { ...httpDeps, request })
    },
  }
  const price: Price = Object.assign(async (name: string) => (await deps.price(name)).nearest, {
    async exact(name: string) {
      const [numerator = '', denominator = ''] = (await deps.price(name)).exact.split('/')
      return { numerator: BigInt(numerator), denominator: BigInt(denominator) }
    },
  })
  return {
    options,
    hour,
    http,
    signal,
    deadlineMs: deps.deadlineMs,
    nowMs: () => systemTime.nowMs(),
    price,
    log: scope.log,
    chain: (name, moment) => chain(name, hour, hoursBeforeIn(moment)),
  }
}

/** The Fault of an aborted run. */
export function lateFault(scope: Scope, deadlineMs: number): Fault {
  const waitedFor = scope.waitedFor()
  return new Fault('collector-hung', `no answer within ${deadlineMs / 1000} s`, {
    facts: waitedFor === '' ? {} : { waitedFor },
    fix: waitedFor === '' ? 'look for a promise that never settles' : `see why ${waitedFor} is slow`,
  })
}
