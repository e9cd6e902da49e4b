import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { isLoopback } from '../model/host.ts'
import { valueAt } from '../model/json.ts'
import { withoutEnd } from '../model/text.ts'
import { type Mistake, quoted } from './mistakes.ts'
import { readText, readTree } from './yaml.ts'

/** Result of parsing a string: the value, or the mistake. */
export type ParsedText<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly mistake: Mistake }

/** A parser of strings. Pure. */
export type TextParser<T> = (text: string) => ParsedText<T>

/** The result of a valid string. */
export const parsed = <T>(value: T): ParsedText<T> => ({ ok: true, value })
/** The result of a string with a mistake. */
export const refused = (message: string, fix: string) => ({ ok: false, mistake: { message, fix } }) as const

// No message about a URL repeats it: a key may be anywhere in it.

/** Parses a URL strictly. `URL` itself accepts and repairs blanks, backslashes and missing slashes. */
function strictUrl(text: string, schemes: readonly string[]): URL | undefined {
  const scheme = /^([a-z]+):\/\/[^/\\?#]/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || !schemes.includes(scheme) || /[\s\\\p{C}]/u.test(text)) return undefined
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Mistake of a variable in an address, which the daemon would take as it stands; absent without one. */
function unexpanded(text: string) {
  const [reference, variable] = /\$\{?([A-Za-z_]\w*)\}?/.exec(text) ?? []
  if (reference === undefined) return undefined
  const fix =
    reference === text
      ? `write { env: ${variable} }`
      : 'write the value itself, or keep the whole address in a variable where { env: NAME } may stand'
  return refused('variables are not expanded here', fix)
}

/** The service's address, without a trailing slash: HTTPS, or HTTP on loopback; no credentials, no query. */
export function serviceUrl(text: string): ParsedText<string> {
  const variable = unexpanded(text)
  if (variable) return variable
  const fix = 'write it like https://metrics.example.com'
  const url = strictUrl(text, ['http', 'https'])
  if (!url) return refused('this is not an https:// address', fix)
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/]*@/i.test(text)) {
    return refused('the address holds credentials', 'remove what stands before @; the key goes to service.key')
  }
  if (/[?#]/.test(text)) return refused('the address holds a query or a fragment', 'remove everything from ? or # on')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refused('http:// is only for loopback addresses: the key would be sent unencrypted', 'write https://')
  }
  return parsed(withoutEnd(url.href, '/'))
}

/** Address that messages are posted to: HTTPS, or HTTP on loopback. It may hold credentials and a query. */
export function postAddress(text: string): ParsedText<string> {
  const fix = 'keep an https:// address there'
  const url = strictUrl(text, ['http', 'https'])
  if (!url) return refused('this is not an https:// address', fix)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refused('http:// is only for loopback addresses: the message would be sent unencrypted', fix)
  }
  return parsed(url.href)
}

