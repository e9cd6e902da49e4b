import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { Devchain } from '../../src/devchain/devchain.ts'
import { packageUrl } from '../../src/edge/program-files.ts'
import { temporaryFolder } from '../support/folder.ts'
import { tidegauge } from '../support/tidegauge.ts'

const examples = fileURLToPath(new URL('examples', packageUrl))
const textOf = (file: string) => readFileSync(join(examples, file), 'utf8')

function copied(): string {
  const folder = join(temporaryFolder(), 'our-numbers')
  cpSync(examples, folder, { recursive: true })
  return folder
}

describe('the folder of examples', () => {
  it('has no mistake where its secrets are set, and names those that are not', async () => {
    const config = join(copied(), 'tidegauge.yaml')
    const secrets = { METRICS_KEY: 'a-key', ETHEREUM_RPC_URL: 'http://127.0.0.1:9' }
    const checked = await tidegauge(['check', '--config', config], secrets)
    expect([checked.code, checked.stderr]).toEqual([0, expect.not.stringContaining('→')])
    const { stdout, stderr } = await tidegauge(['check', '--config', config])
    for (const name of Object.keys(secrets)) expect(stdout + stderr).toContain(name)
  })

  it('gives the values of a local chain in place of the addresses that it names', async () => {
    const chain = await Devchain.build({ nowMs: Date.now(), hours: 3 })
    onTestFinished(() => chain.stop())
    const { pool, feed, dollar, treasury } = chain.addresses
    const local: readonly (readonly [RegExp, string])[] = [
      [/0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc/g, pool],
      [/0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419/g, feed],
      [/0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48/g, dollar],
      [/0xFe89cc7aBB2C4183683ab71653C4cdc9B02D44b7/g, treasury],
      [/id: 1,/g, 'id: 31337,'],
      [/^service: .*$/m, 'service: embedded'],
    ]
    const folder = copied()
    for (const file of ['tidegauge.yaml', ...readdirSync(join(folder, 'protocols')).map(name => `protocols/${name}`)]) {
      const text = local.reduce((changed, [from, to]) => changed.replace(from, to), textOf(file))
      writeFileSync(join(folder, file), text)
    }
    const config = join(folder, 'tidegauge.yaml')
    const secrets = { ETHEREUM_RPC_URL: chain.url }
    const { stdout, stderr } = await tidegauge(['collect', '--dry-run', '--config', config], secrets)
    for (const label of ['Price', 'TVL', 'Swaps', 'Treasury'])
      expect(stdout, stderr).toMatch(new RegExp(`${label} +[\\d,.]+`))
  })

  it('has the workflow of the documents, with the secrets that its configuration names', () => {
    const workflow = textOf('.github/workflows/tidegauge.yml')
    const [, ofDocuments = ''] = readFileSync(new URL('docs/deploy/github-actions.yml', packageUrl), 'utf8').split(
      /^(?=name: )/m,
    )
    const command = 'npx tidegauge collect --catch-up --max-hours 48 --config config/tidegauge.yaml'
    expect(workflow).toContain(ofDocuments.replace(command, 'npm run catch-up'))
    const scripts = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
    expect(scripts.scripts['catch-up']).toBe('tidegauge collect --catch-up --max-hours 48')
    const named = [...textOf('tidegauge.yaml').matchAll(/env: (\w+)/g)].map(([, name]) => name)
    const { env } = parse(workflow).jobs['catch-up'].steps.find((step: { env?: object }) => step.env)
    expect(Object.keys(env).sort()).toEqual(named.sort())
  })
})
