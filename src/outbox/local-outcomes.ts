import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { makeFolders } from '../edge/make-folders.ts'
import { Fault, type FaultRecord, faultCodes, faultFromRecord, faultRecord } from '../model/fault.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { jsonOf } from '../model/json.ts'
import type { MetricId } from '../model/metric.ts'
import { syncPath } from '../sqlite/sync-path.ts'
import type { CollectionOutcome } from './contract/hours.ts'
import type { Accepted } from './contract/metrics.ts'

interface LocalOutcome {
  /** Name of its file. */
  readonly name: string
  readonly text: string
  readonly outcome: CollectionOutcome
}

const storedHour = z.number().transform((ms): Hour => hourAt(ms))

const storedMetric = z
  .object({
    id: z.custom<MetricId>(id => typeof id === 'string' && id.includes('___')),
    protocolId: z.string(),
    hour: storedHour,
    value: z.number(),
    unit: z.string().exactOptional(),
    module: z.string().exactOptional(),
  })
  .readonly()

const storedOutcome = z.object({
  collector: z.string(),
  hour: storedHour,
  accepted: z.array(
    z.object({
      metric: storedMetric,
      hold: z.object({ kind: z.enum(['bounds', 'jump', 'unit']), reason: z.string() }).exactOptional(),
      isPrivate: z.boolean().exactOptional(),
    }),
  ),
  provenance: z
    .object({
      version: z.string(),
      code: z.string(),
      options: z.string(),
      hosts: z.record(z.string(), z.string()),
    })
    .exactOptional(),
  failed: z
    .object({
      fault: z.custom<FaultRecord>(fault => faultCodes.includes(Reflect.get(Object(fault), 'code'))),
      nextAttemptMs: z.number(),
    })
    .exactOptional(),
})

const suffix = '.json'

/**
 * Outcomes that wait in a local folder while the shared database takes none, one file for a collector and hour. A file is
 * whole and on disk before it appears under its name, so that a power cut or a kill leaves it or none. One daemon has
 * the folder.
 */
export class LocalOutcomes {
  readonly #folder: string

  /** @param folder made with mode 0700 when the first outcome is kept */
  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Keeps an outcome. Values that are kept for its hour already stand, and it adds others.
   *
   * @throws Fault `outbox-unusable` when the folder cannot be written
   */
  keep(outcome: CollectionOutcome): void {
    const { collector, hour, provenance, failure } = outcome
    const digest = createHash('sha256').update(collector).digest('hex').slice(0, 16)
    const name = `${hourText(hour).replaceAll(':', '')}-${digest}${suffix}`
    const accepted = withFirst(this.#read(name)?.outcome.acceptedValues ?? [], outcome.acceptedValues)
    const text = JSON.stringify({
      ...{ collector, hour, accepted, provenance },
      failed: failure && { fault: faultRecord(failure.fault), nextAttemptMs: failure.nextAttemptMs },
    })
    try {
      this.#write(name, text)
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
      throw new Fault('outbox-unusable', `a value cannot be kept in ${this.#folder} (${code})`, {
        fix: 'let the daemon write this folder, or name another one as fleet.folder',
        cause,
      })
    }
  }

  /** All of them, the oldest hours first; a damaged file is left out. */
  all(): readonly LocalOutcome[] {
    return this.#names().flatMap(name => this.#read(name) ?? [])
  }

  /** Deletes an outcome, unless values were added to it since it was read. */
  forget({ name, text }: LocalOutcome): void {
    if (this.#read(name)?.text === text) rmSync(join(this.#folder, name), { force: true })
  }

  /** Number of their hours, and of their collectors. */
  get counts(): { readonly hours: number; readonly collectors: number } {
    const parts = this.#names().map(name => name.split('Z-'))
    return { hours: new Set(parts.map(([hour]) => hour)).size, collectors: new Set(parts.map(([, of]) => of)).size }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder)
        .filter(name => name.endsWith(suffix))
        .sort()
    } catch {
      return []
    }
  }

  #read(name: string): LocalOutcome | undefined {
    try {
      const text = readFileSync(join(this.#folder, name), 'utf8')
      const { accepted, failed, ...rest } = storedOutcome.parse(jsonOf(text))
      const failure = failed && { ...failed, fault: faultFromRecord(failed.fault) }
      const outcome = { ...rest, acceptedValues: accepted, ...(failure && { failure }) }
      return { name, text, outcome }
    } catch {
      return undefined
    }
  }

  #write(name: string, text: string): void {
    makeFolders(this.#folder, 0o700)
    const temporaryFile = join(this.#folder, `${name}.${process.pid}`)
    try {
      writeFileSync(temporaryFile, text, { mode: 0o600, flush: true })
      renameSync(temporaryFile, join(this.#folder, name))
    } finally {
      rmSync(temporaryFile, { force: true })
    }
    syncPath(this.#folder)
  }
}

function withFirst(first: readonly Accepted[], more: readonly Accepted[]): readonly Accepted[] {
  const known = new Set(first.map(({ metric }) => metric.id))
  return [...first, ...more.filter(({ metric }) => !known.has(metric.id))]
}
