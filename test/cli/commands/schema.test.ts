import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { tidegauge } from '../../support/tidegauge.ts'

const shipped = (name: string) => fileURLToPath(new URL(`../../../config/${name}`, import.meta.url))
const stored = (name: string) => JSON.parse(readFileSync(shipped(name), 'utf8'))

/** Findings of a validator about a YAML text: `/protocols/0/…: message`. */
function mistakesIn(yaml: string, schema: object): string[] {
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema)
  validate(parse(yaml))
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [`${instancePath}: ${message}`, params['additionalProperty']].filter(Boolean).join(' '),
  )
}

const of = (collector: string) => `
service: embedded
chains: { local: { id: 1, rpc: [http://127.0.0.1:1] } }
prices: { ETH: [{ fixed: 2 }] }
protocols: [{ id: p, name: P, collectors: [${collector}] }]
`

const token = '"0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"'

/** The stored one is the command's, as the first test says. */
const main: object = stored('tidegauge.schema.json')

describe('schema', () => {
  it('is what the shipped files hold', async () => {
    expect(JSON.parse((await tidegauge(['schema', '--config', shipped('local.yaml')])).stdout)).toEqual(main)
    const { stdout } = await tidegauge(['schema', '--included', '--config', shipped('local.yaml')])
    expect(stored('included.schema.json')).toEqual(JSON.parse(stdout))
  })

  it.each(['local.yaml', 'production.example.yaml', 'starter/tidegauge.yaml'])('%s is valid', name => {
    expect(mistakesIn(readFileSync(shipped(name), 'utf8'), main)).toEqual([])
  })

  it.each([
    ['host with a misspelt option', '{ use: host, options: { disc: / } }', 'disc'],
    ['no address', '{ use: erc20-supply, options: { chain: local, token: "0x1" } }', '/options/token'],
    [
      'a required option that is missing',
      '{ use: chainlink-feed, options: { chain: local } }',
      "required property 'feed'",
    ],
    ['no options where some are required', '{ use: chainlink-feed }', "required property 'options'"],
    ['a literal secret', '{ use: sql, options: { postgres: "postgres://x", query: "select 1" } }', '/options/postgres'],
    [
      'a secret with two places',
      '{ use: http-json, options: { url: { env: A, file: b }, pointer: /x } }',
      '/options/url',
    ],
    [
      'a wrong value of a list',
      `{ use: contract-read, options: { chain: local, address: ${token}, values: { A: { calls: "x()" } } } }`,
      'calls',
    ],
    [
      'a wrong asset',
      `{ use: balances, options: { of: { local: { owners: [${token}], assets: [{ tokn: ${token} }] } } } }`,
      'tokn',
    ],
  ])('finds %s', (_, collector, words) => {
    expect(mistakesIn(of(collector), main).join('\n')).toContain(words)
  })

  it('finds a wrong source of a price', () => {
    const yaml = of('{ use: host }').replace('{ fixed: 2 }', '{ fxed: 2 }')
    expect(mistakesIn(yaml, main).join('\n')).toContain('/prices/ETH/0')
  })

  it('describes options, names the shipped collectors, and takes others', () => {
    const text = JSON.stringify(main)
    expect(text).toContain('accounts whose tokens do not circulate')
    expect(text).toContain('"enum":["aave-v3","balances"')
    expect(mistakesIn(of('{ use: ./own.ts, options: { any: 1 } }'), main)).toEqual([])
  })
})
