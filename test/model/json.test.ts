import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonOf, jsonWithNumbersAsText, parsedJson } from '../../src/model/json.ts'

const bounds = { bytesMax: 1_000, depthMax: 4, partsMax: 10 }
const nested = (depth: number, opening: string, closing: string) => `${opening.repeat(depth)}1${closing.repeat(depth)}`

describe('a JSON text', () => {
  it.each([
    ['lists within lists', nested(5, '[', ']'), /nests deeper than 4$/],
    ['objects within objects', nested(5, '{"a":', '}'), /nests deeper than 4$/],
    ['lists that are never closed', '['.repeat(900), /nests deeper than 4$/],
    ['objects in a row', `[${'{},'.repeat(9)}1]`, /more than 10 parts$/],
    ['small numbers', `[${'1,'.repeat(10)}1]`, /more than 10 parts$/],
    [
      'members',
      JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [n, n]))),
      /more than 10 parts$/,
    ],
    ['parts after a text with escapes', `["\\\\\\"",${'1,'.repeat(10)}1]`, /more than 10 parts$/],
    ['one text', JSON.stringify('x'.repeat(1_000)), /longer than 1000 bytes$/],
  ])('of %s is refused before it is parsed', (_, text, says) => {
    expect(() => jsonOf(text, bounds)).toThrow(says)
    expect(parsedJson(text, bounds)).toBeUndefined()
  })

  it.each([
    ['at the bounds', nested(4, '[', ']')],
    ['with as many parts', `[${'1,'.repeat(9)}1]`],
    ['with brackets and commas in a text', JSON.stringify('[{,'.repeat(100))],
    ['with escaped quotation marks', JSON.stringify({ '"[[[[[[,,,,,,': '\\"[[[[[[\\\\', '\\': '\\"{,' })],
  ])('%s is read', (_, text) => {
    expect(jsonOf(text, bounds)).toEqual(JSON.parse(text))
  })

  it('without bounds of its own has those of everything', () => {
    expect(parsedJson(nested(65, '[', ']'))).toBeUndefined()
    expect(() => jsonWithNumbersAsText(nested(65, '{"a":', '}'))).toThrow(/nests deeper/)
    expect(parsedJson(nested(64, '[', ']'))).toBeDefined()
  })

  it('is what the parser reads, or is refused by both', () => {
    const text = fc.oneof(fc.json({ maxDepth: 3 }), fc.string(), fc.stringMatching(/^[\\"[\]{},:1]{0,30}$/))
    fc.assert(
      fc.property(text, some => {
        const read = (parse: (text: string) => unknown) => {
          try {
            return { value: parse(some) }
          } catch (error) {
            return error instanceof SyntaxError
          }
        }
        expect(read(jsonOf)).toEqual(read(JSON.parse))
      }),
    )
  })
})
