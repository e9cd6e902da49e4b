import { z } from 'zod'
import { optionsEdge } from '../edge/options-edge.ts'
import { isHeaderName, isSecretHeader } from '../model/host.ts'

const wrong = 'must be { env: NAME } or { file: PATH }: a secret is kept elsewhere, and never written here'
const notName = 'must be the name of an environment variable, like API_KEY: not its value, and without a $'
const notPath = 'must be the path of a file that holds the secret, whole or relative to the configuration file'

/**
 * Options schema for a secret, such as an API key. The configuration says where the secret is kept, `{ env: NAME }` or
 * `{ file: PATH }`; a literal is refused. It parses to the secret as text, read again at each run. `metrics` and
 * `history` see a placeholder. The daemon redacts it in everything the collector logs or throws.
 *
 * @example
 * ```ts
 * options: z.strictObject({ apiKey: secret }) // apiKey: { env: API_KEY }
 * ```
 */
export const secret = z
  .strictObject(
    {
      env: z
        .string({ error: notName })
        .regex(/^[A-Za-z_]\w*$/, { error: notName })
        .optional(),
      file: z
        .string({ error: notPath })
        .regex(/^(?!\s*$|~|[a-z]+:\/\/)/i, { error: notPath })
        .optional(),
    },
    { error: ({ code }) => (code === 'invalid_type' ? wrong : undefined) },
  )
  .transform((written, context): string => {
    if ((written.env === undefined) !== (written.file === undefined)) return optionsEdge.secret(written)
    // An unknown key has its own message.
    if (context.issues.length > 0) return z.NEVER
    context.addIssue({ code: 'custom', message: wrong })
    return z.NEVER
  })
  .meta({ description: 'Where it is kept: { env: NAME } or { file: PATH }.', minProperties: 1, maxProperties: 1 })

const notHeader = 'must have the name of a header, like x-api-key'
const header = z.string({ error: 'must be text' }).regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, {
  error: 'must be visible ASCII characters, and blanks between them',
})

/**
 * Options schema for request headers: each a text or a `secret`. `authorization`, `cookie`, and names with key, token,
 * secret or password in them must be secrets.
 *
 * @example
 * ```ts
 * options: z.strictObject({ headers: headers.optional() })
 * ```
 */
export const headers = z
  .record(z.string(), z.unknown())
  .superRefine((all, context) => {
    for (const [name, value] of Object.entries(all)) {
      const isOpen = typeof value === 'string' && isSecretHeader(name)
      if (isOpen) context.addIssue({ code: 'custom', path: [name], message: wrong })
      if (!isHeaderName(name)) context.addIssue({ code: 'custom', path: [name], message: notHeader })
    }
  })
  .pipe(z.record(z.string(), z.union([header, secret])))
