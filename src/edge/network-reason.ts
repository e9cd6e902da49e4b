/** Error codes of Node, OpenSSL and undici, in words for a person. */
const words: readonly (readonly [code: RegExp, words: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^(ENOTFOUND|EAI_NONAME)$/, 'there is no such host'],
  [/^EAI_/, 'its name cannot be looked up now'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'it breaks connections off'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'no connection in time'],
  [/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/, 'no answer in time'],
  [/^(EHOST|ENET)(UNREACH|DOWN)$/, 'no network leads there'],
  [/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/, 'its certificate is not accepted'],
  [/^(EPROTO|ERR_SSL_)/, 'it does not speak TLS'],
  [/^(HPE_|HTTPParserError$|UND_ERR_RES_)/, 'its answer is no HTTP'],
]

/** The code or name of an error in words, and itself, to search for; an unknown one stands alone. Pure. */
export function networkWords(code: string): string {
  const known = words.find(([pattern]) => pattern.test(code))
  return known ? `${known[1]}, ${code}` : code
}

/** Why there was no answer, without an address or a header. */
export function networkReason(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  if (name === 'TimeoutError') return 'no answer in time'
  const said = networkWords(code ?? cause?.code ?? name ?? 'unknown error')
  return said === name ? `no answer, ${name}` : said
}
