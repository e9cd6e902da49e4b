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
