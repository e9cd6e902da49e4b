import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { configured, hostYaml, tidegauge } from '../../support/tidegauge.ts'

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

/** The stored one is the command's, as the first test says. */
const main: object = stored('tidegauge.schema.json')

describe('schema', () => {
  it('has the options of packages with a collector, before they are used', async () => {
    const text = readFileSync(shipped('starter/collectors/supply.ts'), 'utf8')
    const packages = ['tidegauge-collector-tides', '@org/tidegauge-collector-tides', 'another']
    const files = packages.flatMap(name => [
      [`node_modules/${name}/package.json`, '{ "type": "module", "exports": "./index.js" }'],
      [`node_modules/${name}/index.js`, text],
    ])
    const { stdout } = await tidegauge(['schema', '--config', configured(hostYaml, Object.fromEntries(files)).config])
    const { $defs } = JSON.parse(stdout)
    for (const name of ['tidegauge-collector-tides', 'org-tidegauge-collector-tides']) {
      expect($defs).toHaveProperty([`options-of-${name}`, 'properties', 'token'])
    }
    expect($defs).not.toHaveProperty('options-of-another')
  })

  it('has the options of the collectors that the configuration uses', async () => {
    const own = `import { defineCollector, secret, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ depth: z.int().describe('metres below the surface'), key: secret.optional() }),
  metrics: { A: {} }, history: true, collect: () => ({ A: 1 }),
})`
    const yaml = `${hostYaml}      - { use: ./own.ts, options: { depth: 1 } }\n      - { use: ./none.ts, id: none }\n`
    const { config, folder } = configured(yaml, { 'own.ts': own })
    const { stdout, code } = await tidegauge(['schema', '--config', config])
    expect([code, stdout]).toEqual([0, expect.stringContaining('metres below the surface')])
    expect(mistakesIn(yaml, JSON.parse(stdout))).toEqual([])
    expect(mistakesIn(yaml.replace('depth: 1', 'depth: 1.5'), JSON.parse(stdout)).join()).toContain('/options/depth')
    // A mistake elsewhere must not take the schema from an editor.
    writeFileSync(join(folder, 'config/tidegauge.yaml'), yaml.replace('service:', 'servce:'))
    const broken = await tidegauge(['schema', '--config', config])
    expect(broken).toMatchObject({ code: 0, stderr: expect.stringContaining('servce') })
    expect(JSON.parse(broken.stdout)).toEqual(main)
  })
})
