/** Why there was no answer, without an address or a header. */
export function networkReason(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return 'no answer in time'
  return `no answer (${code ?? cause?.code ?? name ?? 'unknown error'})`
}