/** Address of an HTTP proxy: its scheme, host and port. A name and a password may stand in a secret alone. */
export function proxyAddress(text: string, isSecret = false): ParsedText<string> {
  const variable = unexpanded(text)
  if (variable) return variable
  const fix = 'write it like http://proxy.example.com:3128'
  if (/^socks/i.test(text)) return refused('a SOCKS proxy is not used here, an HTTP proxy is', fix)
  const url = strictUrl(text, ['http', 'https'])
  if (!url) return refused('this is not the http:// or https:// address of a proxy', fix)
  if (!isSecret && (url.username !== '' || url.password !== '')) {
    const elsewhere = 'keep the whole address elsewhere: { env: PROXY_URL } or { file: /run/secrets/proxy_url }'
    return refused('the address holds a name or a password, which is a secret', elsewhere)
  }
  if (url.pathname !== '/' || /[?#]/.test(text)) return refused('the address of a proxy has no path and no query', fix)
  return parsed(url.href)
}

/** A host that is connected to without a proxy: a name with all below it, an address, or a network. */
export function directHost(text: string): ParsedText<string> {
  const fix = 'write a name like node.internal or .example.com, an address, or a network like 10.0.0.0/8'
  const [address = '', prefix, more] = text.split('/')
  const bitsMax = isIP(address) === 6 ? 128 : 32
  const isNetwork = isIP(address) !== 0 && more === undefined && (prefix === undefined || /^\d{1,3}$/.test(prefix))
  if (isNetwork && Number(prefix ?? 0) <= bitsMax) return parsed(text)
  const name = text.replace(/^\*?\./, '')
  if (!/^[\d.]+$/.test(name) && new RegExp(hostNamePattern).test(name)) return parsed(text)
  return refused(`${quoted(text)} is neither a host nor a network`, fix)
}

/** Address of a logo. */
export function logoUrl(text: string): ParsedText<string> {
  const variable = unexpanded(text)
  if (variable) return variable
  return strictUrl(text, ['http', 'https'])
    ? parsed(text)
    : refused('this is not an http(s):// address', 'write it like https://example.com/logo.png')
}

/** An RPC endpoint: `http(s)://`, `ws(s)://`, or the path of an IPC socket, which is left as written. */
export function endpoint(text: string): ParsedText<string> {
  const variable = unexpanded(text)
  if (variable) return variable
  if (strictUrl(text, ['http', 'https', 'ws', 'wss'])) return parsed(text)
  const isPath = isAbsolute(text) || /^\.\.?[/\\]/.test(text) || /^[\w./-]+\.ipc$/.test(text)
  if (isPath && !/\p{C}/u.test(text)) return parsed(text)
  return refused(
    'this is neither an http(s):// or ws(s):// address nor the path of an IPC socket',
    'write it like http://127.0.0.1:8545 or /data/geth.ipc',
  )
}

/** The address a server listens on. */
export interface ListenAddress {
  /** Without brackets. */
  readonly host: string
  /** 0: the system picks one. */
  readonly port: number
}

/** Where the status server listens unless `status.listen` says otherwise. */
export const defaultListen = '127.0.0.1:9464'

/** Pattern of host:port, for the JSON Schema. */
export const listenPattern = '^(\\[[0-9a-fA-F:.]+\\]|[^\\s:\\[\\]]+):[0-9]{1,5}$'

/** `host:port`; an IPv6 host in brackets. */
export function listenAddress(text: string): ParsedText<ListenAddress> {
  const fix = 'write host:port, like "127.0.0.1:9464" or "[::1]:9464"'
  const match = new RegExp(listenPattern).exec(text)
  const host = match?.[1]
  const port = Number(text.slice(text.lastIndexOf(':') + 1))
  if (host === undefined || !URL.canParse(`http://${host}`)) return refused(`${quoted(text)} is not host:port`, fix)
  // A URL accepts any number as an address: 1 would be 0.0.0.1.
  if (/^(0x[\da-f]*|[\d.]+)$/i.test(host) && !/^\d+(\.\d+){3}$/.test(host)) {
    return refused(`${quoted(host)} is not a host: an IPv4 address has four numbers`, fix)
  }
  if (port > 65_535) return refused(`there is no port ${port}`, 'write a port from 1 to 65535, or 0 for any free one')
  return parsed({ host: host.replace(/^\[|\]$/g, ''), port })
}

/** Pattern of a host name, for the JSON Schema. */
export const hostNamePattern = '^(?!-)[A-Za-z0-9.-]{1,253}$'

/** A host name without a port, in lower case, as a browser sends it in `Host`. */
export function hostName(text: string): ParsedText<string> {
  if (new RegExp(hostNamePattern).test(text)) return parsed(text.toLowerCase())
  const fix = 'write the name alone, without a scheme, port or path, like tidegauge.internal'
  return refused(`${quoted(text)} is not the name of a host`, fix)
}

/** Pattern of the address of a contract, for the JSON Schema. */
export const contractAddressPattern = '^0x[0-9a-fA-F]{40}$'

/** The address of a contract. */
export function contractAddress(text: string): ParsedText<`0x${string}`> {
  if (new RegExp(contractAddressPattern).test(text)) return parsed(text as `0x${string}`)
  return refused(`${quoted(text)} is not an address`, 'an address is 0x and 40 hexadecimal digits, in quotes')
}

/**
 * The address of the status server, read from a configuration file alone: its other keys are not checked, so that a
 * health check costs little and does not fail for a change that the running daemon has refused.
 *
 * @returns `undefined` when it cannot be read; `loadConfig` says why
 */
export function statusAddress(file: string): ListenAddress | undefined {
  const read = readText(file)
  const tree = read.ok ? readTree(read.text).tree : undefined
  const written = tree && (valueAt(tree.value(), ['status', 'listen']) ?? defaultListen)
  const address = typeof written === 'string' ? listenAddress(written) : undefined
  return address?.ok ? address.value : undefined
}
