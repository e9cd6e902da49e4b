/** Whether what a header of this name holds is a secret, so that it may not be written in the configuration. */
export function isSecretHeader(name: string): boolean {
  return /^(proxy-)?authorization$|cookie|key|token|secret|password/i.test(name)
}

/** Whether this can be the name of a header. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)
}
