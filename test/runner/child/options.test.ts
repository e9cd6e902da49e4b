import { expect, it } from 'vitest'
import { z } from 'zod'
import { address, type Collector } from '../../../src/collector.ts'
import { parseOptions } from '../../../src/runner/child/load.ts'
import { faultOf } from '../../../src/runner/child/thrown.ts'

async function mistakesOf(schema: z.ZodType, options: unknown): Promise<string[]> {
  const definition: Collector = { options: schema, metrics: {}, history: true, collect: () => ({}) }
  const ref = { id: 'a/b', use: 'b', configFile: '/t.yaml', options }
  const parsed = await parseOptions({ definition }, ref)
  if (parsed.ok) return []
  return parsed.mistakes.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const jargon = /Invalid|expected|received|undefined|NaN|object|string|array|boolean|Too (big|small)|Unrecognized/

it.each<[z.ZodType, unknown, string]>([
  [z.string(), 5, 'must be text, not a number'],
  [z.string(), null, 'must be text, not nothing'],
  [z.string(), undefined, 'must be text'],
  [z.string(), ['a'], 'must be text, not a list'],
  [z.string(), { a: 1 }, 'must be text, not a map'],
  [z.string(), true, 'must be text, not true or false'],
  [z.number(), 'five', 'must be a number, not text'],
  [z.coerce.number(), 'five', 'must be a number, not something else'],
  [z.coerce.date(), 'never', 'must be a date'],
  [z.date(), 'never', 'must be a date, not text'],
  [z.int(), 1.5, 'must be a whole number, not 1.5'],
  [z.boolean(), 'yes', 'must be true or false, not text'],
  [z.array(z.string()), 'a', 'must be a list, not text'],
  [z.strictObject({}), [], 'must be a map, not a list'],
  [z.number().min(3), 1, 'must be at least 3'],
  [z.number().max(3), 4, 'must be at most 3'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().multipleOf(5), 4, 'must be a multiple of 5'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(3), 'a', 'must have at least 3 characters'],
  [z.string().length(3), 'a', 'must have exactly 3 characters'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  [z.enum(['token0', 'token1']), 'tokn1', 'must be token0 or token1: did you mean token1?'],
  [z.literal('usd'), 'eur', 'must be usd'],
  [z.enum(['a', 'b', 'c']), 5, 'must be a, b or c'],
  [z.email(), 'x', 'must be an e-mail address'],
  [z.url(), 'x', 'must be an address like https://example.com'],
  [z.iso.datetime(), 'x', 'must be an instant like 2026-11-20T13:00:00Z'],
  [z.string().startsWith('0x'), 'x', 'must begin with "0x"'],
  [z.string().endsWith('.eth'), 'x', 'must end with ".eth"'],
  [z.string().includes('/'), 'x', 'must hold "/"'],
  [z.string().regex(/^[a-z]+$/), 'X', 'must have the form /^[a-z]+$/'],
  [z.union([z.string(), z.number()]), true, 'must be text or a number'],
  [z.union([z.string(), z.array(z.string())]), { a: 1 }, 'must be text or a list'],
  [z.union([z.string(), z.number().min(3)]), 1, 'must be at least 3'],
  [z.string().refine(text => text === '1'), '2', 'is not a value that it may have'],
  [z.string().refine(text => text === '1', { error: 'must be one' }), '2', 'must be one'],
  [
    z.record(z.string().regex(/^a/), z.number()),
    { b: 1 },
    'has a name that is not allowed here: it must have the form /^a/',
  ],
  [address, 5, 'must be an address in quotes: 0x and 40 hexadecimal digits'],
])('%# a mistake is reported in plain words: %s', async (schema, value, words) => {
  const [mistake = ''] = await mistakesOf(z.strictObject({ x: schema }), value === undefined ? {} : { x: value })
  expect(mistake).toMatch(/^x(\.b)?: /)
  expect(mistake.replace(/^x(\.b)?: /, '')).toBe(words)
  expect(mistake.replace(/\/.*\//, '')).not.toMatch(jargon)
})

it('a form among several is chosen by its name', async () => {
  const of = (kind: string) => z.strictObject({ kind: z.literal(kind) })
  const schema = z.strictObject({ x: z.discriminatedUnion('kind', [of('feed'), of('fixed')]) })
  expect(await mistakesOf(schema, { x: { kind: 'fed' } })).toEqual(['x.kind: must be feed or fixed'])
})

it('an unknown option comes with those that there are, in whatever map it stands', async () => {
  const inner = z.strictObject({ url: z.string().optional(), label: z.string().optional() })
  const definition: Collector = {
    options: z.strictObject({ inner: z.union([z.string(), inner]) }),
    metrics: {},
    history: true,
    collect: () => ({}),
  }
  const ref = { id: 'a/b', use: 'b', configFile: '/t.yaml', options: { inner: { ulr: 1 } } }
  expect(await parseOptions({ definition }, ref)).toEqual({
    ok: false,
    mistakes: [{ path: ['inner', 'ulr'], message: 'unknown option "ulr"', knownNames: ['url', 'label'] }],
  })
})

it('what a collector’s own schema throws is one line', () => {
  const schema = z.object({ price: z.number(), at: z.string(), list: z.array(z.number()), more: z.string() })
  const { error } = schema.safeParse({ price: '5', list: [1, 'x'] })
  expect(faultOf(error, 'collector-threw', undefined).message).toBe(
    'a value does not fit its schema: price: must be a number; at: must be text; list.1: must be a number; and 1 more',
  )
})

it.each([
  [
    'a fetch that found no host',
    new TypeError('fetch failed', { cause: Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }) }),
    'fetch failed: there is no such host, ENOTFOUND',
    /^check the name of the host/,
  ],
  [
    'a file that was written',
    Object.assign(new Error('Access … Use --allow-fs-write'), {
      code: 'ERR_ACCESS_DENIED',
      permission: 'FileSystemWrite',
    }),
    'a collector may not write files',
    /^a collector reads, and returns values/,
  ],
])('an error of Node has its cause, and a step that a person can take: %s', (_, error, message, fix) => {
  expect(faultOf(error, 'collector-threw', undefined)).toMatchObject({ message, fix: expect.stringMatching(fix) })
})
