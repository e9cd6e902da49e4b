import pointer from 'jsonpointer'
import { defineCollector, z } from 'tidegauge'

/**
 * One number out of any JSON answer, at a JSON pointer (RFC 6901: `/prices/0/usd`; an empty one is the whole answer).
 * A text that is a decimal number, as many price services answer, counts as that number. A source tells only what is
 * true now: no past.
 */
export default defineCollector({
  options: z.strictObject({
    url: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
    pointer: z.string().regex(/^(\/([^~/]|~[01])*)*$/, { error: 'must be a JSON pointer like /prices/0/usd' }),
    label: z.string().max(16).default('Value'),
    unit: z.string().optional(),
    min: z.number().optional().describe('a value below is held for a person to look at'),
    max: z.number().optional().describe('a value above is held for a person to look at'),
  }),
  metrics: ({ label, unit, min, max }) => ({ [label]: { unit, min, max } }),
  history: false,
  async collect({ options, http }) {
    const answer = z.unknown().transform(json => valueAt(json, options.pointer))
    const error = `there is no number at ${options.pointer || 'the root'}`
    const number = z.union(
      [
        z.number(),
        z
          .string()
          .regex(/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i)
          .transform(Number),
      ],
      { error },
    )
    return { [options.label]: await http.json(options.url, answer.pipe(number)) }
  },
})

function valueAt(json: unknown, path: string): unknown {
  if (path === '') return json
  return typeof json === 'object' && json !== null ? pointer.get(json, path) : undefined
}
