import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isLoopback } from '../../model/host.ts'
import { liveScript } from '../page/live-script.ts'
import { style } from '../page/style.ts'

/** Limits for slow readers: a real one sends a few short headers at once. */
export const patience = { headersMsMax: 10_000, requestMsMax: 15_000 }

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Headers of every answer: nothing is loaded from another host, framed, sniffed or cached, and only the page's own script runs. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(liveScript)}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** The address the server listens on, and the names it is reached by, if known. */
export interface ServedAddress {
  readonly host: string
  /** Accepted names besides localhost and that of the address. Default: none. */
  readonly hosts?: readonly string[]
}

/**
 * Whether a request with this `Host` may be answered. A web page elsewhere could reach this server by pointing its own
 * name here (DNS rebinding); its name gives it away. On loopback, the server is for this machine only. On another
 * address it answers to the configured names and to any IP address, which rebinding cannot send. Any port is accepted, as a tunnel may use another one.
 *
 * @param header the request's `Host`
 */
export function isHostAllowed({ host, hosts = [] }: ServedAddress, header: string | undefined): boolean {
  const boundName = nameOf(host)
  const asked = /^(\[[0-9a-f:.]+\]|[^:[\]@/\s]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]
  if (asked === undefined) return false
  const name = nameOf(asked)
  if (['127.0.0.1', 'localhost', '::1', boundName, ...hosts].includes(name)) return true
  return !isLoopback(boundName) && isIP(name) !== 0
}

/**
 * Whether a request may be answered: by its `Host`, and by who asks. A page of another origin learns nothing from the
 * answer, but holds one of the few connections of `/events`, and keeps the daemon at work; only a link to a page may
 * come from anywhere. A browser says where a request comes from, and other programs say nothing.
 */
export function isAllowed(bound: ServedAddress, headers: IncomingHttpHeaders): boolean {
  const { host, origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers
  if (!isHostAllowed(bound, host)) return false
  if (site === 'same-origin') return true
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) return false
  const isLink = mode === 'navigate' && dest === 'document'
  return site === undefined || site === 'none' || isLink
}

function nameOf(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
}
