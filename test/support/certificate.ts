import { generateKeyPairSync, sign } from 'node:crypto'

/** A key and a certificate that is its own authority, as PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts)
const text = (tag: number, ascii: string) => der(tag, Buffer.from(ascii, 'ascii'))
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const named = (host: string) => sequence(der(0x31, sequence(oid('550403'), text(0x0c, host))))
const generalTime = (at: Date) => text(0x18, `${at.toISOString().replace(/\D/g, '').slice(0, 14)}Z`)
const isAuthority = sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff])))))

/** Makes a certificate for host names (RFC 5280), so that no private key lies in the tree. */
export function certificateFor(hosts: readonly string[], endsAt = new Date('2120-01-01T00:00:00Z')): Certificate {
  const name = named(hosts[0] ?? 'Tidegauge test')
  const validity = sequence(text(0x17, '200101000000Z'), generalTime(endsAt))
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = sequence(oid('551d11'), der(0x04, sequence(...hosts.map(host => text(0x82, host)))))
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(isAuthority, names)),
  )
  const signature = sign('sha256', toSign, privateKey)
  const whole = sequence(toSign, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  }
}
