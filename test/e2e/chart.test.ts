import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { temporaryFolder } from '../support/folder.ts'
import { programOnPath } from '../support/program.ts'

const deploy = fileURLToPath(new URL('../../docs/deploy', import.meta.url))
const chart = join(deploy, 'chart')
const textOf = (name: string) => readFileSync(join(chart, name), 'utf8')
const standard = parse(textOf('values.yaml')) as Values
const template = textOf('templates/tidegauge.yaml')

type Values = Readonly<Record<string, unknown>>

/**
 * The part of Go's templates that the chart is written in: `if`, `else`, `end`, paths, and pipes into a few functions.
 * Where there is `helm`, the same is asked of it.
 */
function rendered(values: Values, name = 'tidegauge'): string {
  const scope = { Values: values, Release: { Name: name } }
  // An action with a dash takes the blanks before it, or after it.
  const parts = template.split(/((?:\s*\{\{-|\{\{)[^}]*(?:-\}\}\s*|\}\}))/)
  const shown: boolean[] = [true]
  let text = ''
  for (const [place, part] of parts.entries()) {
    const action = part.replace(/^\s*\{\{-?\s*|\s*-?\}\}\s*$/g, '')
    const [word, ...rest] = action.split(' ')
    if (place % 2 === 0) text += shown.every(Boolean) ? part : ''
    else if (word === 'if') shown.push(isTruthy(resultOf(rest.join(' '), scope)))
    else if (word === 'else') shown.push(!shown.pop())
    else if (word === 'end') shown.pop()
    else if (shown.every(Boolean)) text += resultOf(action, scope)
  }
  expect(shown).toEqual([true])
  return text
}

const isTruthy = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

const functions: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  not: value => !isTruthy(value),
  default: (standing, given) => (isTruthy(given) ? given : standing),
  quote: value => JSON.stringify(String(value)),
  toYaml: value => stringify(value).trimEnd(),
  indent: (count, value) => String(value).replace(/^/gm, ' '.repeat(Number(count))),
}

function resultOf(pipeline: string, scope: object): unknown {
  let piped: readonly unknown[] = []
  for (const call of pipeline.split(' | ')) {
    const [name = '', ...rest] = call.trim().split(' ')
    const args = [...rest.map(word => argumentOf(word, scope)), ...piped]
    const called = functions[name]
    if (!called) expect(args, `${name} is no function that this test knows`).toEqual([])
    piped = [called ? called(...args) : argumentOf(name, scope)]
  }
  return piped[0]
}

function argumentOf(word: string, scope: object): unknown {
  if (/^\d+$/.test(word)) return Number(word)
  const found = word
    .split('.')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Values | undefined)?.[key], scope)
  expect(found, `${word} is in values.yaml`).toBeDefined()
  return found
}

function documentsOf(text: string): Values[] {
  const all = parseAllDocuments(text)
  expect(all.flatMap(({ errors }) => errors)).toEqual([])
  return all.map(one => one.toJS() as Values | null).filter(one => one !== null)
}

const values = (own: Values = {}): Values => ({ ...standard, ...own })
const configured = values({
  config: { 'tidegauge.yaml': 'service: embedded\n# a "comment"\nprotocols: []\n', 'b.ts': '' },
})
const fleet = values({ database: { secret: 'pg', key: 'uri' }, replicas: 3, storage: { size: '2Gi', class: 'fast' } })
const own = values({
  env: [{ name: 'RPC_URL', valueFrom: { secretKeyRef: { name: 'nodes', key: 'ethereum' } } }],
  pod: { imagePullSecrets: [{ name: 'registry' }], nodeSelector: { disk: 'ssd' } },
})
const cases: readonly (readonly [string, Values])[] = [
  ['as it is', values()],
  ['with a configuration', configured],
  ['as a fleet', fleet],
  ['with keys of one’s own', own],
  ['without a network policy', values({ networkPolicy: false })],
]

describe('the Helm chart', () => {
  it('is kubernetes.yaml where nothing is set; its claim alone is kept', () => {
    const [claim, ...others] = documentsOf(rendered(standard))
    const { annotations, ...metadata } = (claim?.['metadata'] ?? {}) as Values
    expect(annotations).toEqual({ 'helm.sh/resource-policy': 'keep' })
    const plain = documentsOf(readFileSync(join(deploy, 'kubernetes.yaml'), 'utf8'))
    expect([{ ...claim, metadata }, ...others]).toEqual(plain)
  })

  it('has names that are text, also of a release that is called by a number', () => {
    for (const [, each] of cases) {
      for (const { metadata } of documentsOf(rendered(each, '2026')))
        expect((metadata as Values)['name']).toMatch(/^2026(-data)?$/)
    }
  })

  it('has the configuration as it was written', () => {
    const [map] = documentsOf(rendered(configured))
    expect(map).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'tidegauge' }, data: configured['config'] })
  })

  it('is a fleet with a database: a name and a volume for each daemon', () => {
    const [set, policy] = documentsOf(rendered(fleet))
    expect(set).toMatchObject({
      kind: 'StatefulSet',
      spec: {
        replicas: 3,
        volumeClaimTemplates: [{ spec: { storageClassName: 'fast', resources: { requests: { storage: '2Gi' } } } }],
      },
    })
    expect(set?.['spec']).not.toHaveProperty('strategy')
    expect(rendered(fleet)).toContain('secretKeyRef: { name: "pg", key: "uri" }')
    expect(policy).toMatchObject({ kind: 'NetworkPolicy' })
  })

  it('has variables of the daemon and keys of the pod as they were written', () => {
    const [, deployment] = documentsOf(rendered(own))
    const { pod, env } = own as { pod: Values; env: readonly unknown[] }
    expect(deployment).toMatchObject({ spec: { template: { spec: { ...pod, containers: [{ env: [{}, ...env] }] } } } })
  })

  it('knows its values: each is used, and a wrong one refused', () => {
    const used = [...template.matchAll(/\.Values\.(\w+)/g)].map(([, name = '']) => name)
    expect([...new Set(used)].sort()).toEqual(Object.keys(standard).sort())
    const validate = new Ajv({ strict: false }).compile(JSON.parse(textOf('values.schema.json')) as object)
    for (const [, good] of cases) expect(validate(good), JSON.stringify(validate.errors)).toBe(true)
    for (const bad of [
      { replicas: 2 },
      { replica: 1 },
      { image: '' },
      { storage: { sise: '1Gi' } },
      { env: { A: 'b' } },
    ]) {
      expect(validate(values(bad)), JSON.stringify(bad)).toBe(false)
    }
    expect(parse(textOf('Chart.yaml'))).toMatchObject({
      apiVersion: 'v2',
      name: 'tidegauge',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    })
  })

  const helm = programOnPath('helm')
  if (helm === undefined) return
  it('is in order, and the same, by helm', () => {
    const run = (...args: string[]) => execFileSync(helm, args, { encoding: 'utf8', stdio: 'pipe' })
    run('lint', '--strict', chart)
    for (const [, own] of cases) {
      const file = join(temporaryFolder(), 'values.yaml')
      writeFileSync(file, stringify(own))
      expect(documentsOf(run('template', 'tidegauge', chart, '--values', file))).toEqual(documentsOf(rendered(own)))
    }
  })
})
