import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { command } from '../support/command.ts'
import { configured } from '../support/tidegauge.ts'

const skill = readFileSync(new URL('../../docs/SKILL.md', import.meta.url), 'utf8')

function snippet(language: string, holding: string): string {
  const all = [...skill.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  )
  const [only] = all.filter(text => text.includes(holding))
  if (only === undefined) throw new Error(`docs/SKILL.md shows no ${language} with ${holding}`)
  return only
}

it('the configuration of docs/collectors-of-others.md is in order, with the package that init writes', async () => {
  const page = readFileSync(new URL('../../docs/collectors-of-others.md', import.meta.url), 'utf8')
  const [, yaml = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(page) ?? []
  const collector = readFileSync(new URL('../../config/starter/collectors/supply.ts', import.meta.url), 'utf8')
  const { config } = configured(yaml, {
    'node_modules/tidegauge-collector-tides/package.json': '{ "type": "module", "exports": "./index.js" }',
    'node_modules/tidegauge-collector-tides/index.js': collector,
  })
  const { code, stdout, stderr } = await command(['check', '--config', config], {
    ETHEREUM_RPC_URL: 'http://127.0.0.1:9',
  })
  expect(stdout, stderr).toContain('my-protocol___Supply')
  expect(code).toBe(0)
})

it('the configuration of docs/SKILL.md is in order', async () => {
  const { config } = configured(snippet('yaml', 'awesome-vault'))
  const { code, stdout, stderr } = await command(['check', '--config', config], {
    BACKUP_RPC_URL: 'http://127.0.0.1:9',
  })
  expect(stdout).toContain('awesome-vault___TVL')
  // The file of the key is not on this machine.
  expect(stderr.match(/warning: /g)).toHaveLength(1)
  expect(code).toBe(0)
})

it('what docs/SKILL.md says needs no code is in order', async () => {
  const { config } = configured(snippet('yaml', 'use: derived'))
  const { code, stdout, stderr } = await command(['check', '--config', config], {})
  expect(stdout, stderr).toContain('all-vaults___Growth7d')
  expect([code, stderr]).toEqual([0, ''])
})

it('the collector of docs/SKILL.md is one, with the metric that it says', async () => {
  const yaml = `service: embedded
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, rpc: [http://127.0.0.1:9] } }
protocols:
  - id: tide
    name: Tide
    collectors:
      - use: ./supply.mts
        options: { chain: local, token: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0" }
`
  const { config } = configured(yaml, { 'supply.mts': snippet('ts', 'defineCollector({') })
  const { code, stdout } = await command(['check', '--config', config])
  expect(stdout).toMatch(/^tide\/supply +tide___Supply +TIDE +yes$/m)
  expect(code).toBe(0)
})

it('the test of docs/SKILL.md is the one that new writes in a CommonJS package', async () => {
  const { config } = configured('service: embedded\nprotocols: []\n', {
    'package.json': '{ "type": "commonjs" }',
  })
  const { code } = await command(['new', 'supply', '--config', config])
  expect(code).toBe(0)
  const written = readFileSync(join(dirname(config), 'collectors/supply.test.mts'), 'utf8')
  expect(snippet('ts', 'collectorContract(')).toBe(written)
})

it('the example of partial reads makes no value of a chain where no vault answers', async () => {
  const types = readFileSync(new URL('../../src/runner/child/typed/chain-as-of.ts', import.meta.url), 'utf8')
  const [example = ''] = types.split('```').filter(text => text.includes('{ partial: true })'))
  const code = example.replace(/^ts$|^ *\* ?/gm, '')
  const sumOf = (answers: readonly object[]) => {
    const read = async () => answers
    const run = new Function('chain', 'vaults', 'abi', `return (async () => { ${code}\nreturn sum })()`)
    return run(() => ({ read }), [], []) as Promise<bigint>
  }
  expect(
    await sumOf([{ status: 'success', result: 3n }, { status: 'failure' }, { status: 'success', result: 4n }]),
  ).toBe(7n)
  await expect(sumOf([{ status: 'failure' }])).rejects.toThrow('no vault answers')
})
