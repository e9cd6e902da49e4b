/** Error codes of Node, OpenSSL and undici, in words for a person. */
const words: readonly (readonly [code: RegExp, words: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^(ENOTFOUND|EAI_NONAME)$/, 'there is no such host'],
  [/^EAI_/, 'its name cannot be looked up now'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'it breaks connections off'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'no connection in time'],
  [/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/, 'no answer in time'],
  [/^(EHOST|ENET)(UNREACH|DOWN)$/, 'no network leads there'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet by this machine's clock"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another name'],
  [
    /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/,
    'its certificate is of an unknown authority (NODE_EXTRA_CA_CERTS adds one)',
  ],
  [/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/, 'its certificate is not accepted'],
  [/^(EPROTO|ERR_SSL_)/, 'it does not speak TLS'],
  [/^(HPE_|HTTPParserError$|UND_ERR_RES_)/, 'its answer is no HTTP'],
]

/** The code or name of an error in words, and itself, to search for; an unknown one stands alone. Pure. */
export function networkWords(code: string): string {
  const known = words.find(([pattern]) => pattern.test(code))
  return known ? `${known[1]}, ${code}` : code
}

/** Why there was no answer, without a URL or a header. Names the addresses that were tried. Pure. */
export function networkReason(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  if (name === 'TimeoutError') return 'no answer in time'
  const said = networkWords(code ?? cause?.code ?? name ?? 'unknown error')
  return said === name ? `no answer, ${name}` : `${said}${triedAddresses(error)}`
}

const addressesMax = 8

/** The addresses of a name that no connection could be made to, to be appended; empty when none is known. Pure. */
export function triedAddresses(error: unknown): string {
  const { message, cause, errors } = error as { message?: string; cause?: unknown; errors?: readonly unknown[] }
  const failed = (errors ?? []).flatMap(one => (one as { address?: string }).address ?? [])
  // undici keeps them only in its message when the whole time is over.
  const listed = /\(attempted addresses: ([^\s()]+(?:, [^\s()]+)*), timeout/.exec(message ?? '')?.[1]?.split(', ') ?? []
  const tried = failed.length > 0 ? failed : listed.map(one => one.replace(/:\d+$/, ''))
  if (tried.length === 0) return cause === undefined || cause === null ? '' : triedAddresses(cause)
  // In order: a name server mixes them, and the same trouble must read the same.
  const shown = [...new Set(tried)].sort().slice(0, addressesMax).join(', ')
  return ` (tried ${shown})`
}
