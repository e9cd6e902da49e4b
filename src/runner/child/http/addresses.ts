import { BlockList, isIP } from 'node:net'

/** IPv4 networks that are not the public internet, as network and prefix length (IANA's special-purpose registry). */
const networks4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const

/** The IPv6 networks; `2001::/32` and `2002::/16` tunnel to an IPv4 address of the sender's choice. */
const networks6 = [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const

const inner = new BlockList()
for (const [network, prefix] of networks6) inner.addSubnet(network, prefix, 'ipv6')
for (const [network, prefix] of networks4) {
  inner.addSubnet(network, prefix, 'ipv4')
  // As translated by a NAT64 gateway. The list itself handles addresses mapped into IPv6 (::ffff:10.0.0.1).
  inner.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6')
}

/**
 * Whether an IP address is public: not loopback, link-local, private, shared, unspecified, multicast or reserved, also
 * when written as IPv6. A text that is not an IP address is not public.
 */
export function isPublicAddress(address: string): boolean {
  // Without the zone, which names an interface of this machine.
  const plain = address.replace(/%.*$/, '')
  const family = isIP(plain)
  return family !== 0 && !inner.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}
