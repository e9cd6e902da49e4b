import { deliveryHolder } from '../outbox/lock.ts'
import type { Surroundings } from '../surroundings.ts'
import { type ConfigOption, typed } from './setting.ts'

/** Who pushes what is due, or how to have it pushed. */
export function deliveryWords(surroundings: Surroundings, options: ConfigOption): string {
  const holder = holderWords(surroundings)
  if (holder === undefined) return `no daemon runs; push with ${typed('flush', options)}`
  return `the running daemon (${holder}) pushes`
}

/** `pid 7, since 2026-11-20T13:00:04Z`; `undefined` when nobody delivers from this outbox. */
export function holderWords({ config }: Surroundings): string | undefined {
  const holder = deliveryHolder(config.data)
  if (!holder) return undefined
  const { pid = 'unknown', since, config: file } = holder
  const parts = [`pid ${pid}`, ...(since === undefined ? [] : [`since ${since.replace(/\.\d+Z$/, 'Z')}`])]
  return [...parts, ...(file === undefined || file === config.file ? [] : [`configuration ${file}`])].join(', ')
}
