import { z } from 'zod'

/** One mistake of a request, or one warning: its place and its text. */
export const remark = z
  .object({
    index: z.int().min(0).optional().meta({ description: 'Place in the array, counted from 0' }),
    id: z.string().optional().meta({ description: 'Id of the metric, as sent' }),
    field: z.string().optional().meta({ description: 'Name of the field' }),
    message: z.string().meta({ description: 'What is wrong, as a sentence' }),
  })
  .meta({ id: 'Remark' })
export type RefusalRemark = z.infer<typeof remark>

/** Body of every answer that is not 2xx. */
export const refused = z
  .object({
    success: z.literal(false),
    error: z.string().meta({ description: 'What is wrong, in one line' }),
    errors: z.array(remark).meta({ description: 'Every single mistake, where the request has any to point at' }),
  })
  .meta({ id: 'Refused' })
export type RefusalBody = z.infer<typeof refused>

/** A refused request, with its status. The text is sent to the client and never holds a key. */
export class ServiceRefusal extends Error {
  override readonly name = 'Refusal'
  readonly statusCode: number
  readonly remarks: readonly RefusalRemark[]

  constructor(statusCode: number, message: string, remarks: readonly RefusalRemark[] = []) {
    super(message)
    this.statusCode = statusCode
    this.remarks = remarks
  }

  get body(): RefusalBody {
    return { success: false, error: this.message, errors: [...this.remarks] }
  }
}

/** Refusal 400 for all mistakes a schema found in a part of a request (`body`, `querystring`, `params`). */
export function invalid(part: string, error: z.ZodError): ServiceRefusal {
  return refusedFor(part, error.issues.map(remarkOf))
}

/** Refusal 400 that quotes the first remark and counts the others. */
export function refusedFor(part: string, remarks: readonly RefusalRemark[]): ServiceRefusal {
  const more = remarks.length > 1 ? ` (and ${remarks.length - 1} more: see errors)` : ''
  return new ServiceRefusal(400, `invalid ${part}: ${sentence(remarks[0])}${more}`, remarks)
}

function remarkOf({ path, message }: z.core.$ZodIssue): RefusalRemark {
  const index = path.find(part => typeof part === 'number')
  const field = path.findLast(part => typeof part === 'string')
  return {
    ...(index === undefined ? {} : { index }),
    ...(field === undefined ? {} : { field }),
    message: message.replace(/^Invalid input: /, ''),
  }
}

/** `[3] value: is missing` */
function sentence(remark: RefusalRemark | undefined): string {
  if (!remark) return ''
  const place = [remark.index === undefined ? '' : `[${remark.index}]`, remark.field ?? ''].filter(part => part !== '')
  return place.length === 0 ? remark.message : `${place.join(' ')}: ${remark.message}`
}
