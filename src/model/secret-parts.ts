import { basicAuthorization, decodedPart } from './credentials.ts'
import { keysInHost } from './host.ts'

/** Shorter texts do not count as secrets: redacting them would hide ordinary words. */
export const secretCharsMin = 6

/** Shorter parts of a secret are words such as `v3` or `mainnet`, not worth hiding alone. */
const partCharsMin = 8

/**
 * A secret and the parts of it that an error may quote alone: the words of a header; the path, query, credentials and
 * keys in the host name of an address. An address of only a host and a port is not a secret. Pure.
 *
 * @param charsMin shorter parts are left out; default 8. A lower value suits a text that can be dropped as a whole
 * @returns the longest first
 */
export function secretPartsOf(secret: string, charsMin: number = partCharsMin): string[] {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(secret) && URL.canParse(secret) ? new URL(secret) : undefined
  const whole = url ? wholeOf(secret, url) : [secret]
  const parts = url ? partsOfAddress(url) : secret.split(/[\s=:;,]+/)
  const all = [...whole, ...parts.flatMap(part => [part, decodedPart(part)])]
  return [...new Set(all)].filter(part => part.length >= charsMin).sort((a, b) => b.length - a.length)
}

/** Only a host and a port may be the beginning of many other addresses. */
function wholeOf(secret: string, url: URL): string[] {
  const isOpen = /^\/*$/.test(url.pathname) && url.search === '' && url.hash === '' && url.username === ''
  return isOpen ? [] : [secret, secret.replace(/\/+$/, ''), url.href]
}

function partsOfAddress(url: URL): string[] {
  const { hostname, pathname, search, searchParams, username, password, hash } = url
  const path = pathname.replace(/\/+$/, '')
  // As it is sent in a header.
  const basic = basicAuthorization(url)?.slice('Basic '.length).replace(/=+$/, '') ?? ''
  const query = [...searchParams.values()]
  return [
    ...keysInHost(hostname),
    path,
    `${pathname}${search}`,
    ...path.split('/'),
    ...query,
    username,
    password,
    hash.slice(1),
    basic,
  ]
}
