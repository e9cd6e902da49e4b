import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { faultFromRecord } from '../../src/model/fault.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, faultOf, hour } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'

const pools = {
  success: true,
  data: [
    { name: 'a', tvl: '1000.5', status: 'active', chain: 1, fees: { day: 9 } },
    { name: 'b', tvl: 2e21, status: 'active', chain: 10, fees: { day: 4 } },
    { name: 'c', tvl: 3, status: 'closed', chain: 1, fees: {} },
  ],
  byName: { x: { v: 1 }, y: { v: 2 } },
  deep: [{ pools: [{ v: 1 }, { v: 2 }] }, { pools: [{ v: 4 }] }],
  none: [],
  huge: '-1E+99999',
  french: '1 234,567',
  swiss: "1'234'567.5",
  indian: '12,34,567',
}
/** A number that no double holds, as JSON may have it. */
const long = '{"rows":[{"v":9007199254740993},{"v":-9007199254740992},{"v":1.5E+2},{"v":"25e-2"}]}'

const csv = `\uFEFFname,"tvl, USD",status\r
"Pool ""A""","1,234.5",active\r
Pool B,99,active\r
Pool C,"2,000,000",closed\r
`

/** Pages of a list, by the number that is asked for; the third is empty. */
const byNumber = (target: string) => {
  const page = Number(new URL(target, 'http://a').searchParams.get('page'))
  const list = page === 3 ? [] : [{ v: page }, { v: 10 * page }]
  return { body: JSON.stringify({ list }) }
}

/** Pages of a list by the address of the next, or by a cursor. */
const nexts: Readonly<Record<string, unknown>> = {
  '/next': { list: [{ v: 1 }], next: '/next?at=2' },
  '/next?at=2': { list: [{ v: 2 }], next: '?at=3' },
  '/next?at=3': { list: [{ v: 4 }], next: null },
  '/round': { list: [{ v: 1 }], next: '/round?at=2' },
  '/round?at=2': { list: [{ v: 2 }], next: '/round' },
  '/cursor?key=hidden': { list: [{ v: 1 }], next: 'a b' },
  '/cursor?key=hidden&cursor=a%20b': { list: [{ v: 8 }] },
  '/away': { list: [{ v: 1 }], next: 'http://127.0.0.2/' },
  '/long?page=1&size=2': { list: [{ v: 1 }] },
  '/long?size=2&page=1': { list: [{ v: 1 }] },
  '/long?size=2&page=2': { list: [] },
}

/** Items 1, 10, 100, 1000 and 10000 from the offset on, two at once; their time differs at each read. */
let reads = 0
const byOffset = (target: string, name: string) => {
  const from = Number(new URL(target, 'http://a').searchParams.get(name))
  const list = [0, 1, 2, 3, 4].map(power => ({ id: `p${power}`, v: 10 ** power, at: reads })).slice(from, from + 2)
  reads += 1
  return {
    body: JSON.stringify({
      list: target.includes('map') ? Object.fromEntries(list.map(each => [each.id, each])) : list,
    }),
  }
}

/** Three pages of a list, of which the last is the first again. */
const again = (target: string) => {
  const page = Number(target.slice(-1)) % 3
  return {
    body: JSON.stringify({
      asked: target,
      list: [
        { v: page, of: { b: 1, a: page } },
        { v: 7, of: { a: page } },
      ],
    }),
  }
}

/** A list of so many items, each 1. */
const many = (count: number) => ({
  body: JSON.stringify({ data: { rows: Array.from({ length: count }, () => ({ v: 1 })) } }),
})

let source: Source
const warnings: string[] = []
const runner = new ProcessRunner({
  ...{ chains: {}, deadlineMs: 60_000, time: systemTime },
  log: (_id, level, message) => void (level === 'warn' && warnings.push(message)),
})
beforeAll(async () => {
  source = await startSource(target => {
    if (target.startsWith('/numbered')) return byNumber(target)
    if (target.startsWith('/again')) return again(target)
    if (target.startsWith('/offset')) return byOffset(target, 'offset')
    if (target.startsWith('/shift')) return byOffset(target, 'o')
    if (target.startsWith('/many/')) return many(Number(/\d+/.exec(target)?.[0]))
    if (nexts[target]) return { body: JSON.stringify(nexts[target]) }
    if (target === '/long') return { body: long }
    if (target === '/csv') return { body: csv }
    if (target === '/one.csv') return { body: 'close\n7.5\n' }
    if (target === '/torn.csv') return { body: 'a,b\n1,2\n3\n' }
    if (target === '/quote.csv') return { body: 'a,b\n1,"2\n' }
    if (target === '/head.csv') return { body: 'close\n' }
    if (target === '/semi.csv') return { body: 'name;tvl, USD;status\na;1;active\n'.replace(', ', ' ') }
    if (target === '/empty.csv') return { body: '' }
    if (target.startsWith('/pages.csv')) return { body: target.endsWith('=1') ? 'close\n5\n' : '' }
    return { body: JSON.stringify(pools) }
  })
})
afterAll(async () => {
  await runner.stop()
  await source?.stop()
})

