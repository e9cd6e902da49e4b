import { createHash } from 'node:crypto'
import { style } from './page/style/style.ts'

const styleHash = createHash('sha256').update(style).digest('base64')

/** On every answer: nothing is loaded from another host, run, framed, guessed or kept. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
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

/**
 * Whether a request's `Host` may be answered. Bound to loopback, the server is for this machine alone; a web page elsewhere
 * could still reach it by pointing its own name here (DNS rebinding), and is told apart by that name. Any port is
 * taken, as a tunnel may end on another one. Bound to another address, the names it is reached by are not known here.
 *
 * @param bound host as configured
 * @param header the request's `Host`
 */
export function isHostAllowed(bound: string, header: string | undefined): boolean {
  const boundName = nameOf(bound)
  if (!isLoopback(boundName)) return true
  const asked = /^(\[[0-9a-f:.]+\]|[^:[\]@/\s]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]
  return asked !== undefined && ['127.0.0.1', 'localhost', '::1', boundName].includes(nameOf(asked))
}

function nameOf(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}
