import type { HttpRequest } from '../../collector.ts'
import '../../edge/unasked-continue.ts'
import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { egressConnector, proxyOf } from '../../edge/egress.ts'
import { Fault } from '../../model/fault.ts'
import { connectAsOwn } from './lockdown.ts'
import { cut } from './thrown.ts'

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
  const [plain = ''] = address.split('%', 1)
  const family = isIP(plain)
  return family !== 0 && !inner.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}

/** Origins whose kind of address is remembered. */
const httpOriginsMax = 1_000

/** Longest connection set-up of an off-chain request, look-up and TLS included. */
const httpConnectMsMax = 10_000

/** The addresses a request may connect to. */
export type Reach = 'any' | 'public'

/** Connections for off-chain reads; those of one reach are never used for the other. */
export interface HttpNetwork {
  dispatcher(reach: Reach): Dispatcher
  /** The kind of address an origin was reached at; `public` in doubt. */
  cameFrom(origin: string): 'private' | 'public'
}

/** Settings that tests replace. */
export interface HttpNetworkOptions {
  /** DNS look-up. Default: Node's. */
  readonly lookup?: LookupFunction
  /** Whether an address is public. Default: `isPublicAddress`. */
  readonly isPublic?: (address: string) => boolean
  /** Certificate authority to trust in place of the usual ones. */
  readonly ca?: string
}

/** A host that should be public has a private address. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
  readonly address: string

  constructor(address: string) {
    super('not a public address')
    this.address = address
  }
}

/** Creates a network; connections are opened on demand. Addresses are checked when connected to, not by their text. */
export function createNetwork(options: HttpNetworkOptions = {}): HttpNetwork {
  const { lookup = systemLookup, isPublic = isPublicAddress, ca } = options
  const reachByOrigin = new Map<string, 'private' | 'public'>()
  // Only HTTP/1.1: one request an hour gains nothing from HTTP/2.
  const connectorOptions = { allowH2: false, timeout: httpConnectMsMax, ...(ca === undefined ? {} : { ca }) }
  const anyConnector = egressConnector(buildConnector, { ...connectorOptions, lookup })
  // Behind a proxy a name is looked up by that alone: what it may reach is for the proxy to say.
  const publicConnector = egressConnector(buildConnector, {
    ...connectorOptions,
    lookup: publicLookup(lookup, isPublic),
  })

  function remember(origin: string, address: string | undefined): void {
    // If a name had both kinds of address, the stricter rules for redirects apply.
    const before = reachByOrigin.get(origin)
    if (before === undefined && reachByOrigin.size >= httpOriginsMax) reachByOrigin.clear()
    reachByOrigin.set(origin, before === 'public' || address === undefined || isPublic(address) ? 'public' : 'private')
  }

  const anyAgent = agentOf((target, callback) =>
    connectAsOwn(() =>
      anyConnector(target, (...[error, socket]) => {
        if (error) return callback(error, null)
        // Behind a proxy only an address that is written as one is known.
        const known = isIP(target.hostname) === 0 ? undefined : target.hostname
        const address = proxyOf(target.hostname) ? known : socket.remoteAddress
        remember(new URL(`${target.protocol}//${target.host}`).origin, address)
        callback(null, socket)
      }),
    ),
  )
  const onlyPublic = agentOf((target, callback) => {
    // A literal address is never looked up.
    const isRefused = isIP(target.hostname) !== 0 && !isPublic(target.hostname)
    if (isRefused) return callback(new PrivateAddressError(target.hostname), null)
    connectAsOwn(() => publicConnector(target, callback))
  })
  return {
    dispatcher: reach => (reach === 'any' ? anyAgent : onlyPublic),
    cameFrom: origin => reachByOrigin.get(origin) ?? 'public',
  }
}

function agentOf(connect: buildConnector.connector): Agent {
  return new Agent({ connect, allowH2: false })
}

/** Wraps a DNS look-up to fail when one of the addresses is not public: only checked addresses are connected to. */
function publicLookup(lookup: LookupFunction, isPublic: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, addressesOfHost, family) => {
      if (error) return callback(error, addressesOfHost, family)
      const addresses =
        typeof addressesOfHost === 'string' ? [addressesOfHost] : addressesOfHost.map(({ address }) => address)
      const inner = addresses.find(address => !isPublic(address))
      if (inner !== undefined) return callback(new PrivateAddressError(inner), addressesOfHost, family)
      callback(null, addressesOfHost, family)
    })
}

/** Longest body of an off-chain request, in bytes. */
const httpRequestBytesMax = 1_048_576

/** A request in the form it is sent. */
interface SentRequest {
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent for a GET. */
  readonly body?: string
  /** Whether it may be retried after a failure. */
  readonly isRead: boolean
}

const known: ReadonlySet<string> = new Set([
  'headers',
  'body',
  'method',
  'isRead',
  'statuses',
  'numbers',
] satisfies (keyof HttpRequest)[])

/**
 * Turns a collector's request into the form it is sent in.
 *
 * @param accept default of that header
 * @throws Fault `http-refused` for unknown or invalid fields
 */
export function sentRequest(request: HttpRequest = {}, accept: string): SentRequest {
  const unknown = Object.keys(request).filter(name => !known.has(name))
  if (unknown.length > 0) {
    throw refused(`knows no ${unknown.map(cut).join(', ')}`, `write of ${[...known].join(', ')}`)
  }
  const body = bodyOf(request.body)
  if (request.numbers !== undefined && request.numbers !== 'text')
    throw refused(
      'gives numbers as numbers or as text',
      "write numbers: 'text', which keeps each digit, or leave it out for JavaScript's own numbers",
    )
  const { method = body === undefined ? 'GET' : 'POST', isRead } = request
  if (method !== 'GET' && method !== 'POST') throw refused('sends only GET and POST', 'leave method out')
  if (method === 'GET' && body !== undefined) throw refused('sends no body with a GET', 'leave method out')
  const type = typeof request.body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return {
    method,
    headers: { accept, ...(body !== undefined && { 'content-type': type }), ...lowerCase(request.headers ?? {}) },
    ...(body !== undefined && { body }),
    isRead: method === 'GET' || (isRead ?? isGraphqlRead(request.body)),
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function bodyOf(body: unknown): string | undefined {
  if (body === undefined) return undefined
  const text = typeof body === 'string' ? body : jsonOf(body)
  if (text === undefined) throw refused('cannot write this body as JSON', 'turn big integers and dates into text first')
  if (Buffer.byteLength(text) > httpRequestBytesMax) {
    throw refused(`sends no body of more than ${httpRequestBytesMax / 1_048_576} MiB`, 'ask for less at a time')
  }
  return text
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Whether a body is a GraphQL request that changes nothing. In doubt it is not. */
function isGraphqlRead(body: unknown): boolean {
  const query: unknown = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined
  return typeof query === 'string' && !/\bmutation\b/.test(query)
}

function refused(what: string, fix: string): Fault {
  return new Fault('http-refused', `http ${what}`, { fix })
}
