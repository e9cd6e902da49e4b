import { z } from 'zod'
import { isHeaderName, isSecretHeader } from '../../model/header-name.ts'
import { parsed, refused } from './parsed-text.ts'
import { secretRef, textField } from './text-field.ts'

/** Headers that are set by the HTTP client. */
const ownNames = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const text = textField(
  value =>
    /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)
      ? parsed({ kind: 'text' as const, text: value })
      : refused('a header holds visible ASCII characters, and blanks between them', 'write it on one line'),
  { description: 'The value itself, if it is not a secret.' },
)

/** Headers of a request by name: a text, or where a secret is kept. */
export const headers = z
  .record(z.string(), z.union([text, secretRef]))
  .superRefine((all, context) => {
    for (const [name, value] of Object.entries(all)) {
      const wrong = mistakeIn(name, value.kind === 'text')
      if (wrong) context.addIssue({ code: 'custom', path: [name], message: wrong[0], params: { fix: wrong[1] } })
    }
  })
  .meta({
    description:
      'Headers of its requests. Secrets are kept elsewhere: authorization, cookie, and names with key, token or secret.',
    examples: [{ authorization: { env: 'RPC_TOKEN' } }],
  })

function mistakeIn(name: string, isText: boolean): readonly [message: string, fix: string] | undefined {
  if (!isHeaderName(name)) return ['this is not the name of a header', 'write it like authorization']
  if (ownNames.has(name.toLowerCase())) return ['this header is set by tidegauge itself', 'remove it']
  if (!isText || !isSecretHeader(name)) return undefined
  return [
    'a secret is never written in this file, only its place',
    'write { env: RPC_TOKEN } or { file: /run/secrets/rpc_token }',
  ]
}
