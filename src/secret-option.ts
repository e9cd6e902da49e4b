import { z } from 'zod'
import { optionsEdge } from './options-edge.ts'

const wrong = 'must be { env: NAME } or { file: PATH }: a secret is kept elsewhere, and never written here'
const notName = 'must be the name of an environment variable, like API_KEY: not its value, and without a $'
const notPath = 'must be the path of a file that holds the secret, whole or relative to the configuration file'

/**
 * Options schema for a secret, such as an API key: `options: z.strictObject({ apiKey: secret })`. The configuration says
 * where it is kept, `{ env: NAME }` or `{ file: PATH }`; what it parses is the secret as text, read at each run. While
 * options are only looked at, for `metrics` and `history`, a placeholder stands for it. The daemon redacts it in all
 * that a collector says.
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
    // An unknown key is told by itself.
    if (context.issues.length > 0) return z.NEVER
    context.addIssue({ code: 'custom', message: wrong })
    return z.NEVER
  })
