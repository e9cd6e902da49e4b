import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asksHour, namedValues, numbered, statementMistake } from '../../../collectors/sql/statement.ts'
import { hour } from '../../runner/setup.ts'

/** Any text, and often the words that matter in a statement. */
const words = fc.array(
  fc.oneof(fc.constantFrom('$hour', ';', "'", '"', '--', '*/', '$1', '$hourMs', '\n'), fc.string()),
)
const text = words.map(parts => parts.join(''))

/** Ways to write a text into a statement so that nothing of it is code. */
const hidden = fc.oneof(
  text.map(inner => `'${inner.replaceAll("'", "''")}'`),
  text.map(inner => `"${inner.replaceAll('"', '""')}"`),
  text.map(inner => `/*${inner.replaceAll('/', '')}*/`),
  text.map(inner => `--${inner.replaceAll('\n', '')}\n`),
  text.map(inner => `$tag$${inner.replaceAll('$', '')}; :x$tag$`),
)

describe('a statement', () => {
  it('asks for the hour where it stands in its code, and nowhere else', () => {
    fc.assert(
      fc.property(fc.array(hidden), fc.array(hidden), (before, after) => {
        const without = ['SELECT', ...before, '1', ...after].join(' ')
        expect(asksHour(without)).toBe(false)
        expect(statementMistake(without)).toBeUndefined()
        expect(numbered(without, hour)).toEqual({ text: without, values: [] })
        const asking = ['SELECT', ...before, '$hour + $hourMs + $hour', ...after, ';'].join(' ')
        expect(asksHour(asking)).toBe(true)
        expect(statementMistake(asking)).toBeUndefined()
        expect(numbered(asking, hour)).toEqual({
          text: ['SELECT', ...before, '($1::timestamptz) + ($2::bigint) + ($1::timestamptz)', ...after, ';'].join(' '),
          values: ['2026-11-20T13:00:00Z', String(hour)],
        })
        expect(statementMistake(`${asking} SELECT 1`)).toContain('must be one statement')
      }),
    )
  })

  it('has every form of the hour by name', () => {
    expect(namedValues(hour)).toEqual({
      hour: '2026-11-20T13:00:00Z',
      hourSeconds: BigInt(hour) / 1000n,
      hourMs: BigInt(hour),
    })
  })

  it.for([
    'SELECT 1 FROM t$hour',
    "SELECT E'it\\'s $hour; ' || 1",
    'SELECT $$ $hour; $$',
    '( SELECT 1 )',
    'with x AS (SELECT 1) SELECT * FROM x;',
    'VALUES (1)',
  ])('%s is one that reads, and does not ask for the hour', statement => {
    expect(statementMistake(statement)).toBeUndefined()
    expect(asksHour(statement)).toBe(false)
  })
})
