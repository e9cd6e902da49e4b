import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServiceRefusal } from '../../src/reference/routes.ts'
import { parseJsonBody } from '../../src/reference/server.ts'
import { startService } from './service.ts'

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))

/** Text that is JSON, whatever it says. */
const accepted: readonly Buffer[] = [
  '[]',
  '{}',
  '""',
  'null',
  'true',
  'false',
  '-0',
  '42',
  '-0.1',
  '1E22',
  '1e-2',
  '1.5e+9',
  '0e+1',
  ' [1 ] ',
  '\t\n\r[1]\n',
  '[[],{}]',
  '[1,null,"a",{"b":[true]}]',
  '{"":0}',
  '{"a":1,"a":2}',
  '{"a\\u0000b":1}',
  '"\\u0060\\u012a\\u12AB"',
  '"\\uD801\\udc37"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"\u007f"',
  '"\u2028\u2029"',
  '"€𝄞"',
  '["a/*b*/c/*d//e"]',
  '"\\u0022"',
  '"\u{10ffff}"',
  '"\ufeff"',
  '[-0.000000000000000000000000000001]',
  '123456789012345678901234567890',
].map(text => bytes(text))

/** Bytes that are not JSON. */
const refused: readonly Buffer[] = [
  '',
  ' ',
  '[',
  ']',
  '{',
  '}',
  '[1 true]',
  '["": 1]',
  '[""],',
  '[,1]',
  '[1,,2]',
  '["x",,]',
  '["x"]]',
  '["",]',
  '["x"',
  '[x',
  '[3[4]]',
  '[1:2]',
  '[,]',
  '[-]',
  '[   , ""]',
  '["a",\n4\n,1,',
  '[1,]',
  '[*]',
  '[fals]',
  '[nul]',
  '[tru]',
  '123\u0000',
  '[++1234]',
  '[+1]',
  '[+Inf]',
  '[-01]',
  '[-1.0.]',
  '[-2.]',
  '[-NaN]',
  '[.-1]',
  '[.2e-3]',
  '[0.1.2]',
  '[0.3e+]',
  '[0.e1]',
  '[0E]',
  '[1.0e-]',
  '[1 000.0]',
  '[1eE2]',
  '[2.e3]',
  '[Inf]',
  '[NaN]',
  '[\uff11]',
  '[1+2]',
  '[0x1]',
  '[Infinity]',
  '[-Infinity]',
  '[- 1]',
  '[-012]',
  '[-.123]',
  '[1ea]',
  '[.123]',
  '[1.2a-3]',
  '[012]',
  '["x", truth]',
  '{[: "x"}',
  '{"x", null}',
  '{"x"::"b"}',
  '{"a":"a" 123}',
  "{key: 'value'}",
  '{"a" b}',
  '{:"b"}',
  '{"a" "b"}',
  '{"a":',
  '{"a"',
  '{1:1}',
  '{null:null}',
  '{"id":0,,,,,}',
  "{'a':0}",
  '{"id":0,}',
  '{"a":"b"}/**/',
  '{"a":"b"}//',
  '{"a":"b",,"c":"d"}',
  '{a: "b"}',
  '{"a":"a',
  '{"x": 1, "x"}',
  '{"a":"b"}#',
  '["\\uD800\\"]',
  '["\\uD800\\u"]',
  '["\\u00A"]',
  '["\\x00"]',
  '["\\\\\\"]',
  '["\\\t"]',
  '["\\🌀"]',
  '["\\"]',
  '["\\uD834\\uDd"]',
  '["\\a"]',
  '["\\uqqqq"]',
  '[\\u0020"asd"]',
  '[\\n]',
  '"',
  "['single']",
  'abc',
  '["\\',
  '["a\u0000a"]',
  '["new\nline"]',
  '["\t"]',
  '"\\UA66D"',
  '""x',
  '<.>',
  '[1]x',
  '["asd]',
  'a\u00e5',
  '[True]',
  '[1]]',
  '{"x": true,',
  '[][]',
  '2@',
  '{}}',
  '{"":',
  '{"a":/*c*/"b"}',
  '{"a": true} "x"',
  "['",
  '[,',
  '[{',
  '["a',
  '["a"',
  '{,',
  '{[',
  '{"a',
  "{'a'",
  '["\\{["\\{',
  '\u00e9',
  '*',
  '{"a":"b"}#{}',
  '[\\u000A""]',
  '[1',
  '[ false, nul',
  '[ true, fals',
  '{"asd":"asd"',
  '\u2060',
  '[\u2060]',
  '[\f]',
  '[\v]',
  '\ufeff',
  '[a\u00e9]',
  '[1,\u00a01]',
]
  .map(text => bytes(text))
  .concat([
    bytes('[a', 0xe5, ']'),
    bytes('["', 0xff, '"]'),
    bytes('[', 0xff, ']'),
    bytes('[123', 0xe5, ']'),
    bytes('["\\u', 0xe5, '"]'),
    bytes('["\\', 0xe5, '"]'),
    bytes('{"x":"x",', 0xb9, ':"0",}'),
    bytes(0xef, 0xbb, '{}'),
    bytes(0xe5),
    bytes('"', 0xc0, 0xaf, '"'),
    bytes('"', 0xed, 0xa0, 0x80, '"'),
    bytes('"', 0xf4, 0xbf, 0xbf, 0xbf, '"'),
    bytes('"', 0xe0, 0xff, '"'),
    bytes(0xff, 0xfe, '[', 0),
    bytes('['.repeat(100_000)),
    bytes('[{"":'.repeat(50_000)),
  ])

