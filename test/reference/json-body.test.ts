import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServiceRefusal } from '../../src/reference/routes.ts'
import { parseJsonBody } from '../../src/reference/server.ts'
import { startService } from './service.ts'

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))

/** Text that is JSON, whatever it says. The parser is Node's own. */
const accepted = [
  ...['[]', 'null', '-0', '1E22', ' [1 ] ', '{"a":1,"a":2}', '{"a\\u0000b":1}', '["a/*b*/c/*d//e"]'],
  ...['"\\uD801\\udc37"', '"\u2028\u2029"', '"€𝄞"', '123456789012345678901234567890'],
].map(text => bytes(text))

/** Bytes that are not JSON, as other parsers take them, and bytes that are no text. */
const refused: readonly Buffer[] = [
  ...['', ' ', '[', ']', '[1 true]', '[1,]', '[+1]', '[-01]', '[.5]', '[0.e1]', '[0x1]', '[NaN]', '[\uff11]'],
  ...['{"a":1,}', "{'a':0}", '{a: "b"}', '{"a" "b"}', '{1:1}', '{"a":"b"}/**/', '{"a":"b"}//', '{"a":"b"}#'],
  ...[
    '["\\u00A"]',
    '["\\x00"]',
    '["\t"]',
    '["a\u0000a"]',
    '"',
    '[1]x',
    '[][]',
    '{}}',
    '123\u0000',
    '[1,\u00a01]',
    '\ufeff',
  ],
]
  .map(text => bytes(text))
  .concat([
    bytes('["', 0xff, '"]'),
    bytes('"', 0xc0, 0xaf, '"'),
    bytes('"', 0xed, 0xa0, 0x80, '"'),
    bytes('"', 0xf4, 0xbf, 0xbf, 0xbf, '"'),
    bytes(0xef, 0xbb, '{}'),
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