async function collected(path: string, own: Readonly<Record<string, unknown>>) {
  const options = { url: source.url + path, ...own }
  const { readings, failures } = await runner.collect(configured('http-json', { options }), hour)
  const failure = failures['Value']
  if (failure) throw faultFromRecord(failure)
  return readings['Value']
}

const active = { '/status': 'active' }
const numbered = (own: Readonly<Record<string, unknown>>) => ({ pointer: '/list/*/v', take: 'sum', pages: own })
const inCsv = (own: Readonly<Record<string, unknown>>) => ({
  format: 'csv',
  thousands: ',',
  pointer: '/tvl, USD',
  ...own,
})

describe('http-json over a list', () => {
  it.for([
    ['/', { pointer: '/data/*/tvl', take: 'sum', where: active }, 2e21 + 1000.5],
    ['/', { pointer: '/data/*/tvl', take: 'min' }, 3],
    ['/', { pointer: '/data/*/tvl', take: 'max', where: { '/chain': 1 } }, 1000.5],
    ['/', { pointer: '/data/*/fees/day', take: 'mean', where: active }, 6.5],
    ['/', { pointer: '/data/*', take: 'count', where: { '/chain': [10, 7] } }, 1],
    ['/', { pointer: '/data/*/fees/day', take: 'count' }, 3],
    [
      '/',
      { pointer: '/data/*/tvl', take: 'count', where: { '/tvl': { min: 3, max: 1001 }, '/name': { not: 'a' } } },
      1,
    ],
    ['/', { pointer: '/data/*/tvl', where: { '/name': 'a' } }, 1000.5],
    ['/', { pointer: '/byName/*/v', take: 'sum' }, 3],
    ['/', { pointer: '/deep/*/pools/*/v', take: 'sum', where: { '/v': { not: [2] } } }, 5],
    ['/', { pointer: '/none/*/v', take: 'sum' }, 0],
    ['/', { pointer: '/data/2/tvl', require: { '/success': true, '/data/0/name': ['a', 'b'] } }, 3],
    ['/', { pointer: '/swiss', thousands: "'" }, 1_234_567.5],
    ['/', { pointer: '/indian', thousands: ',' }, 1_234_567],
    ['/long', { pointer: '/rows/*/v', take: 'sum' }, 151.25],
    ['/long', { pointer: '/rows/*/v', take: 'max', decimals: 19 }, 9.007199254740993e-4],
    ['/csv', inCsv({ take: 'sum', where: active }), 1333.5],
    ['/csv', inCsv({ pointer: '/*/tvl, USD', take: 'max' }), 2_000_000],
    ['/csv', inCsv({ pointer: '/-1/tvl, USD' }), 2_000_000],
    ['/csv', inCsv({ where: { '/name': 'Pool "A"' } }), 1234.5],
    ['/one.csv', { format: 'csv', pointer: '/close' }, 7.5],
    ['/head.csv', { format: 'csv', pointer: '/close', take: 'sum' }, 0],
    ['/pages.csv', { format: 'csv', pointer: '/close', take: 'sum', pages: { parameter: 'page' } }, 5],
    ['/numbered?size=2&page=7', numbered({ parameter: 'page' }), 33],
    ['/numbered', numbered({ parameter: 'page', from: 2, max: 1 }), 22],
    ['/next', numbered({ next: '/next' }), 7],
    ['/offset', numbered({ parameter: 'offset', step: 2 }), 11_111],
    ['/offset?offset=9', numbered({ parameter: 'offset', step: 2, from: 1, id: '/id' }), 11_110],
    ['/offset/map', numbered({ parameter: 'offset', step: 2 }), 11_111],
    ['/again', numbered({ parameter: 'page' }), 1 + 2 + 0 + 21],
    ['/cursor?key=hidden', numbered({ next: '/next', parameter: 'cursor' }), 9],
  ] as const)('reads %s, %j', async ([path, own, value]) => {
    expect(await collected(path, own)).toBe(value)
  })

  it.for([
    ['/', { pointer: '/none/*/v', take: 'mean' }, 'there is no item that is meant'],
    ['/', { pointer: '/data/*/tvl', where: active }, 'there are 2 items that are meant: take says what of all'],
    ['/', { pointer: '/data/*/fees/day', take: 'sum' }, 'there is no number at /fees/day, but nothing'],
    ['/', { pointer: '/dta/*/tvl', take: 'sum' }, 'there is no list at /dta'],
    ['/', { pointer: '/data/0/tvl', require: { '/success': false } }, 'what require asks for must stand at /success'],
    ['/csv', inCsv({ thousands: undefined, take: 'sum' }), 'but the text "1,234.5": write thousands: ","'],
    ['/csv', inCsv({ take: 'sum', require: { '/0/status': 'closed' } }), 'must stand at /0/status'],
    ['/torn.csv', { format: 'csv', pointer: '/a', take: 'sum' }, 'row 2 of the CSV has 1 fields, and the header 2'],
    ['/quote.csv', { format: 'csv', pointer: '/a', take: 'sum' }, 'line 2 of the CSV has a quote that is not closed'],
    ['/head.csv', { format: 'csv', pointer: '/clos', take: 'sum' }, 'has no column "clos": did you mean close?'],
    [
      '/head.csv',
      { format: 'csv', pointer: '/close', take: 'sum', where: { '/at': 1 } },
      'has no column "at": it has close',
    ],
    ['/csv', inCsv({ take: 'count', where: { '/statos': 'active' } }), 'has no column "statos"'],
    ['/semi.csv', inCsv({ take: 'count' }), 'the fields of the CSV stand between ";", and in a CSV between commas'],
    ['/empty.csv', { format: 'csv', pointer: '/close', take: 'sum' }, 'is empty: it has no header'],
    ['/numbered', numbered({ parameter: 'page', max: 1 }), 'has more than 1 pages'],
    ['/next?at=2', numbered({ next: '/next', max: 1 }), 'has more than 1 pages'],
    ['/round', numbered({ next: '/next' }), 'page 2 of 127.0.0.1'],
    ['/shift', numbered({ parameter: 'o', from: 0, id: '/id' }), 'has the item "p1" on page 1 and on page 2'],
    ['/shift/map', numbered({ parameter: 'o', from: 0 }), 'has the item p1 on page 1 and on page 2'],
    ['/shift', numbered({ parameter: 'o', from: 0, step: 2, id: '/uid' }), 'has nothing at /uid, which id asks for'],
    ['/next', { ...numbered({ next: '/next' }), pointer: '/list/*/v/*' }, 'there is no list at /v'],
    // Its comma is a decimal point.
    ['/', { pointer: '/french', thousands: ' ' }, 'there is no number at /french, but the text "1 234,567"'],
    ['/', { pointer: '/french', thousands: ',' }, 'there is no number at /french, but the text "1 234,567"'],
    ['/', { pointer: '/huge', thousands: ',' }, 'has an exponent of at most three digits'],
    ['/away', numbered({ next: '/next' }), 'is of another host'],
    ['/cursor?key=hidden', numbered({ next: '/next' }), 'is no address: write with next'],
  ] as const)('fails of %s, %j', async ([path, own, words]) => {
    const fault = await faultOf(collected(path, own))
    expect(fault.message).toContain(words)
    expect(fault.message).not.toContain('hidden')
  })

  it.for([
    [
      { pointer: '/data/*', take: 'count', where: { '/staus': 'active' } },
      0,
      'none of 3 items meets where: at /staus there is nothing',
    ],
    [
      { pointer: '/data/*/tvl', take: 'sum', where: { '/status': 'ACTIVE' } },
      0,
      'none of 3 items meets where: at /status there is "active", "closed"',
    ],
    [
      { pointer: '/data/*/tvl', take: 'sum', where: { '/status': 'closed', '/chain': 10 } },
      0,
      'none of 3 items meets where: each misses another part of it',
    ],
    // It need not be there, or there are no items.
    [{ pointer: '/data/*', take: 'count', where: { '/hidden': { not: true } } }, 3, undefined],
    [{ pointer: '/none/*', take: 'count', where: { '/a': 1 } }, 0, undefined],
  ] as const)('warns of a condition that no item meets: %j', async ([own, value, words]) => {
    warnings.length = 0
    expect(await collected('/pools', own)).toBe(value)
    expect(warnings).toEqual(words === undefined ? [] : [expect.stringContaining(words)])
  })

  it.for([
    ['/many/100', {}, 'many sources give at once'],
    ['/many/1000', {}, 'many sources give at once'],
    ['/many/99', {}, undefined],
    ['/many/25?limit=25', {}, 'the request asks for'],
    ['/many/25', { body: { query: '{ rows(first: 25) { v } }' } }, 'the request asks for'],
    [
      '/many/25',
      { body: { query: 'query ($n: Int) { rows(first: $n) { v } }', variables: { first: 25 } } },
      'the request asks for',
    ],
    ['/many/25?page[size]=25', {}, 'the request asks for'],
    ['/many/24?limit=25', {}, undefined],
    ['/many/100?o=', { pages: { next: '/none' } }, undefined],
  ] as const)('warns of a list with as many items as a source gives at once: %s, %j', async ([path, own, reason]) => {
    warnings.length = 0
    const count = Number(/\d+/.exec(path)?.[0])
    expect(await collected(path, { pointer: '/data/rows/*/v', take: 'sum', ...own })).toBe(count)
    expect(warnings).toEqual(
      reason === undefined ? [] : [expect.stringContaining(`has exactly ${count} items, as many as ${reason}: if`)],
    )
  })

  it.for([
    [{ pointer: '/data/*/tvl' }, ['pointer'], 'leads to several items: add take'],
    [{ pointer: '/data/0', take: 'sum' }, ['take'], 'belongs to a pointer with * in it'],
    [{ values: { A: { pointer: '/a', where: active } } }, ['values', 'A', 'where'], 'belongs to a pointer with *'],
    [
      { values: { A: { pointer: '/a/*', take: 'avg' } } },
      ['values', 'A', 'take'],
      'must be sum, mean, min, max or count',
    ],
    [{ pointer: '/a/*', take: 'sum', pages: {} }, ['pages'], 'must be { next: /next }, or { parameter: page'],
    [{ pointer: '/a', pages: { next: '/n' } }, ['pages'], 'needs a pointer with * in it'],
    ...['/a/-1/v', '/a/0/v'].map(
      pointer =>
        [
          { values: { A: { pointer: '/a/*/v', take: 'sum' }, B: { pointer } }, pages: { next: '/n' } },
          ['values', 'B', 'pointer'],
          'leads into the list of the first page alone',
        ] as const,
    ),
    ...['offset', 'skip', '$skip', 'startIndex'].map(
      parameter =>
        [
          numbered({ parameter }),
          ['pages', 'step'],
          `must be how many items a page has: ${parameter} rises by that`,
        ] as const,
    ),
    [numbered({ next: '/n', parameter: 'page', step: 2 }), ['pages', 'step'], 'belongs to a parameter that counts'],
    [numbered({ next: '/n', from: 2 }), ['pages', 'from'], 'belongs to a parameter that counts'],
    [{ pointer: '/a/*/v', take: 'sum', where: { '/b/*/c': 1 } }, ['where', '/b/*/c'], 'to one place, without *'],
    [{ pointer: '/a', require: { '/a/*': 1 } }, ['require', '/a/*'], 'to one place, without *'],
    [{ pointer: '/a/*/v', take: 'mean', none: 0 }, ['none'], 'belongs to take: sum or count'],
    [{ pointer: '/a', min: 5, max: 1 }, ['max'], 'must be at least min, which is 5'],
    [{ values: { A: { pointer: '/a', min: 0, max: -1 } } }, ['values', 'A', 'max'], 'must be at least min'],
    ...(['sum', 'difference', 'first'] as const).map(
      kind =>
        [
          {
            values: {
              A: { pointer: '/a', unit: 'SIX' },
              B: { pointer: '/b', unit: 'ZERO' },
              C: { [kind]: ['A', 2, 'B'] },
            },
          },
          ['values', 'C', kind],
          'B is in ZERO, and A in SIX',
        ] as const,
    ),
    [{ pointer: '/a', format: 'xml' }, ['format'], 'must be csv'],
    [{ pointer: '/a', thousands: '.' }, ['thousands'], 'must be a comma, an apostrophe'],
    [{ pointer: '/a', require: { success: true } }, ['require', 'success'], 'must be a JSON pointer'],
    [{ pointer: '/a/*', where: { '/b': { mni: 1 } } }, ['where', '/b', 'mni'], 'unknown option "mni"'],
    [
      { pointer: '/a/*', take: 'sum', where: { '/b': { min: 5, max: 1 } } },
      ['where', '/b', 'max'],
      'must be at least min',
    ],
  ] as const)('tells a mistake at its place: %j', async ([own, path, message]) => {
    const options = { url: source.url, ...own }
    expect(await runner.describe(configured('http-json', { options }))).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path, message: expect.stringContaining(message) }],
    })
  })
})
