import { getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CollectorConfig } from '../../src/config/config.ts'
import { priceConfig, tokenPriceConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import { configured, hour } from '../runner/setup.ts'
import { type Answer, type Source, startSource } from '../runner/source.ts'

/** Addresses with letters in them, so that capitals matter. */
const token = (number: number): Hex => `0xAbCdEf${number.toString(16).padStart(34, '0')}`
const place = { file: '/tidegauge.yaml', line: 1, column: 1 }

/**
 * Prices of a source by the number of the token; what has none is left out, as public sources do. The path begins with
 * the source's name: `/first/1700000000/demo:0x…,demo:0x…`.
 */
const prices: Readonly<Record<string, Readonly<Record<number, unknown>>>> = {
  first: { 1: 1.5, 2: 0, 3: -2, 4: '7.25', 5: 100, 6: 100, 7: 100, 8: 100, 9: { at: 7200, usd: 3 }, 10: 'n/a' },
  second: { 2: 22, 3: 33, 5: 102, 6: 103, 7: 50, 9: 9, 10: '1e-7' },
  third: { 2: 222, 6: 98, 7: 50.5, 10: 99 },
}

function answer(target: string): Answer {
  const [, name = '', at = '', written = ''] = target.split('/')
  const coins = written.split(',').flatMap(coin => {
    const number = Number.parseInt(coin.slice(-34), 16)
    const own = number > 1000 ? number : prices[name]?.[number]
    if (own === undefined) return []
    const { usd = own, at: before = 60 } = typeof own === 'object' ? (own as Record<string, unknown>) : {}
    return [[coin, { price: usd, timestamp: Number(at) - Number(before) }]]
  })
  if (name === 'down') return { status: 404 }
  return { body: JSON.stringify({ coins: Object.fromEntries(coins) }) }
}

let source: Source
let runner: ProcessRunner
const lines: string[] = []
beforeAll(async () => {
  source = await startSource(answer)
  const from = (name: string, more = {}) => ({
    url: `${source.url}/${name}/{hourSeconds}/{tokens}`,
    token: 'demo:{address}',
    pointer: '/coins/{token}/price',
    time: '/coins/{token}/timestamp',
    ...more,
  })
  const byChain: Readonly<Record<string, readonly unknown[]>> = {
    plain: [{ [token(4)]: 'Four' }, from('first'), from('second')],
    agreed: [from('first', { agreeWithin: '2%' }), from('second', { agreeWithin: '5%' }), from('third')],
    failing: [{ [token(1)]: 'None' }, from('down'), from('first', { batch: 200 })],
    single: [from('first', { url: `${source.url}/first/{hourSeconds}/{token}` })],
    sure: [
      from('first', { require: { '/coins/{token}/price': { not: 1.5 } }, max: 50 }),
      from('second', { decimals: 1 }),
    ],
    capitals: [from('first', { checksum: true })],
  }
  const all = [
    priceConfig('Four', [{ fixed: 4 }], () => place),
    priceConfig('None', [{ url: `${source.url}/down/{hour}`, pointer: '/a' }], () => place),
    ...Object.entries(byChain).map(([chain, sources]) => tokenPriceConfig(chain, sources, () => place)),
  ]
  runner = new ProcessRunner({
    chains: {},
    prices: Object.fromEntries(all.map(({ name, collector }): [string, CollectorConfig] => [name, collector])),
    deadlineMs: 60_000,
    time: systemTime,
    log: (_, __, message) => void lines.push(message),
  })
})
afterAll(async () => {
  await runner?.stop()
  await source?.stop()
})

let runs = 0

/** The prices of tokens by their numbers, or why there is none; and the requests that it took. */
async function priced(chain: string, numbers: readonly number[], at: Hour = hour) {
  const before = source.asked.length
  runs += 1
  const options = { chain, tokens: numbers.map(token) }
  const { readings, failures } = await runner.collect(
    configured('./token-priced.ts', { id: `priced/own-${runs}`, options }),
    at,
  )
  const found = numbers.map((_, index) => readings[`Token${index}`] ?? failures[`Token${index}`]?.message)
  return { found, asked: source.asked.slice(before).map(({ target }) => target) }
}

/** As the source calls it. */
const coin = (number: number) => `demo:${token(number).toLowerCase()}`

describe('the prices of tokens', () => {
  it('are of the first source that has one that is above zero, not old, and a number', async () => {
    const { found, asked } = await priced('plain', [1, 2, 3, 4, 9, 10])
    expect(found).toEqual([1.5, 22, 33, 4, 9, 1e-7])
    const at = hour / 1000
    expect(asked).toEqual([
      `/first/${at}/${[1, 2, 3, 9, 10].map(coin).join()}`,
      `/second/${at}/${[2, 3, 9, 10].map(coin).join()}`,
    ])
  })

  it('are those that the bounds and conditions of a source allow', async () => {
    const { found } = await priced('sure', [1, 4, 5])
    expect(found.slice(1)).toEqual([7.25, 10.2])
    expect(found[0]).toContain('what require asks for must stand at /coins/demo:')
  })

  it('that no source has say what each says', async () => {
    const { found } = await priced('plain', [11, 12])
    const host = String(new URL(source.url).host)
    const at = (number: number) => `there is no number at /coins/${coin(number)}/price`
    expect(found).toEqual(
      [11, 12].map(
        number =>
          `there is no price of the token ${token(number).toLowerCase()} of plain: ${host}: ${at(number)}; ${host}: ${at(number)}`,
      ),
    )
  })

  it('with agreeWithin count if a later source agrees, and a last source needs none', async () => {
    const { found } = await priced('agreed', [5, 6, 7, 8, 2, 9])
    // 102 is within 2 % of 100; 98 is, although 103 is not; 50.5 agrees with 50; only one has 8; 222 is not near 22.
    expect(found.slice(0, 3)).toEqual([100, 100, 50])
    expect(found[3]).toMatch(/: 127\.0\.0\.1:\d+ says 100: no later source has a price to agree with it; /)
    expect(found[4]).toMatch(/says 22, 127\.0\.0\.1:\d+ says 222: no two of them agree; .* is 0, which is no price$/)
    expect(found[5]).toMatch(/says 9: no later source has a price to agree with it/)
  })

  it('of 500 tokens are five requests, once an hour, however many ask', async () => {
    const at = hourAfter(hour, 3)
    const many = Array.from({ length: 500 }, (_, index) => 1001 + index)
    const first = await priced('plain', many, at)
    expect(first.found).toEqual(many)
    expect(first.asked.map(target => target.split(',').length)).toEqual([100, 100, 100, 100, 100])
    expect((await priced('plain', many.slice(0, 7), at)).asked).toEqual([])
  })

  it('of runs of one turn travel together', async () => {
    const at = hourAfter(hour, 4)
    const before = source.asked.length
    await Promise.all([priced('plain', [1001, 1002], at), priced('plain', [1002, 1003], at)])
    expect(source.asked.slice(before).flatMap(({ target }) => target.split(','))).toHaveLength(3)
  })

  it('go to the next source when one does not answer, which the log says', async () => {
    const at = hourAfter(hour, 5)
    const { found, asked } = await priced('failing', [1, 1001], at)
    expect(found).toEqual([1.5, 1001])
    expect(asked.filter(target => target.startsWith('/first'))).toHaveLength(2)
    expect(lines.filter(line => /: no prices of tokens$/.test(line))).toHaveLength(2)
  })

  it('are asked one by one, and with capitals, where a source is', async () => {
    expect(await priced('single', [1, 4])).toMatchObject({ found: [1.5, 7.25], asked: { length: 2 } })
    const { found, asked } = await priced('capitals', [1])
    expect(found).toEqual([1.5])
    expect(asked[0]).toMatch(new RegExp(`:${getAddress(token(1))}$`))
  })

  it('of a chain without any are not there', async () => {
    const { found } = await priced('base', [1])
    expect(found).toEqual(['there are no prices of the tokens of base in the configuration'])
  })
})

it('the sources of the prices of tokens are checked', async () => {
  const url = 'https://api.example.com/{hour}/{tokens}'
  const cases: [Record<string, unknown>, readonly (string | number)[], string][] = [
    [{ url }, [0, 'pointer'], 'must be a JSON pointer like /coins/{token}/price'],
    [{ url, pointer: '/usd' }, [0, 'pointer'], 'must have {token} or {address} in it'],
    [{ url, pointer: '/{adress}/{token}' }, [0, 'pointer'], 'has {adress} in it, which stands for nothing here'],
    [{ url, pointer: '/{token}', time: '/{coin}' }, [0, 'time'], 'has {coin} in it'],
    [{ url: 'https://e.com/{hour}/{coins}', pointer: '/{token}' }, [0, 'url'], 'has {coins} in it'],
    [{ url: 'https://e.com/{tokens}', pointer: '/{token}' }, [0, 'url'], 'a price is of its hour'],
    [{ url: 'https://e.com/{hour}', pointer: '/{token}', batch: 5 }, [0, 'batch'], 'belongs to {tokens}'],
    [{ url, pointer: '/{token}', batch: 0 }, [0, 'batch'], 'must be at least 1'],
    [{ url, pointer: '/{token}', agreeWithin: '-2%' }, [0, 'agreeWithin'], 'must be a part of the price, like "2%"'],
    [{ url, pointer: '/{token}', agreeWithin: '0%' }, [0, 'agreeWithin'], 'must be a part of the price, like "2%"'],
    [{ url, pointer: '/{token}', agreeWithin: 2 }, [0, 'agreeWithin'], 'must be a part of the price, like "2%"'],
    [{ url, pointer: '/{token}', token: 'ethereum' }, [0, 'token'], 'must have {address} in it'],
    [{ url, pointer: '/{token}', pinter: 1 }, [0, 'pinter'], 'unknown option "pinter"'],
    [{ url: 'example.com/{hour}/{tokens}', pointer: '/{token}' }, [0, 'url'], 'must be an http or https address'],
    [{ url, pointer: '/{token}', headers: { 'x-api-key': 'abc' } }, [0, 'headers', 'x-api-key'], 'a secret is kept'],
    [{ '0x12': 'USDC' }, [0, '0x12'], 'must be an address'],
    [{ [token(1)]: 5 }, [0, token(1)], 'must be the name of a price, like USDC'],
  ]
  for (const [one, path, message] of cases) {
    const { collector } = tokenPriceConfig('demo', [one], () => place)
    expect(await runner.describe(collector), JSON.stringify(one)).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path: ['sources', ...path], message: expect.stringContaining(message) }],
    })
  }
})

it('token-price as a collector gives prices by label, each alone', async () => {
  const sources = [{ url: `${source.url}/first/{hourSeconds}/{tokens}`, pointer: '/coins/{token}/price' }]
  const options = { sources, tokens: { One: token(1), Zero: token(2) } }
  const { readings, failures } = await runner.collect(configured('token-price', { options }), hour)
  expect(readings).toEqual({ One: 1.5 })
  expect(failures['Zero']?.message).toMatch(/: it is 0, which is no price$/)
})
