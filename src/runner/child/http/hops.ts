import { Fault } from '../../../model/fault.ts'
import { basicAuthorization, isForeign, mayBeSecretHeader } from '../../../model/host.ts'
/** The addresses a request may connect to. */
export type Reach = 'any' | 'public'

/** An answer that redirects. */
export interface Redirect {
  /** A status from 300 to 399. */
  readonly status: number
  /** As in the header, absolute or relative. */
  readonly location: string
}

/** One request of a chain of redirects. */
export interface Hop {
  /** http or https, without a name or a password. */
  readonly address: URL
  readonly method: 'GET' | 'POST'
  /** The caller's headers, names in lower case; only `accept` after leaving their origin. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of a POST; absent otherwise. */
  readonly body?: string
  readonly reach: Reach
  /** Host whose redirect led here; absent for the first request. */
  readonly sentBy?: string
}

/**
 * The first request of a chain. It may go to a private address, such as one's own node. A name and a password in the
 * address are sent as a header.
 *
 * @throws Fault `http-refused` when the address is not http or https, or a secret would go unencrypted to a foreign host
 */
export function firstHop(url: string, { method, headers, body }: Pick<Hop, 'method' | 'headers' | 'body'>): Hop {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !isHttp(address)) throw new Fault('http-refused', 'the URL is not an http or https address')
  const authorization = basicAuthorization(address)
  const signedIn = { ...(authorization && { authorization }), ...headers }
  const secret = Object.keys(signedIn).find(mayBeSecretHeader)
  if (secret !== undefined && address.protocol === 'http:' && isForeign(address.hostname)) {
    const { host } = address
    const message = `the header ${secret} would be sent to ${host} unencrypted`
    throw new Fault('http-refused', message, { facts: { host }, fix: 'write https:// in its address' })
  }
  address.username = ''
  address.password = ''
  return { address, method, headers: signedIn, reach: 'any', ...(body !== undefined && { body }) }
}

/**
 * The request that a redirect leads to. A source must not choose what is requested inside the operator's network: after
 * an answer from a public address only public ones may follow, after one from a private address only the same host or
 * public ones. A POST stays a POST with 307 and 308, within its origin; 303 turns it into a GET.
 *
 * @param from the kind of address that answered
 * @throws Fault `http-refused` for another protocol, a step from https to http, a name or password, and a POST that
 * would leave its origin or change
 */
export function nextHop(hop: Hop, { status, location }: Redirect, from: 'private' | 'public'): Hop {
  const { host, origin, hostname, protocol, href } = hop.address
  const address = URL.canParse(location, href) ? new URL(location, href) : undefined
  if (!address || !isHttp(address)) throw refused(host, 'to an address that is not http or https')
  if (protocol === 'https:' && address.protocol === 'http:') throw refused(host, 'from https to http')
  if (address.username !== '' || address.password !== '') {
    throw refused(host, 'to an address with a name or password in it')
  }
  const isSame = address.origin === origin
  const staysPost = hop.method === 'POST' && status !== 303
  if (staysPost && (!isSame || status < 307)) {
    throw refused(host, `a POST (${status})`, 'write the address that it leads to')
  }
  const staysInside = hop.reach === 'any' && from === 'private' && address.hostname === hostname
  return {
    address,
    method: staysPost ? 'POST' : 'GET',
    headers: headersOf(hop.headers, isSame, staysPost),
    ...(staysPost && hop.body !== undefined && { body: hop.body }),
    reach: staysInside ? 'any' : 'public',
    sentBy: host,
  }
}

function headersOf(all: Hop['headers'], isSame: boolean, withBody: boolean): Hop['headers'] {
  const { accept, 'content-type': _type, ...others } = all
  if (isSame && withBody) return all
  return { ...(isSame && others), ...(accept !== undefined && { accept }) }
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

function refused(host: string, where: string, fix?: string): Fault {
  return new Fault('http-refused', `${host} redirects ${where}`, { facts: { host }, ...(fix !== undefined && { fix }) })
}
