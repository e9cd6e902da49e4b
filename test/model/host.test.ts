import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isForeign, keysInAddress, keysInHost, shownHost } from '../../src/model/host.ts'

it.each([
  ['https://a1b2c3d4e5f60718.rpc.example.com:8545/x', '(redacted).rpc.example.com:8545'],
  ['https://ethereum-mainnet-8f3a9c2b1d4e5f60.example.com', 'ethereum-mainnet-(redacted).example.com'],
  ['https://123e4567-e89b-12d3-a456-426614174000.node.example.com', '(redacted).node.example.com'],
  ['wss://abcdefabcdefabcdefabcdefabcdefab.example.com', '(redacted).example.com'],
])('of %s %s is shown', (url, shown) => expect(shownHost(new URL(url))).toBe(shown))

it.each([
  'http://127.0.0.1:8545',
  'http://[2001:db8::1]:8545',
  'http://localhost:8545',
  'https://withered-blue-star.ethereum-mainnet.example.pro',
  'https://eth-mainnet.g.example.com',
  'https://nd-123-456-789.example.com',
  'http://geth-0.geth.default.svc.cluster.local',
  'https://internal-lb-1234567890.us-east-1.elb.example.com',
  'https://a1b2c3d4e5f60718.com',
])('%s holds no key, and is shown whole', url => {
  expect(shownHost(new URL(url))).toBe(new URL(url).host)
  expect(keysInHost(new URL(url).hostname)).toEqual([])
})

it.each([
  ['https://e.com/v2/Xk9_b2-Q7w1z_R4t8Y', ['Xk9_b2-Q7w1z_R4t8Y']],
  ['https://e.com/sk_live_4f9a8b7c6d5e4f3a2b1c/x', ['sk_live_4f9a8b7c6d5e4f3a2b1c']],
  ['https://e.com/123e4567-e89b-12d3-a456-426614174000', ['123e4567-e89b-12d3-a456-426614174000']],
  ['https://e.com/eyJhbGciOiJI.eyJzdWIi.c2ln_b-A/x', ['eyJhbGciOiJI.eyJzdWIi.c2ln_b-A']],
  ['https://e.com/bot7263548190:AAFk3_x-Qw9ZrT5yUiOpLkJhGfDs/send', ['bot7263548190:AAFk3_x-Qw9ZrT5yUiOpLkJhGfDs']],
  ['https://e.com/api/totalLiquidityUsd/annualisedYield', []],
  ['https://e.com/x?access=swordfish&at=5', ['swordfish']],
  ['https://e.com/x?k=swordfish', ['swordfish']],
  ['https://e.com/x?x-auth=swordfish&X-Api-Key=swordfish2', ['swordfish', 'swordfish2']],
  ['https://e.com/x?anything=a1b2c3d4_e5f6g7h8', ['a1b2c3d4_e5f6g7h8']],
  ['https://reader:swordfish@e.com/x', ['reader', 'swordfish']],
  ['https://e.com/aave-v3-ethereum-v2-l2-x1-24h-usdc-pool-2024/get_pool_apy', []],
  ['https://e.com/2026-11-20T13:00:00Z/total-value-locked-usd', []],
  ['https://e.com/0x00000000219ab540356cBB839Cbe05303d7705Fa?vs=usd&ids=ethereum,usd-coin', []],
  ['https://e.com/at/{hourSeconds}?token=eth&page=2', []],
])('keys in %s: %j', (url, keys) => expect(keysInAddress(new URL(url))).toEqual(keys))

it('an address of any part, of whatever length and letters, is judged', () => {
  const lengths = fc.integer({ min: 1, max: 80 })
  const letters = fc.constantFrom('a', 'circulatingSupply', 'A1', '1', '-', '_', 'x-', '_9', 'é', '%3A', '.', 'eyJ')
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 40 }), lengths, (parts, length) => {
      const text = parts.join('').slice(0, length)
      keysInAddress(new URL(`https://example.com/${text}?${text}=${text}`))
    }),
  )
})

it.each([
  ['example.com', true],
  ['8.8.8.8', true],
  ['172.32.0.1', true],
  ['[2001:db8::1]', true],
  ['geth', false],
  ['geth.eth.svc', false],
  ['node.internal', false],
  ['172.31.0.1', false],
  ['10.0.0.8', false],
  ['[fd00::1]', false],
  ['localhost', false],
])('%s is foreign: %s', (host, foreign) => expect(isForeign(host)).toBe(foreign))
