import '../../../edge/unasked-continue.ts'
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { isPublicAddress } from './addresses.ts'
import { connectAsOwn } from './guarded-network.ts'
import type { Reach } from './hops.ts'
import { httpConnectMsMax, httpOriginsMax } from './limits.ts'

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
  /** Certificate authority to trust besides the usual ones. */
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
  const reached = new Map<string, 'private' | 'public'>()
  // Only HTTP/1.1: one request an hour gains nothing from HTTP/2.
  const shared = { allowH2: false, timeout: httpConnectMsMax, ...(ca === undefined ? {} : { ca }) }
  const anywhere = buildConnector({ ...shared, lookup })
  const outside = buildConnector({ ...shared, lookup: publicLookup(lookup, isPublic) })

  function remember(origin: string, address: string | undefined): void {
    // If a name had both kinds of address, the stricter rules for redirects apply.
    const before = reached.get(origin)
    if (before === undefined && reached.size >= httpOriginsMax) reached.clear()
    reached.set(origin, before === 'public' || address === undefined || isPublic(address) ? 'public' : 'private')
  }

  const any = agentOf((target, done) =>
    connectAsOwn(() =>
      anywhere(target, (...[error, socket]) => {
        if (error) return done(error, null)
        remember(new URL(`${target.protocol}//${target.host}`).origin, socket.remoteAddress)
        done(null, socket)
      }),
    ),
  )
  const onlyPublic = agentOf((target, done) => {
    // A literal address is never looked up.
    const isRefused = isIP(target.hostname) !== 0 && !isPublic(target.hostname)
    if (isRefused) return done(new PrivateAddressError(target.hostname), null)
    connectAsOwn(() => outside(target, done))
  })
  return {
    dispatcher: reach => (reach === 'any' ? any : onlyPublic),
    cameFrom: origin => reached.get(origin) ?? 'public',
  }
}

function agentOf(connect: buildConnector.connector): Agent {
  return new Agent({ connect, allowH2: false })
}

/** Wraps a DNS look-up to fail when one of the addresses is not public: only checked addresses are connected to. */
function publicLookup(lookup: LookupFunction, isPublic: (address: string) => boolean): LookupFunction {
  return (hostname, options, done) =>
    lookup(hostname, options, (error, found, family) => {
      if (error) return done(error, found, family)
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address)
      const inner = addresses.find(address => !isPublic(address))
      if (inner !== undefined) return done(new PrivateAddressError(inner), found, family)
      done(null, found, family)
    })
}
