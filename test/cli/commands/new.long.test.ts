import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { deployAave } from '../../support/aave.ts'
import { command } from '../../support/command.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { ProtocolChain } from '../../support/protocol-chain.ts'

it('new knows Aave’s own contracts: the pool behind its proxy, and the token of a reserve', async () => {
  const chain = await ProtocolChain.start()
  onTestFinished(() => chain.stop())
  const { pool, list } = await deployAave(chain)
  const dollar = await list({ symbol: 'USD', decimals: 6, price: '1' })
  const config = join(temporaryFolder(), 'config', 'tidegauge.yaml')
  mkdirSync(dirname(config))
  const file = (entries: string) => `service: embedded
chains: { dev: { id: 31337, rpc: ["${chain.url}"] } }
protocols:
  - id: a
    name: A
    collectors:
${entries}
`
  writeFileSync(config, file('      - use: host'))
  const ask = (address: string) => command(['new', '--chain', 'dev', '--address', address, '--config', config])
  const asked = await ask(pool.address)
  expect(asked.stderr).toContain(`${pool.address} on dev: Aave V3 pool\n  a proxy (EIP-1967) of 0x`)
  expect(asked.stdout).toContain(
    `- use: aave-v3\n        options:\n          chain: dev\n          pool: "${pool.address}"`,
  )
  const { aTokenAddress } = await chain.read<{ readonly aTokenAddress: string }>(pool, 'getReserveData', [
    dollar.address,
  ])
  const token = await ask(aTokenAddress)
  expect(token.stderr).toContain('Aave token, ERC-20 token')
  expect(token.stdout).toContain('- use: erc20-supply')

  writeFileSync(config, file(asked.stdout + token.stdout))
  expect(await command(['check', '--config', config])).toMatchObject({ code: 0, stderr: '' })
})
