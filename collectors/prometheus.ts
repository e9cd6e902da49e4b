import { defineCollector, type Hour, type Http, headers, hourText, z } from 'tidegauge'
import { declaration, declared, labelOption } from './values/declared.ts'
import { decimalNumber, fractionOf, nearestNumber } from './values/fraction.ts'

const path = '/api/v1/query'

/** The path of an address, without slashes at its end. */
function basePath(url: string): string {
  const parts = new URL(url).pathname.split('/')
  return parts.slice(0, parts.findLastIndex(part => part !== '') + 1).join('/')
}

const wrongQuery = 'must be a PromQL expression like sum(up)'

const value = z.strictObject({
  query: z
    .string({ error: wrongQuery })
    .regex(/\S/, { error: wrongQuery })
    .describe('PromQL: a scalar, or a vector of one sample'),
  ...declared,
})

const options = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .refine(url => !basePath(url).endsWith(path), {
      error: `must be the address of the server: ${path} is added to it`,
    })
    .describe(`address of the server, without ${path}`),
  headers: headers.optional().describe('what is secret is { env: NAME } or { file: PATH }'),
  values: z
    .record(labelOption, value)
    .refine(values => Object.keys(values).length > 0, { error: 'must hold a value' })
    .describe('by label'),
})

/**
 * Instant queries of a Prometheus server, or of one with the same API, evaluated at the hour. A query returns a scalar
 * or a vector of one sample. Each fails alone.
 */
export default defineCollector({
  options,
  metrics: ({ values }) =>
    Object.fromEntries(Object.entries(values).map(([label, each]) => [label, declaration(each)])),
  history: true,
  async collect({ options, hour, http, log }) {
    const ask = async (label: string, query: string) => {
      const answer = await answerTo(query, options, hour, http)
      for (const remark of answer.infos ?? []) log.debug(`${label}: ${remark}`)
      return numberOf(answer, hour)
    }
    return Object.fromEntries(Object.entries(options.values).map(([label, { query }]) => [label, ask(label, query)]))
  },
})

/** Seconds since 1970, and the value as text. */
const sample = z.tuple([z.number(), z.string()])
/** A series with a histogram has no value. */
const series = z.object({ value: sample.optional() })
const remarks = z.array(z.string()).nullish()

const answered = z.object({
  status: z.literal('success'),
  warnings: remarks,
  infos: remarks,
  data: z.discriminatedUnion('resultType', [
    z.object({ resultType: z.literal('scalar'), result: sample }),
    z.object({ resultType: z.literal('vector'), result: z.array(series) }),
    z.object({ resultType: z.literal('matrix') }),
    z.object({ resultType: z.literal('string') }),
  ]),
})
const refused = z.object({ status: z.literal('error'), error: z.string() })

type PrometheusAnswer = z.output<typeof answered>

/** Statuses of an invalid query and of one that cannot be executed. */
const refusals = [400, 422]

async function answerTo(query: string, { url, headers }: z.output<typeof options>, hour: Hour, http: Http) {
  const address = new URL(url)
  address.pathname = basePath(url) + path
  address.searchParams.set('query', query)
  address.searchParams.set('time', String(hour / 1000))
  const schema = z.discriminatedUnion('status', [answered, refused])
  const answer = await http.json(address.href, schema, { headers, statuses: refusals })
  if (answer.status === 'error') throw new Error(`${address.host} refuses the query: ${words([answer.error])}`)
  return answer
}

/** @throws Error unless the answer is one number of that hour, and whole */
function numberOf({ warnings, data }: PrometheusAnswer, hour: Hour): number {
  // A store that could not be read is a warning: the number may then lack a part.
  if (warnings && warnings.length > 0)
    throw new Error(`the answer has warnings: ${words(warnings)}: look into the server, as the number may lack a part`)
  const [seconds, text] = sampleOf(data)
  if (Math.round(seconds * 1000) !== hour) {
    throw new Error(
      `the answer is of ${new Date(seconds * 1000).toISOString()}, and not of ${hourText(hour)}: look whether a cache is in between`,
    )
  }
  if (!decimalNumber.test(text))
    throw new Error(`the query gives ${text}, which is not a number: let the query give one`)
  return nearestNumber(fractionOf(text))
}

function sampleOf(data: PrometheusAnswer['data']): z.output<typeof sample> {
  if (data.resultType === 'scalar') return data.result
  if (data.resultType === 'matrix') {
    throw new Error('the query gives samples of a range: make one of them, as with increase() or avg_over_time()')
  }
  if (data.resultType === 'string')
    throw new Error('the query gives a string, and not a number: write one that gives a scalar or a vector')
  const [first, ...furtherSeries] = data.result
  if (!first) {
    throw new Error(
      'the query gives no sample at the hour: the server looks back 5 minutes, unless configured otherwise',
    )
  }
  if (furtherSeries.length > 0) {
    throw new Error(`the query gives ${data.result.length} samples: add them with sum(), or select one by its labels`)
  }
  if (!first.value) throw new Error('the query gives a histogram: take a number of it with histogram_quantile()')
  return first.value
}

function words(remarks: readonly string[]): string {
  return remarks
    .map(remark => remark.slice(0, 200))
    .slice(0, 3)
    .join('; ')
}
