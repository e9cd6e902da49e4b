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

/** Whether a part of an address looks like a key: letters and digits mixed, too long for a word with a number. */
export function looksLikeKey(part: string): boolean {
  return /^(?=.*\d)(?=.*[a-z])[a-z0-9]{16,}$/i.test(part) || /^[0-9a-z]{32,}$/i.test(part)
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
