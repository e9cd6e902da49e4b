import { type CollectContext, defineCollector, path, secret, z } from 'tidegauge'
import { numberIn } from './sql/row.ts'
import { asksHour, sqliteMistake, statementMistake } from './sql/statement.ts'
import { declaration, declared, labelOption } from './values/declared.ts'
import { nearestNumber, scaled } from './values/fraction.ts'

const wrongQuery = 'must be a query that reads: SELECT …, or WITH … SELECT …'

const value = z.strictObject({
  column: z.string().min(1).optional().describe('its name in the row; the label, where nothing else is written'),
  decimals: z
    .int({ error: 'must be a whole number from 0 to 255' })
    .min(0)
    .max(255)
    .optional()
    .describe('of an amount in smallest units: with 6, the number 1500000 is 1.5'),
  ...declared,
})

const options = z
  .strictObject({
    postgres: secret.optional().describe('a PostgreSQL database: { env: NAME } or { file: PATH } of its address'),
    path: path.optional().describe('a SQLite database: its file'),
    query: z
      .string({ error: wrongQuery })
      .superRefine((query, context) => {
        const mistake = statementMistake(query)
        if (mistake) context.addIssue({ code: 'custom', message: mistake })
      })
      .describe('returns one row; $hour, $hourSeconds or $hourMs is the hour, and with it past hours can be read'),
    values: z
      .record(labelOption, value)
      .refine(values => Object.keys(values).length > 0, { error: 'must hold a value' })
      .describe('by label'),
  })
  .superRefine(({ postgres, path, query }, context) => {
    const tell = (option: string[], message: string) => context.addIssue({ code: 'custom', path: option, message })
    if (postgres === undefined && path === undefined) tell([], 'must have a database: postgres or path')
    if (postgres !== undefined && path !== undefined) tell(['path'], 'belongs to SQLite, and postgres is given, too')
    const mistake = path === undefined || statementMistake(query) ? undefined : sqliteMistake(query)
    if (mistake) tell(['query'], mistake)
  })

/**
 * Numbers out of the one row that a query of a PostgreSQL or SQLite database returns, each a column by its name. The
 * database is only read. Integers and decimals are exact, and rounded once, to the nearest double. A query that asks
 * for the hour can read the past; any other reads only the present.
 */
export default defineCollector({
  options,
  metrics: ({ values }) =>
    Object.fromEntries(Object.entries(values).map(([label, each]) => [label, declaration(each)])),
  history: ({ query }) => asksHour(query),
  async collect({ options, hour, deadlineMs, signal }) {
    const row = await rowOf(options, { hour, deadlineMs, signal })
    const read = async (label: string, { column = label, decimals = 0 }: z.output<typeof value>) =>
      nearestNumber(numberIn(row, column).mul(scaled(1n, decimals)))
    return Object.fromEntries(Object.entries(options.values).map(([label, each]) => [label, read(label, each)]))
  },
})

type Options = z.output<typeof options>
type Run = Pick<CollectContext<Options>, 'hour' | 'deadlineMs' | 'signal'>

/** Drivers are loaded when first used: only one of them is needed. */
async function rowOf({ postgres, path, query }: Options, run: Run) {
  if (path !== undefined) {
    const { sqliteRow } = await import('./sql/sqlite.ts')
    return sqliteRow(path, query, run.hour)
  }
  const { postgresRow } = await import('./sql/postgres.ts')
  return postgresRow({ address: postgres ?? '', query, ...run })
}
