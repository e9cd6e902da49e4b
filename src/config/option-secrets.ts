import { dirname, resolve } from 'node:path'
import type { OptionMistake, SecretRef } from './config.ts'

/** A secret that a collector's options refer to, and its path in them. */
export interface OptionSecret {
  readonly ref: SecretRef
  readonly path: OptionMistake['path']
}

/**
 * Finds all maps in a collector's options that have the form of a secret's place, `{ env: NAME }` or `{ file: PATH }`
 * and nothing else. The collector's schema decides whether they are secrets.
 */
export function secretsWritten(options: unknown, configFile: string, path: OptionSecret['path'] = []): OptionSecret[] {
  if (typeof options !== 'object' || options === null) return []
  if (Array.isArray(options)) {
    return options.flatMap((part, index) => secretsWritten(part, configFile, [...path, index]))
  }
  const ref = refOf(options, configFile)
  if (ref) return [{ ref, path }]
  return Object.entries(options).flatMap(([name, part]) => secretsWritten(part, configFile, [...path, name]))
}

function refOf(map: object, configFile: string): SecretRef | undefined {
  const [entry, ...others] = Object.entries(map)
  if (!entry || others.length > 0) return undefined
  const [kind, where]: [string, unknown] = entry
  if (typeof where !== 'string') return undefined
  if (kind === 'env') return { kind, name: where }
  return kind === 'file' ? { kind, path: resolve(dirname(configFile), where) } : undefined
}

/** Id of a secret's place: equal for equal places, different for others. */
export function secretId(ref: SecretRef): string {
  return ref.kind === 'env' ? `env ${ref.name}` : `file ${ref.path}`
}
