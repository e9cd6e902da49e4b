import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { systemTime } from '../../src/edge/time.ts'
import { parseHour } from '../../src/model/hour.ts'
import { temporaryFolder } from '../support/folder.ts'
import { configText } from './config.ts'
import { freePort, startDaemon, statusOf } from './daemon.ts'
import { demoPrices, demoProtocols } from './protocols.ts'

const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const addresses = {
  dollar: address,
  tide: address,
  vault: address,
  pool: address,
  feed: address,
  treasury: address,
} as const

it('a daemon that ends unasked says how, and its last lines are at hand', async () => {
  const folder = temporaryFolder()
  const files = { config: join(folder, 'tidegauge.yaml'), log: join(folder, 'daemon.log') }
  writeFileSync(files.config, 'servise: embedded\n')
  const daemon = startDaemon(files, systemTime)
  expect(await daemon.ended).toBe('exit code 78')
  expect(daemon.tail().join('\n')).toContain('servise')
})

it('the configuration is one that the daemon takes', () => {
  const since = parseHour('2026-11-20T13:00:00Z')
  const chain = { id: 31337, url: 'http://127.0.0.1:8545' }
  const text = configText({
    chain,
    since,
    protocols: demoProtocols(addresses),
    prices: demoPrices(addresses),
    port: 9464,
  })
  const { service, chains, protocols } = parseConfig('/demo/tidegauge.yaml', text)
  expect(service.kind).toBe('embedded')
  expect(chains).toMatchObject([{ name: 'demo', id: 31337, settleMs: 0, rpc: [{ kind: 'url', url: chain.url }] }])
  const collectors = protocols.flatMap(protocol => protocol.collectors)
  expect(collectors.map(({ id }) => id)).toContain('demo-pool/uniswap-v2-pool')
  expect(collectors.find(({ use }) => use === 'native-balance')).toMatchObject({ options: { address }, since })
  expect(collectors.filter(collector => collector.since === undefined).map(({ use }) => use)).toEqual(['host'])
})

it('a port that is taken is passed over', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const taken = typeof address === 'object' && address ? address.port : 0
  expect(await freePort(taken)).not.toBe(taken)
  server.close()
  await once(server, 'close')
  expect(await freePort(taken)).toBe(taken)
})

it('a daemon that does not answer has no status', async () => {
  expect(await statusOf(`http://127.0.0.1:${await freePort(0)}`, systemTime)).toBeUndefined()
})
