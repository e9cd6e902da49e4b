import { describe, expect, it } from 'vitest'
import { networkFix, networkReason } from '../../src/edge/network-reason.ts'

const coded = (code: string) => Object.assign(new Error('http://user:secret@host/'), { code })

const silent = Object.assign(coded('UND_ERR_SOCKET'), { socket: { bytesRead: 0 } })

describe('why there was no answer', () => {
  it.each<[string, unknown, string]>([
    ['a closed port', coded('ECONNREFUSED'), 'nothing listens there, ECONNREFUSED'],
    ['an unknown name', coded('ENOTFOUND'), 'there is no such host, ENOTFOUND'],
    ['a name server that is away', coded('EAI_AGAIN'), 'its name cannot be looked up now, EAI_AGAIN'],
    ['a reset', coded('ECONNRESET'), 'it breaks connections off, ECONNRESET'],
    ['a closed socket', coded('UND_ERR_SOCKET'), 'it breaks connections off, UND_ERR_SOCKET'],
    ['no connection', coded('UND_ERR_CONNECT_TIMEOUT'), 'no connection in time, UND_ERR_CONNECT_TIMEOUT'],
    ['no headers', coded('UND_ERR_HEADERS_TIMEOUT'), 'no answer in time, UND_ERR_HEADERS_TIMEOUT'],
    ['no network', coded('ENETUNREACH'), 'no network leads there, ENETUNREACH'],
    ['an expired certificate', coded('CERT_HAS_EXPIRED'), 'its certificate has expired, CERT_HAS_EXPIRED'],
    [
      'an own certificate',
      coded('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'its certificate is of an unknown authority, DEPTH_ZERO_SELF_SIGNED_CERT',
    ],
    [
      'a certificate of another host',
      coded('ERR_TLS_CERT_ALTNAME_INVALID'),
      'its certificate is for another name, ERR_TLS_CERT_ALTNAME_INVALID',
    ],
    [
      'a certificate of this client',
      coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      'it wants a certificate of this client, or does not accept the one it was given, ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    ],
    [
      'another certificate of this client',
      coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
      'it wants a certificate of this client, or does not accept the one it was given, ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    ],
    ['a revoked certificate', coded('CERT_REVOKED'), 'its certificate is not accepted, CERT_REVOKED'],
    ['plain HTTP', coded('EPROTO'), 'it does not speak TLS, EPROTO'],
    ['no HTTP', coded('HPE_INVALID_CONSTANT'), 'its answer is no HTTP, HPE_INVALID_CONSTANT'],
    ['an unknown code', coded('EWEIRD'), 'EWEIRD'],
    [
      'a cause with a code',
      new Error('fetch failed', { cause: coded('ECONNREFUSED') }),
      'nothing listens there, ECONNREFUSED',
    ],
    [
      'several addresses, none of which can be reached',
      Object.assign(
        new AggregateError([
          Object.assign(coded('ENETUNREACH'), { address: '2001:db8::9' }),
          Object.assign(coded('ETIMEDOUT'), { address: '192.0.2.7' }),
        ]),
        { code: 'ENETUNREACH' },
      ),
      'no network leads there, ENETUNREACH (tried 192.0.2.7, 2001:db8::9)',
    ],
    [
      'several addresses, as undici lists them',
      Object.assign(
        new Error('Connect Timeout Error (attempted addresses: 2001:db8::9:443, 192.0.2.7:443, timeout: 10000ms)'),
        {
          code: 'UND_ERR_CONNECT_TIMEOUT',
        },
      ),
      'no connection in time, UND_ERR_CONNECT_TIMEOUT (tried 192.0.2.7, 2001:db8::9)',
    ],
    ['a deadline', Object.assign(new Error(), { name: 'TimeoutError' }), 'no answer in time'],
    [
      'an error without a code, whose words may hold an address',
      new TypeError('http://user:secret@host/'),
      'no answer, TypeError',
    ],
  ])('says %s in plain words', (_, error, reason) => {
    expect(networkReason(error)).toBe(reason)
  })

  it.each<[string, unknown, string | undefined]>([
    ['a closed port', coded('ECONNREFUSED'), 'check the address and its port, and that the server runs'],
    ['a cause with a code', new Error('fetch failed', { cause: coded('EPROTO') }), expect.stringContaining('http://')],
    ['a deadline', Object.assign(new Error(), { name: 'TimeoutError' }), expect.stringContaining('ask who runs it')],
    ['a silent close of a plain connection', silent, expect.stringContaining('write https://')],
    [
      'the same, within the error of fetch',
      new Error('fetch failed', { cause: silent }),
      expect.stringContaining('https'),
    ],
    [
      'a close after an answer',
      Object.assign(coded('UND_ERR_SOCKET'), { socket: { bytesRead: 80 } }),
      expect.not.stringContaining('https'),
    ],
    ['an unknown code', coded('EWEIRD'), undefined],
  ])('says what to do about %s', (_, error, fix) => {
    expect(networkFix(error)).toEqual(fix)
  })
})