describe('a body', () => {
  it.each(accepted.map(body => [body.toString()]))('of %j is JSON', async text => {
    expect(parseJsonBody(Buffer.from(text))).toEqual(JSON.parse(text))
  })

  it('that is JSON is refused for what it says, with 400, and one that is not as no JSON, with 400', async () => {
    const { post, key, reported } = await startService()
    for (const body of accepted) {
      const { status, body: answer } = await post('/api/metrics', body, key)
      expect([status, answer], body.toString()).toEqual([
        400,
        expect.objectContaining({ error: expect.stringMatching(/^invalid body/) }),
      ])
    }
    for (const body of refused) {
      const { status, body: answer } = await post('/api/metrics', body, key)
      expect([status, answer], body.subarray(0, 40).toString()).toEqual([
        400,
        expect.objectContaining({
          success: false,
          error: expect.stringMatching(/^the body is not (JSON|valid UTF-8)/),
        }),
      ])
    }
    expect(reported).toEqual([])
  })

  it('may be nested as deeply as its size allows', async () => {
    const { post, key } = await startService()
    const deep = (inner: string) => `{"x":${'['.repeat(200_000)}"${inner}"${']'.repeat(200_000)}}`
    for (const inner of ['', '\\u0041']) expect((await post('/api/metrics', deep(inner), key)).status).toBe(400)
  })

  it('says where it breaks, and quotes nothing of it', () => {
    const broken = Buffer.from('{"metrics": secret}')
    expect(() => parseJsonBody(broken)).toThrow(ServiceRefusal)
    expect(() => parseJsonBody(broken)).not.toThrow(/secret/)
    expect(() => parseJsonBody(Buffer.from('[1 2]'))).toThrow(/at position 3 \(line 1 column 4\)/)
  })

  it.each(['{"__proto__":{"value":1}}', '{"a":[{"\\u005f_proto__":1}]}', '{"__pro\\u0074o__":null}'])(
    'with the key __proto__ is refused: %s',
    text => {
      expect(() => parseJsonBody(Buffer.from(text))).toThrow(/__proto__/)
      expect(Object.prototype).not.toHaveProperty('value')
    },
  )

  it('cannot lend a metric fields by other names of a prototype', async () => {
    const { post, key } = await startService()
    const lent = '{"metrics":[{"id":"vault___A","protocolId":"vault","constructor":{"prototype":{"value":1}}}]}'
    const { status, body } = await post('/api/metrics', lent, key)
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: [{ field: 'value', message: 'is missing' }] })
    expect({}).not.toHaveProperty('value')
  })

  it('may begin with a byte order mark', () => {
    expect(parseJsonBody(bytes(0xef, 0xbb, 0xbf, '{}'))).toEqual({})
  })

  it('of any JSON is what JSON.parse makes of it, and of any bytes never another error than a refusal', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), text => {
        fc.pre(!/__proto__|\\u/.test(text))
        expect(parseJsonBody(Buffer.from(text))).toEqual(JSON.parse(Buffer.from(text).toString()))
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array(), array => {
        try {
          parseJsonBody(Buffer.from(array))
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceRefusal)
        }
      }),
    )
  })
})
