import { z } from 'zod'
import type { TextParser } from './parsed-text.ts'
import { environmentName, environmentNamePattern, path } from './text-parsers.ts'

/** Meaning of a key, for editors and messages: `examples` are as written in the file. */
export interface Meaning {
  /** One sentence for editors. */
  readonly description: string
  /** Values as written in the file. */
  readonly examples?: readonly unknown[]
  /** Pattern of valid texts, for editors only. */
  readonly pattern?: string
}

/** Schema of a text that a parser of text-parsers.ts or addresses.ts takes. */
export function textField<T>(parser: TextParser<T>, meaning: Meaning) {
  const { description, examples, pattern } = meaning
  const text = z.string().meta({ description, ...(examples && { examples }), ...(pattern && { pattern }) })
  return text.transform((value, context) => {
    const taken = parser(value)
    if (taken.ok) return taken.value
    const { message, fix } = taken.mistake
    context.addIssue({ code: 'custom', message, params: { fix } })
    return z.NEVER
  })
}

/** Where a secret is kept: `{ file: … }` or `{ env: … }`, exactly one. */
export const secretRef = z
  .strictObject({
    file: textField(path, {
      description: 'File that holds the secret and nothing else; relative to this file.',
    }).optional(),
    env: textField(environmentName, {
      description: 'Environment variable that holds the secret.',
      pattern: environmentNamePattern,
    }).optional(),
  })
  .transform(({ file, env }, context) => {
    if (file !== undefined && env === undefined) return { kind: 'file' as const, path: file }
    if (env !== undefined && file === undefined) return { kind: 'env' as const, name: env }
    const message = file === undefined ? 'says neither file nor env' : 'says both file and env'
    context.addIssue({ code: 'custom', message, params: { fix: 'write one of { file: … } and { env: … }' } })
    return z.NEVER
  })

/** An API key, which is never written in the file. */
export const key = secretRef.meta({
  description: 'Where the API key is kept. It is read when needed, and never written in this file.',
  examples: [{ file: '/run/secrets/metrics_key' }, { env: 'METRICS_KEY' }],
  minProperties: 1,
  maxProperties: 1,
})
