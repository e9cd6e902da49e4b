import type { Hour } from '../../src/model/hour.ts'
import { hourAfter, hourAt } from '../../src/model/hour.ts'
import { hourMs, keepMsMin } from '../../src/model/limits.ts'
import type { MetricSpec } from '../../src/model/metric.ts'
import { type BackfillScript, backfills } from './backfill-script.ts'
import { type ChainReading, type ChainScript, chainScript, readsOf } from './chain-script.ts'
import { chanceOf, Fortune } from './chance.ts'
import { answering, type WrongClock, wrongClocks } from './clock-script.ts'
import { type Dialect, dialect, type Trouble, troubles } from './troubles.ts'

/** Future of one world: drawn from its seed before it begins, and the same in every run. */
export interface Script {
  readonly seed: number
  readonly startMs: number
  /** From here on the service is healthy, the keys are right and the disk has room. */
  readonly healthyMs: number
  readonly owners: readonly OwnerScript[]
  readonly protocols: readonly ProtocolScript[]
  readonly collectors: readonly CollectorScript[]
  readonly pacePerSecond: number
  readonly inFlight: number
  readonly service: ServiceScript
  /** When the machine's clock is wrong. */
  readonly wrongClocks: readonly WrongClock[]
  /** Ends of the lives of the process, one after the other; the one after the last is stopped in good order. */
  readonly ends: readonly EndScript[]
  readonly fullDisks: readonly { readonly fromMs: number; readonly toMs: number; readonly kind: 'pages' | 'commits' }[]
  /** When a person looks at what waits for one. */
  readonly person: readonly { readonly atMs: number; readonly act: 'release' | 'retry' | 'drop' }[]
  /** Longest that the store takes to be asked, and to answer; 0 where it is a file. */
  readonly answerMsMax: number
  /** Catch-up range of missed hours. */
  readonly catchUpMs: number
  /** Time for which settled metrics are kept. */
  readonly keepMs: number
  /** Longest that an idle loop sleeps. */
  readonly restMsMax: number
  readonly chain?: ChainScript
  /** When somebody fills past hours in, while the daemon runs. */
  readonly backfills: readonly BackfillScript[]
  /** Whether the service is down for a month: loops sleep on then, whatever happens. */
  readonly isLong: boolean
}

/** One key's owner: a destination. */
export interface OwnerScript {
  readonly name: string
  /** Where its key is kept; absent for the service's own key. */
  readonly keyPath?: string
  readonly rotations: readonly { readonly atServiceMs: number; readonly inFileMs: number }[]
}

export interface ProtocolScript {
  readonly id: string
  readonly owner: string
  /** Whether the daemon registers it automatically. */
  readonly register: boolean
  /** When a person registers it. */
  readonly registeredMs: number
}

export interface CollectorScript {
  readonly id: string
  readonly protocolId: string
  readonly history: boolean
  readonly since?: Hour
  readonly metrics: Readonly<Record<string, MetricSpec>>
  /** Part of its runs that fail as a whole, or in one label. */
  readonly failing: number
  /** Slowest run. */
  readonly slowMs: number
  /** Its way to read the chain, where it does. */
  readonly reads?: ChainReading
  /** Label whose unit is another one from the second life on. */
  readonly unitChange?: string
}

export interface ServiceScript {
  readonly dialect: Dialect
  readonly troubles: readonly Trouble[]
  /** Lead of its clock over the machine's, from instants on, earliest first. */
  readonly skews: readonly { readonly fromMs: number; readonly skewMs: number }[]
  /** Part of the requests that are not answered, whenever. */
  readonly flaky: number
  readonly latencyMs: number
  /** Part of the metrics the service refuses for good. */
  readonly bad: number
  /** Part of the metrics the service fails on. */
  readonly poison: number
  readonly isPoisonMended: boolean
  /** Part of the metrics somebody else has posted already. */
  readonly foreign: number
}

/**
 * `step`: at its n-th durable step, before or after it is done. `instant`: after a while. `wish`: a while after the
 * service asked to be left alone.
 */
