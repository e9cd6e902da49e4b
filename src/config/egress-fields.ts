import { z } from 'zod'
import { directHost, proxyAddress, serviceUrl } from './addresses.ts'
import { addressFields, addressOf, headers, key, path, secretAt, textField } from './fields.ts'

const proxyText = textField(text => proxyAddress(text), {
  description: 'The address itself, if it holds no name and password.',
  examples: ['http://proxy.example.com:3128'],
})

/** The HTTP proxy of all connections. */
export const proxy = z
  .union([
    proxyText,
    z.strictObject({
      url: proxyText.optional(),
      ...addressFields,
      except: z
        .array(textField(directHost, { description: 'A name, an address or a network.', examples: ['node.internal'] }))
        .max(1_000)
        .prefault([])
        .meta({
          description:
            'Hosts that are connected to directly: names with all below them, addresses, networks. This machine itself always is.',
          examples: [['node.internal', '10.0.0.0/8']],
        }),
    }),
  ])
  .transform((field, context) => {
    if (typeof field === 'string') return { kind: 'url' as const, url: field, except: [] }
    const where = addressOf(field, context)
    return where ? { ...where, except: field.except } : z.NEVER
  })
  .meta({
    description:
      'HTTP proxy through which the service, nodes, off-chain sources and receivers of reports are reached. Default: none; HTTPS_PROXY and its like are not used unless they are named here.',
    examples: ['http://proxy.example.com:3128', { env: 'PROXY_URL', except: ['node.internal'] }],
  })

/** Authorities of certificates. */
export const ca = textField(path, {
  description:
    'File with the certificates, as PEM, of authorities that are trusted besides the usual ones, for all connections; relative to this file, and read again when it changes.',
  examples: ['/etc/tidegauge/ca.pem'],
})

/** The certificate of this client for the service. */
const certificate = z
  .strictObject({
    cert: textField(path, {
      description: 'File with the certificate and those between it and its authority, as PEM; relative to this file.',
      examples: ['/run/secrets/client.crt'],
    }),
    key: secretAt('Where its private key is kept, as PEM without a passphrase.', 'CLIENT_KEY'),
  })
  .meta({
    description:
      'Certificate of this client, where the service requires one (mutual TLS). Both files are read for each connection.',
    examples: [{ cert: '/run/secrets/client.crt', key: { file: '/run/secrets/client.key' } }],
  })

/** Headers that are sent to the service in addition to its own. */
const serviceHeaders = headers
  .superRefine((all, context) => {
    const name = Object.keys(all).find(each => /^(authorization|accept)$/i.test(each))
    if (name === undefined) return
    const isKey = /^authorization$/i.test(name)
    const message = `this header is set by tidegauge itself${isKey ? ': the key of the service is sent in it' : ''}`
    const fix = isKey ? 'remove it; the key goes to service.key' : 'remove it'
    context.addIssue({ code: 'custom', path: [name], message, params: { fix } })
  })
  .meta({
    description:
      'Headers of all requests to the service, such as a gateway before it wants. Secrets are kept elsewhere: cookie, and names with key, token or secret.',
    examples: [{ 'x-tenant': 'tides', 'x-gateway-key': { env: 'GATEWAY_KEY' } }],
  })

/** The metrics service. */
export const service = z
  .union([
    z.literal('embedded').meta({ description: 'The reference service inside the daemon, with its own key.' }),
    z.strictObject({
      url: textField(serviceUrl, {
        description: 'Base address: HTTPS, or http:// on a loopback address. No credentials, no query.',
        examples: ['https://metrics.example.com'],
      }),
      key: key.optional(),
      headers: serviceHeaders.optional(),
      certificate: certificate.optional(),
    }),
  ])
  .meta({
    description: 'The metrics service that the values are pushed to.',
    examples: ['embedded', { url: 'https://metrics.example.com', key: { env: 'METRICS_KEY' } }],
  })
