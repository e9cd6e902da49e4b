import { dirname, resolve } from 'node:path'
import type { OptionMistake, SecretRef } from './config.ts'

/** A secret that a collector's options ask for, and where in them. */
export interface OptionSecret {
  readonly ref: SecretRef
  readonly path: OptionMistake['path']
}

/**
 * Whatever in a collector's options has the form of a secret's place: a map that is `{ env: NAME }` or `{ file: PATH }`
 * and nothing else. Whether it is one is decided by the collector's schema.
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

/** The same text for the same place, a different one for any other. */
export function secretId(ref: SecretRef): string {
  return ref.kind === 'env' ? `env ${ref.name}` : `file ${ref.path}`
}