export interface EndScript {
  readonly at:
    | { readonly kind: 'step'; readonly step: number; readonly side: 'before' | 'after' }
    | { readonly kind: 'instant' | 'wish'; readonly afterMs: number }
  /** Whether the machine loses its power, too. */
  readonly isPowerCut: boolean
  readonly downMs: number
}

/** Size of a world. */
interface Scale {
  readonly hours: number
  readonly labelsMax: number
  readonly isLong: boolean
}

export function scriptOf(seed: number): Script {
  const chance = new Fortune(seed)
  const startMs = Date.UTC(2026, 10, 20, 12) + chance.whole(0, hourMs - 1)
  const scale = scaleOf(chance)
  const healthyMs = startMs + Math.floor(scale.hours * hourMs)
  const span = { startMs, healthyMs }
  const owners = chance.times(1, scale.isLong ? 1 : chance.pick([1, 2, 2, 3]), index => owner(chance, index, span))
  const protocols = protocolsOf(chance, owners, span, scale.isLong)
  const chain = chainScript(seed, span, scale.isLong)
  const wrong = wrongClocks(seed, span, scale.isLong)
  return {
    seed,
    ...span,
    owners,
    protocols,
    collectors: protocols.flatMap(({ id }) =>
      chance.times(1, !scale.isLong && chance.is(0.2) ? 2 : 1, index => ({
        ...collector(chance, id, index, startMs, scale),
        ...(chain ? readsOf(seed, `${id} ${index}`, chain) : {}),
      })),
    ),
    ...(chain && { chain }),
    answerMsMax: chanceOf(seed, 'slow store') < 0.3 ? 50 : 0,
    catchUpMs: chain && chanceOf(seed, 'catch-up') < 0.3 ? 3 * hourMs : 7 * 24 * hourMs,
    backfills: backfills(seed, span, scale.isLong),
    pacePerSecond: chance.pick([1, 5, 5, 20]),
    inFlight: chance.pick([1, 4, 4, 8]),
    service: serviceOf(service(chance, protocols, span, scale), wrong),
    wrongClocks: wrong.wrongClocks,
    ends: chance.times(0, 5, () => end(chance, scale.isLong)),
    fullDisks: chance.is(0.15) ? [fullDisk(chance, span)] : [],
    person: chance.is(0.3) ? chance.times(1, 3, () => visit(chance, span)) : [],
    keepMs: chance.pick([keepMsMin, 35 * 24 * hourMs]),
    isLong: scale.isLong,
    restMsMax: scale.isLong ? 12 * hourMs : chance.pick([300_000, 1_800_000, hourMs]),
  }
}

function scaleOf(chance: Fortune): Scale {
  const kind = chance.roll()
  if (kind < 0.005) return { hours: 30 * 24, labelsMax: 2, isLong: true }
  if (kind < 0.25) return { hours: chance.between(2, 5), labelsMax: 50, isLong: false }
  if (kind < 0.35) return { hours: chance.between(8, 20), labelsMax: 5, isLong: false }
  return { hours: chance.between(2, 6), labelsMax: 12, isLong: false }
}

interface Span {
  readonly startMs: number
  readonly healthyMs: number
}

const within = (chance: Fortune, { startMs, healthyMs }: Span) => Math.floor(chance.between(startMs, healthyMs))

function owner(chance: Fortune, index: number, span: Span): OwnerScript {
  const name = index === 0 ? 'service' : `file:/keys/${index}`
  const rotations = chance.is(0.2)
    ? chance.times(1, 2, () => {
        const atServiceMs = within(chance, span)
        return {
          atServiceMs,
          inFileMs: atServiceMs + Math.floor(chance.between(-0.2, 1) * chance.spread(1000, 3 * hourMs)),
        }
      })
    : []
  rotations.sort((a, b) => a.atServiceMs - b.atServiceMs)
  return { name, rotations, ...(index === 0 ? {} : { keyPath: `/keys/${index}` }) }
}

/** Names of which one begins like another: what is said of one must not be taken for the other. */
const protocolIds = ['vault', 'vault-2', 'my-vault', 'pool', 'pool_2']

