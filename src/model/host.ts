import { withoutEnd } from './text.ts'
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
function looksLikeKey(part: string): boolean {
  const isOneWord = /^[a-z0-9]{16,}$/i.test(part)
  if (isOneWord && (part.length >= 32 || (/\d/.test(part) && /[a-z]/i.test(part)))) return true
  if (isToken(part)) return true
  if (!/^[\w-]{16,}$/.test(part) || /^\d{4}-\d\d-\d\d/.test(part)) return false
  // Words such as v3 and 24h.
  const words = part.split(/[-_]/).filter(word => !/^([a-z]\d{1,2}|\d{1,3}[a-z])$/i.test(word))
  const changes = words.join(' ').match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0
  return changes >= 4 || words.some(word => word !== part && word.length >= 16 && looksLikeKey(word))
}

/** Whether a part is a JSON Web Token, or the token of a bot: a number, a colon and a key. */
function isToken(part: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(part) || /^(bot)?\d{6,}(:|%3A)[\w-]{20,}$/i.test(part)
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

/**
 * Host and port of an endpoint's URL, without a key in a subdomain; for IPC, the file name. Nothing else of an address
 * may be shown.
 */
export function hostOf(url: string): string {
  return isNetworkUrl(url) ? shownHost(new URL(url)) : (url.split(/[/\\]/).at(-1) ?? url)
}

/** Whether an address is a URL with a host, not the path of an IPC socket. */
export function isNetworkUrl(url: string): boolean {
  return /^(https?|wss?):\/\//i.test(url) && URL.canParse(url)
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

/** Whether a header of this name holds a secret, so that a literal value is refused in the configuration. */
export function isSecretHeader(name: string): boolean {
  return /^(proxy-)?authorization$|cookie|key|token|secret|password/i.test(name)
}

/** Whether a text is a valid header name. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)
}

/** Shorter values are words, also where their name says that they are secret. */
const keyCharsMin = 6

/** Whether a header of this name probably holds a secret, also one that the configuration may have as a literal. */
export function mayBeSecretHeader(name: string): boolean {
  return isSecretHeader(name) || secretWords.test(name)
}

const secretWords = /(^|[-_])(auth|access|sig|signature|pass|jwt|credentials?|session)([-_]?(id|code))?$/i

/** Whether a name says that its value is a secret, in a query or a body. The address of a token, and its symbol, are none. */
export function isKeyOf(name: string, value: string): boolean {
  if (/^0x[0-9a-f]*$/i.test(value) || value.length < keyCharsMin) return false
  return mayBeSecretHeader(name) || /^(app_?id|client_?id|k)$/i.test(name)
}

/** A part of a URL without percent-encoding; unchanged when its encoding is invalid. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Name and password of a Basic `Authorization` header, as far as they are there; none for other schemes. */
export function basicParts(authorization: string): string[] {
  const [, encoded] = /^Basic\s+(\S.*)$/i.exec(authorization) ?? []
  if (encoded === undefined) return []
  const text = Buffer.from(encoded, 'base64').toString()
  const end = text.indexOf(':')
  return end < 0 ? [text] : [text.slice(0, end), text.slice(end + 1)]
}

/** The value of `Authorization` for the name and password in a URL; `undefined` without either. */
export function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${Buffer.from(`${decodedPart(username)}:${decodedPart(password)}`).toString('base64')}`
}

/** Shorter texts do not count as secrets: redacting them would hide ordinary words. */
export const secretCharsMin = 6

/** Letters alone, of which fewer are a word (`services`, `ethereum`) and hide nothing of a key that is worth it. */
const letterCharsMin = 10

/** Whether a part of a secret is as an ordinary word, so that to redact it would spoil sentences. Pure. */
export function isWord(part: string): boolean {
  return part.length < letterCharsMin && /^[A-Z]?[a-z]*$/.test(part)
}

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
  return isOpen ? [] : [secret, withoutEnd(secret, '/'), url.href]
}

function partsOfAddress(url: URL): string[] {
  const { hostname, pathname, search, searchParams, username, password, hash } = url
  const path = withoutEnd(pathname, '/')
  // As it is sent in a header.
  const basic = withoutEnd(basicAuthorization(url)?.slice('Basic '.length) ?? '', '=')
  const query = [...searchParams.values()]
  return [
    ...keysInHost(hostname),
    path,
    `${pathname}${search}`,
    ...path.split('/').filter(part => !isWord(part)),
    ...query,
    username,
    password,
    hash.slice(1),
    basic,
  ]
}
