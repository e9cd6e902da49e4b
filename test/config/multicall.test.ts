import { expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'

const withMulticall = (address: string) =>
  parseConfig(
    '/t.yaml',
    `service: embedded\nchains: { x: { id: 1, rpc: ["http://127.0.0.1:1"], multicall: ${address} } }\nprotocols: [{ id: p, name: P, collectors: [{ use: host }] }]\n`,
  )

it('Multicall3 may be at another address', () => {
  const address = `0x${'5A'.repeat(20)}`
  expect(withMulticall(`"${address}"`).chains[0]?.multicall).toBe(address)
})

it.each(['"0x5a"', `"${'5a'.repeat(20)}"`])('that is not an address is refused: %s', text => {
  const refused = () => withMulticall(text)
  expect(refused).toThrow(ConfigError)
})