function protocolsOf(chance: Fortune, owners: readonly OwnerScript[], span: Span, isLong: boolean): ProtocolScript[] {
  const count = Math.min(protocolIds.length, owners.length + (isLong ? 0 : chance.whole(0, 1)))
  return protocolIds.slice(0, count).map((id, index) => ({
    id,
    owner: owners[index % owners.length]?.name ?? 'service',
    register: chance.is(0.3),
    registeredMs: chance.is(0.15) ? within(chance, span) : 0,
  }))
}

function collector(chance: Fortune, protocolId: string, index: number, startMs: number, scale: Scale): CollectorScript {
  const labels = chance.times(1, scale.labelsMax, number => label(chance, index, number))
  const history = chance.is(0.6)
  const changed = labels[0]
  return {
    id: `${protocolId}/c${index}`,
    protocolId,
    history,
    ...(history && chance.is(0.3) ? { since: hourAfter(hourAt(startMs), -chance.whole(1, 20)) } : {}),
    metrics: Object.fromEntries(labels.map(name => [name, spec(chance)])),
    failing: chance.is(0.3) ? chance.between(0, 0.5) : 0,
    slowMs: chance.is(0.1) ? 2 * hourMs : chance.spread(20, 60_000),
    ...(changed !== undefined && chance.is(0.15) ? { unitChange: changed } : {}),
  }
}

function label(chance: Fortune, collectorIndex: number, number: number): string {
  return `${chance.is(0.03) ? 'ALabelThatIsTooLong' : 'M'}${collectorIndex}${number}`
}

function spec(chance: Fortune): MetricSpec {
  return {
    ...(chance.is(0.8) ? { unit: 'USD' } : {}),
    ...(chance.is(0.1) ? { module: 'vaults' } : {}),
    ...(chance.is(0.5) ? { min: 0 } : {}),
    ...(chance.is(0.03) ? { maxJump: 150 } : {}),
  }
}

function service(chance: Fortune, protocols: readonly ProtocolScript[], span: Span, scale: Scale): ServiceScript {
  const small = () => (chance.is(0.4) ? chance.spread(0.002, 0.05) : 0)
  const skew = () =>
    chance.is(0.5) ? 0 : Math.floor(chance.between(-1, 1) * chance.pick([2_000, 4 * 60_000, 20 * 60_000]))
  const changes = chance.is(0.2) ? [{ fromMs: within(chance, span), skewMs: skew() }] : []
  return {
    dialect: dialect(chance),
    troubles: troubles(
      chance,
      protocols.map(({ id }) => id),
      span,
      scale.isLong,
    ),
    skews: [{ fromMs: 0, skewMs: skew() }, ...changes],
    flaky: chance.is(0.4) ? chance.between(0, 0.15) : 0,
    latencyMs: chance.spread(5, 800),
    bad: small(),
    poison: chance.is(0.2) ? chance.spread(0.001, 0.01) : 0,
    isPoisonMended: chance.is(0.5),
    foreign: small(),
  }
}

function serviceOf(script: ServiceScript, wrong: ReturnType<typeof wrongClocks>): ServiceScript {
  return wrong.wrongClocks.length === 0 ? script : answering(script, wrong.isServiceCalm)
}

function end(chance: Fortune, isLong: boolean): EndScript {
  const downMs = Math.floor(chance.spread(50, chance.pick([60_000, 4 * hourMs])))
  return { at: endAt(chance), isPowerCut: !isLong && chance.is(0.3), downMs }
}

function endAt(chance: Fortune): EndScript['at'] {
  if (chance.is(0.1)) return { kind: 'wish', afterMs: Math.floor(chance.spread(1, 20_000)) }
  if (chance.is(0.2)) return { kind: 'instant', afterMs: Math.floor(chance.spread(100, 5 * hourMs)) }
  return { kind: 'step', step: Math.floor(chance.spread(1, 120)), side: chance.pick(['before', 'after']) }
}

function fullDisk(chance: Fortune, span: Span): Script['fullDisks'][number] {
  const fromMs = within(chance, span)
  const toMs = Math.min(span.healthyMs, fromMs + Math.floor(chance.spread(10_000, 5 * hourMs)))
  return { fromMs, toMs, kind: chance.pick(['pages', 'commits']) }
}

function visit(chance: Fortune, span: Span): Script['person'][number] {
  return { atMs: within(chance, span), act: chance.pick(['release', 'retry', 'drop']) }
}
