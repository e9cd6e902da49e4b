import { expect, it } from 'vitest'
import { keysInHost, shownHost } from '../../src/model/host.ts'

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
