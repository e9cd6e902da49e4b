import type { Collector } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef } from '../messages.ts'
import { originOf } from '../origin.ts'
import { declaredMetrics } from './definition.ts'
import { loadCollector } from './load.ts'
import { parseOptions } from './options.ts'

/** A collector ready to run for any hour. */
export interface Prepared {
  readonly definition: Collector
  /** Path of the file, to name places in it; absent for a package, and for a collector that is shipped. */
  readonly file: string | undefined
  /** Whether it is shipped: its user writes a configuration, and no code. */
  readonly isShipped: boolean
  /** Parsed, and frozen because many hours share them. */
  readonly options: unknown
  /** The declared labels. */
  readonly labels: readonly string[]
}

const known = new WeakMap<CollectorRef, Promise<Prepared>>()

/**
 * Loads a collector and parses its options, once for all runs of one message, which share their `ref`. The next message
 * loads it again, so that an edited file is noticed.
 *
 * @throws Fault `collector-unusable`
 */
export function prepare(ref: CollectorRef): Promise<Prepared> {
  const preparing = known.get(ref) ?? prepareOne(ref)
  known.set(ref, preparing)
  return preparing
}

async function prepareOne(ref: CollectorRef): Promise<Prepared> {
  const { definition, file } = await loadCollector(ref)
  const parsed = await parseOptions({ definition }, ref)
  if (!parsed.ok) {
    const [mistake] = parsed.mistakes
    throw new Fault('collector-unusable', `options of ${ref.use}: ${mistake?.path.join('.')}: ${mistake?.message}`)
  }
  if (parsed.secrets.some(id => ref.secrets?.[id] === undefined)) {
    throw new Fault('collector-unusable', `options of ${ref.use} refer to a secret that it is not given`, {
      fix: 'name it in the configuration as { env: NAME } or { file: PATH }; after an edit it is given from the next hour on',
    })
  }
  const labels = Object.keys(declaredMetrics(definition, parsed.options, ref.use))
  const isShipped = originOf(ref).kind === 'shipped'
  return { definition, file: isShipped ? undefined : file, isShipped, options: frozen(parsed.options), labels }
}

/** Freezes plain objects and lists; other values of a schema are left alone. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const part of Object.values(value)) frozen(part)
  return value
}
