import { expect, it } from 'vitest'
import { loadDespite } from '../../src/config/despite.ts'
import { configFile } from './file.ts'

const text = `service: embedded
data: ./data
chains:
  a: { id: 1, rpc: ["http://127.0.0.1:8545"], setle: 5m }
  b: { id: 2, rpc: ["http://127.0.0.1:8546"] }
protocols:
  - id: one
    name: One
    collectors:
      - { use: host, optoins: {}, id: first }
      - use: host
        since: yesterday
        id: second
  - id: two
    collectors: [{ use: host }]
  - id: three
    name: Three
    collectors: [{ use: host }, { use: host }]
`

it('takes out what is mistaken, keeps all else in its place, and gives all mistakes', () => {
  const { config, mistakes } = loadDespite(configFile(text))
  expect(mistakes.map(({ place: { line, column } }) => `${line}:${column}`)).toEqual([
    '4:47',
    '10:22',
    '12:16',
    '14:5',
    '18:40',
  ])
  expect(config?.chains.map(({ name }) => name)).toEqual(['a', 'b'])
  const collectors = config?.protocols.flatMap(protocol => protocol.collectors)
  expect(collectors?.map(({ id, place }) => `${id} ${place.line}`)).toEqual([
    'one/first 10',
    'one/second 11',
    'three/host 18',
  ])
})

it.each([
  ['the data', text.replace('data: ./data', 'data: 5')],
  ['a section that may be misspelt', text.replace('data: ./data', 'dta: ./data')],
  ['the service', text.replace('service: embedded', 'service: { url: "http://a.example.com" }')],
  ['the YAML', text.replace('  - id: two', '  - id: [two')],
  ['nothing', ''],
])('gives the mistakes alone where they decide about all else: %s', (_, wrong) => {
  const { config, mistakes } = loadDespite(configFile(wrong))
  expect(config).toBeUndefined()
  expect(mistakes).not.toEqual([])
})

it('is a whole configuration where there is no mistake', () => {
  const file = configFile('service: embedded\nprotocols: [{ id: a, name: A, collectors: [{ use: host }] }]\n')
  expect(loadDespite(file)).toMatchObject({ mistakes: [], config: { file } })
})
