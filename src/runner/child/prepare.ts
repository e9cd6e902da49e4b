import type { Collector } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef } from '../messages.ts'
import { declaredMetrics } from './definition.ts'
import { loadCollector } from './load.ts'
import { parseOptions } from './options.ts'

/** What every hour of a collector is run with. */
export interface Prepared {
  readonly definition: Collector
  /** Absent for a package. */
  readonly file: string | undefined
  /** Parsed; frozen, since many hours share them. */
  readonly options: unknown
  /** The declared ones. */
  readonly labels: readonly string[]
}

const known = new WeakMap<CollectorRef, Promise<Prepared>>()

/**
 * Loads a collector and parses its options, once for all runs that came in one message: they share their `ref`. The
 * next message prepares anew, so that an edited file is seen.
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
    throw new Fault('collector-unusable', `options of ${ref.use} ask for a secret that it is not given`, {
      fix: 'name it in the configuration as { env: NAME } or { file: PATH }; after an edit it is given from the next hour on',
    })
  }
  const labels = Object.keys(declaredMetrics(definition, parsed.options, ref.use))
  return { definition, file, options: frozen(parsed.options), labels }
}

/** Plain objects and lists; what else a schema makes is left as it is. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const part of Object.values(value)) frozen(part)
  return value
}
