import { Fault } from '../model/fault.ts'
import type { PeerText } from '../model/text.ts'

/** Code of an error for a server's answer to plain HTTP where it speaks TLS. */
const tlsWanted = 'TLS_WANTED'

/** Sentences of nginx, Go, Apache and Tomcat about a plain request at a port for TLS. */
const tlsWantedWords = /\bHTTPS (?:port|server)\b|SSL-enabled server port|requires TLS/i

/**
 * The error for an answer to plain HTTP that says that the server speaks TLS; `undefined` for other answers, as for JSON,
 * which may repeat words of what was sent. Pure.
 */
export function tlsWantedError(status: number, text: PeerText): Error | undefined {
  if (status !== 400 || /^\s*[{[]/.test(text) || !tlsWantedWords.test(text)) return undefined
  return Object.assign(new Error('the server speaks TLS'), { code: tlsWanted })
}

/** Instruction where a server closed a connection without a byte: many do that to plain HTTP, or without a certificate. */
const silentFix =
  'look into the log of the server; write https:// in the address if it speaks TLS, and name a client certificate if it wants one'

/** Error codes of Node, OpenSSL and undici, in words for a person, and what to do then. */
const words: readonly (readonly [code: RegExp, words: string, fix: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there', 'check the address and its port, and that the server runs'],
  [/^(ENOTFOUND|EAI_NONAME)$/, 'there is no such host', 'check the name of the host in the address'],
  [/^EAI_/, 'its name cannot be looked up now', 'check that the name server of this machine answers'],
  [
    /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/,
    'it breaks connections off',
    'look into the log of the server, or ask who runs it',
  ],
  [
    /^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/,
    'no connection in time',
    'check the address, and that no firewall is in between',
  ],
  [
    /^(UND_ERR_(HEADERS|BODY)_TIMEOUT|TimeoutError)$/,
    'no answer in time',
    'look whether the server has too much to do, or ask who runs it',
  ],
  [/^(EHOST|ENET)(UNREACH|DOWN)$/, 'no network leads there', 'check the address, and the network of this machine'],
  [
    /CERTIFICATE_REQUIRED$|_ALERT_(BAD_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE)/,
    'it wants a certificate of this client, or does not accept the one it was given',
    'ask who runs the server; the certificate for the service is that of service.certificate',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired', 'renew it, or ask who runs the server'],
  [
    /^CERT_NOT_YET_VALID$/,
    "its certificate is not valid yet by this machine's clock",
    "check this machine's clock, then the certificate",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'its certificate is for another name',
    'write the name that the certificate is for in the address',
  ],
  [
    /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/,
    'its certificate is of an unknown authority',
    'name the file of its authority under ca: if it is your own, or check the address',
  ],
  [/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/, 'its certificate is not accepted', 'check the certificate'],
  [/^TLS_WANTED$/, 'it speaks TLS here', 'write https:// in the address'],
  [/^(EPROTO|ERR_SSL_)/, 'it does not speak TLS', 'write http:// in the address if it speaks that, or check the port'],
  [
    /^(HPE_|HTTPParserError$|UND_ERR_RES_)/,
    'its answer is no HTTP',
    'check the port, and write https:// in the address if it speaks that',
  ],
]

/** The code or name of an error in words, and itself, to search for; an unknown one stands alone. Pure. */
export function networkWords(code: string): string {
  const known = words.find(([pattern]) => pattern.test(code))
  return known ? `${known[1]}, ${code}` : code
}

/** An error of a connection, as Node and undici throw it. */
interface NetworkError {
  readonly name?: string
  readonly code?: string
  readonly cause?: NetworkError
  /** Counts of the connection that was closed. */
  readonly socket?: { readonly bytesRead?: number }
}

/** Instruction for an error of a connection; `undefined` for an unknown one. Pure. */
export function networkFix(error: unknown): string | undefined {
  if (error instanceof Fault) return error.fix
  const { name, code, cause, socket } = (error ?? {}) as NetworkError
  const said = code ?? cause?.code
  if ((socket ?? cause?.socket)?.bytesRead === 0) return silentFix
  const known = [typeof said === 'string' ? said : '', name ?? '']
  return words.find(([pattern]) => known.some(one => pattern.test(one)))?.[2]
}

/** Why there was no answer, without a URL or a header. Names the addresses that were tried. Pure. */
export function networkReason(error: unknown): string {
  if (error instanceof Fault) return error.message
  const { name, code, cause } = error as NetworkError
  if (name === 'TimeoutError') return 'no answer in time'
  const said = networkWords(code ?? cause?.code ?? name ?? 'unknown error')
  return said === name ? `no answer, ${name}` : `${said}${triedAddresses(error)}`
}

const addressesMax = 8

/** The addresses of a name that no connection could be made to, to be appended; empty when none is known. Pure. */
export function triedAddresses(error: unknown): string {
  const { message, cause, errors } = error as { message?: string; cause?: unknown; errors?: readonly unknown[] }
  const failedAddresses = (errors ?? []).flatMap(one => (one as { address?: string }).address ?? [])
  // undici keeps them only in its message when the whole time is over.
  const listed = /\(attempted addresses: ([^()]{1,1000}), timeout/.exec(message ?? '')?.[1]?.split(', ') ?? []
  const addresses = failedAddresses.length > 0 ? failedAddresses : listed.map(one => one.replace(/:\d+$/, ''))
  if (addresses.length === 0) return cause === undefined || cause === null ? '' : triedAddresses(cause)
  // In order: a name server mixes them, and the same trouble must read the same.
  const shown = [...new Set(addresses)].sort().slice(0, addressesMax).join(', ')
  return ` (tried ${shown})`
}
