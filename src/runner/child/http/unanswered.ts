import { networkReason } from '../../../edge/network-reason.ts'
import { Fault } from '../../../model/fault.ts'
import type { Hop } from './hops.ts'
import { httpTryMsMax } from './limits.ts'
import { PrivateAddressError } from './network.ts'

/** Error codes of OpenSSL and Node for rejected certificates. */
const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CRL/

/**
 * The Fault of a request without an answer, when it is transient. A library's message is not repeated: it may hold the
 * address.
 *
 * @throws Fault when a retry would fail the same way
 */
export function unansweredOf(error: unknown, { address: { host }, sentBy }: Hop): Fault {
  if (error instanceof PrivateAddressError) {
    throw new Fault('http-refused', `${sentBy} redirects to ${host}, which is in a private network`, {
      facts: { host, address: error.address },
      fix: 'if that is meant, write the address it leads to into the configuration',
    })
  }
  const word = networkWord(error)
  const facts = { host, error: word }
  if (word === 'UND_ERR_INVALID_ARG' || word === 'ERR_INVALID_CHAR') {
    throw new Fault('http-refused', 'a header has a name or a value that cannot be sent', {
      facts,
      fix: 'look for a line break or a character that is not ASCII',
    })
  }
  if (certificateCodes.test(word)) {
    throw new Fault('http-unreachable', `the certificate of ${host} is not accepted`, {
      facts,
      fix: 'set NODE_EXTRA_CA_CERTS for an authority of your own',
    })
  }
  return new Fault('http-unreachable', `${host} does not answer: ${networkReason(error)}`, { facts })
}

function networkWord(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error.name === 'TimeoutError') return `no answer within ${httpTryMsMax / 1000} s`
  return 'code' in error ? String(error.code) : error.name
}
