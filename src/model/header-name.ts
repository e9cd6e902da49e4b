/** Whether a header of this name holds a secret, so that a literal value is refused in the configuration. */
export function isSecretHeader(name: string): boolean {
  return /^(proxy-)?authorization$|cookie|key|token|secret|password/i.test(name)
}

/** Whether a text is a valid header name. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)
}
