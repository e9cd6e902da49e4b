import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configured, faultOf, hour, testRunner } from '../runner/setup.ts'
import { type Source, startSource } from '../runner/source.ts'
import { collectorContract } from './contract.ts'

let source: Source
beforeAll(async () => {
  source = await startSource({
    '/price': { body: '{"prices":[{"usd":1.5,"text":"2.5e3","a/b":{"m~n":7},"none":null,"word":"x"}]}' },
    '/number': { body: '42' },
    '/null': { body: 'null' },
    '/page': { body: '<html>' },
    '/gone': { status: 404 },
    '/silent': 'silent',
  })
})
afterAll(() => source?.stop())

const reading = (path: string, pointer: string, more = {}) => ({ url: source.url + path, pointer, ...more })

collectorContract('http-json', {
  use: 'http-json',
  options: () => reading('/price', '/prices/0/usd', { label: 'Usd', unit: 'USD', min: 0 }),
  hours: () => [hour],
  broken: () => [
    reading('/gone', '/prices/0/usd'),
    reading('/page', ''),
    reading('/null', ''),
    reading('/null', '/prices'),
    reading('/number', '/prices'),
    reading('/price', '/prices/1/usd'),
    reading('/price', '/prices/0/none'),
    reading('/price', '/prices/0/word'),
    reading('/price', '/prices'),
    reading('/price', ''),
  ],
  silent: () => reading('/silent', '/prices/0/usd'),
})

collectorContract('host', {
  use: 'host',
  options: () => ({}),
  hours: () => [hour],
  broken: () => [{ disk: '/no/such/folder' }],
})

describe('http-json', () => {
  it.for([
    ['/price', '/prices/0/usd', 1.5],
    ['/price', '/prices/0/text', 2500],
    ['/price', '/prices/0/a~1b/m~0n', 7],
    ['/number', '', 42],
  ] as const)('reads %s at %s', async ([path, pointer, value]) => {
    const { runner } = testRunner()
    const { readings } = await runner.collect(configured('http-json', { options: reading(path, pointer) }), hour)
    expect(readings).toEqual({ Value: value })
  })

  it('says where there is no number, and names the host alone', async () => {
    const { runner } = testRunner()
    const options = reading('/price?key=hidden', '/prices/0/word')
    const fault = await faultOf(runner.collect(configured('http-json', { options }), hour))
    expect(fault.code).toBe('http-unexpected')
    expect(fault.message).toContain('there is no number at /prices/0/word')
    expect(JSON.stringify(fault)).not.toContain('hidden')
  })
})
