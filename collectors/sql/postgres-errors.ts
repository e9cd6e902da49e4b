/** SQLSTATE of a statement that was ended by its timeout, and of one that writes in a transaction that may only read. */
const [timedOut, mayOnlyRead] = ['57014', '25006']

/** Message of a connection that was ended because the server asks for the password as it is. */
export const clearPassword = 'asks for the password in clear text'

/** Error codes of OpenSSL and Node for rejected certificates. */
const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/

interface ErrorParts {
  readonly message: string
  /** SQLSTATE of a server's error, else a code of Node; empty when there is none. */
  readonly code: string
  readonly isOfServer: boolean
}

function partsOf(error: unknown): ErrorParts {
  if (!(error instanceof Error)) return { message: 'unknown', code: '', isOfServer: false }
  const code: unknown = Reflect.get(error, 'code')
  return { message: error.message, code: typeof code === 'string' ? code : '', isOfServer: 'severity' in error }
}

/**
 * The error of a connection that could not be made, without what a library says of it: only a server's words are
 * repeated, which hold no password.
 *
 * @param server `host:port`
 * @param connectMsMax time after which it was given up
 */
export function connectError(error: unknown, server: string, connectMsMax: number): Error {
  const { message, code, isOfServer } = partsOf(error)
  if (isOfServer) return new Error(`${server} refuses the connection: ${message}`)
  if (certificateCodes.test(code) || code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new Error(
      `the certificate of ${server} is not accepted (${code}): set NODE_EXTRA_CA_CERTS for an authority of your own`,
    )
  }
  if (message.includes('does not support SSL')) {
    return new Error(`${server} has no TLS: add sslmode=disable to the address, only where its network is private`)
  }
  if (message === clearPassword)
    return new Error(
      `${server} asks for the password in clear text, without TLS: add sslmode=verify-full to the address`,
    )
  if (message.startsWith('SASL'))
    return new Error(
      `${server} asks for a password, and the address has none that it takes: write it as postgres://USER:PASSWORD@…`,
    )
  if (/timeout/i.test(message))
    return new Error(`${server} does not answer within ${connectMsMax / 1000} s: check that no firewall is in between`)
  return new Error(`${server} does not answer${code === '' ? '' : ` (${code})`}: check its address, and that it runs`)
}

/** The error of a query. @param timeoutMs time that the server had for it */
export function queryError(error: unknown, server: string, timeoutMs: number): Error {
  const { message, code, isOfServer } = partsOf(error)
  if (!isOfServer) return new Error(`${server} ended the connection before it answered: look into its log`)
  if (code === timedOut)
    return new Error(
      `the query takes longer than ${timeoutMs / 1000} s: give it an index, or the collector a longer deadline`,
    )
  if (code === mayOnlyRead) return new Error(`the query writes, and it may only read: ${message}`)
  return new Error(`${server} refuses the query: ${message}`)
}
