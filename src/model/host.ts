import { isKeyOf } from './header-name.ts'

/**
 * Parts of a host name that look like a key: some RPC providers put it into a subdomain. The last two labels are the
 * provider's own.
 */
export function keysInHost(hostname: string): string[] {
  const labels = hostname.split('.').slice(0, -2)
  return labels.flatMap(label => {
    if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(label)) return [label]
    return label.split('-').filter(looksLikeKey)
  })
}

/**
 * Whether a part of an address looks like a key: letters and digits mixed, too long for a word with a number. A key may
 * have `-` and `_` in it; words that these join do not change between letters and digits as often.
 */
export function looksLikeKey(part: string): boolean {
  if (/^(?=.*\d)(?=.*[a-z])[a-z0-9]{16,}$/i.test(part) || /^[0-9a-z]{32,}$/i.test(part)) return true
  if (!/^[\w-]{16,}$/.test(part) || /^\d{4}-\d\d-\d\d/.test(part)) return false
  // Words such as v3 and 24h.
  const words = part.split(/[-_]/).filter(word => !/^([a-z]\d{1,2}|\d{1,3}[a-z])$/i.test(word))
  const changes = words.join(' ').match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0
  return changes >= 4 || words.some(word => word.length >= 16 && looksLikeKey(word))
}

/** The keys in an address: name and password, and values that look like keys, or are called so. Encoded as they are. */
export function keysInAddress(url: URL): string[] {
  const { hostname, pathname, search, username, password } = url
  const values = search
    .slice(1)
    .split('&')
    .flatMap(pair => {
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      return isKeyOf(name, value) || (looksLikeKey(value) && !/^0x/i.test(value)) ? [value] : []
    })
  const parts = pathname.split('/').filter(part => looksLikeKey(part) && !/^0x/i.test(part))
  return [...keysInHost(hostname), ...parts, ...values, username, password].filter(key => key !== '')
}

/** Whether a host is outside of this machine and of private networks, by its name or address. */
export function isForeign(hostname: string): boolean {
  if (isLoopback(hostname) || /^(10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)\.[\d.]+$/.test(hostname)) return false
  if (hostname.startsWith('[')) return !/^\[(f[cd]|fe[89ab])/i.test(hostname)
  return hostname.includes('.') && !/\.(local|localhost|internal|lan|svc|home\.arpa)\.?$/i.test(hostname)
}

/** Host and port of a URL, with keys in the host name replaced. */
export function shownHost({ host, hostname }: Pick<URL, 'host' | 'hostname'>): string {
  return keysInHost(hostname).reduce((shown, key) => shown.replaceAll(key, '(redacted)'), host)
}

/** URL at which this machine reaches a server of its own: one that listens on every address is reached on loopback. */
export function localUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Whether a host, as `URL.hostname` gives it or without brackets, is this machine: 127.0.0.0/8, ::1, localhost. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|\[?::1\]?|127\.\d+\.\d+\.\d+)$/.test(hostname)
}
