import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { httpConnectMsMax, httpOriginsMax } from '../../limits.ts'
import { isPublicAddress } from './addresses.ts'
import type { Reach } from './hops.ts'

/** The connections of off-chain reads; those of a reach are never used for the other. */
export interface HttpNetwork {
  dispatcher(reach: Reach): Dispatcher
  /** The kind of address an origin was reached at, for a request that could reach any; `public` where there is doubt. */
  cameFrom(origin: string): 'private' | 'public'
}

/** What tests replace. */
export interface HttpNetworkOptions {
  readonly lookup?: LookupFunction
  readonly isPublic?: (address: string) => boolean
  /** Certificate authority to trust beside the usual ones. */
  readonly ca?: string
}

/** A host that was to be public is not. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
  readonly address: string

  constructor(address: string) {
    super('not a public address')
    this.address = address
  }
}

/** Opens connections when they are asked for. Addresses are judged when they are connected to, not by their text. */
export function createNetwork(options: HttpNetworkOptions = {}): HttpNetwork {
  const { lookup = systemLookup, isPublic = isPublicAddress, ca } = options
  const reached = new Map<string, 'private' | 'public'>()
  // HTTP/1.1 alone: one request an hour gains nothing from more.
  const shared = { allowH2: false, timeout: httpConnectMsMax, ...(ca === undefined ? {} : { ca }) }
  const anywhere = buildConnector({ ...shared, lookup })
  const outside = buildConnector({ ...shared, lookup: publicLookup(lookup, isPublic) })

  function remember(origin: string, address: string | undefined): void {
    // Two kinds for one name: what a redirect may do is decided by the stricter.
    const before = reached.get(origin)
    if (before === undefined && reached.size >= httpOriginsMax) reached.clear()
    reached.set(origin, before === 'public' || address === undefined || isPublic(address) ? 'public' : 'private')
  }

  const any = agentOf((target, done) =>
    anywhere(target, (...[error, socket]) => {
      if (error) return done(error, null)
      remember(new URL(`${target.protocol}//${target.host}`).origin, socket.remoteAddress)
      done(null, socket)
    }),
  )
  const onlyPublic = agentOf((target, done) => {
    // An address that is written out is never looked up.
    const isRefused = isIP(target.hostname) !== 0 && !isPublic(target.hostname)
    if (isRefused) return done(new PrivateAddressError(target.hostname), null)
    outside(target, done)
  })
  return {
    dispatcher: reach => (reach === 'any' ? any : onlyPublic),
    cameFrom: origin => reached.get(origin) ?? 'public',
  }
}

function agentOf(connect: buildConnector.connector): Agent {
  return new Agent({ connect, allowH2: false })
}

/** A look-up that fails when one of the addresses is not public: what is connected to is what was judged. */
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
