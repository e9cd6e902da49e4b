import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { ClientCertificate, Egress } from '../edge/egress.ts'
import { Fault } from '../model/fault.ts'
import { dayMs } from '../model/limits.ts'
import type { CertificateConfig, Config } from './config.ts'
import { type Place, shortest } from './mistakes.ts'
import { readCertificates, readPrivateKey, resolveProxy } from './secret.ts'

/** The settings by which connections leave the machine, as files and variables say them now. @throws Fault when one of them cannot be used */
export function egressOf({ proxy, ca }: Pick<Config, 'proxy' | 'ca'>): Egress {
  return {
    ...(proxy && { proxy: resolveProxy(proxy) }),
    except: proxy?.except ?? [],
    ...(ca && { authorities: readCertificates(ca.path, 'named by ca') }),
  }
}

/** The certificate for the service with its key, as they are now. @throws Fault when they cannot be used */
export function clientCertificateOf({ cert, key }: CertificateConfig): ClientCertificate {
  const pair = { cert: readCertificates(cert.path, 'named by service.certificate'), key: readPrivateKey(key) }
  requireFit(pair, cert.path)
  return pair
}

/** A sentence about certificates of the configuration, and what to do. */
interface CertificateNote {
  readonly subject: 'ca' | 'certificate'
  readonly outcome: 'ok' | 'warning' | 'failed'
  readonly found: string
  readonly fix?: string
  readonly place: Place
}

/**
 * Whether the certificates of a configuration can be used.
 *
 * @param nowMs milliseconds since 1970; default: it does not count when they end
 */
export function certificateNotes({ ca, service }: Config, nowMs?: number): CertificateNote[] {
  const serviceCertificate = service.kind === 'remote' ? service.certificate : undefined
  return [
    ...(ca ? [noted('ca', ca.place, () => authoritiesNote(ca.path, nowMs))] : []),
    ...(serviceCertificate
      ? [noted('certificate', serviceCertificate.cert.place, () => ownNote(serviceCertificate, nowMs))]
      : []),
  ]
}

type Note = Omit<CertificateNote, 'subject' | 'place'>

function noted(subject: CertificateNote['subject'], place: Place, judge: () => Note): CertificateNote {
  try {
    return { subject, place, ...judge() }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { message: found, fix } = error
    return { subject, place, outcome: 'failed', found, ...(fix !== undefined && { fix }) }
  }
}

function authoritiesNote(path: string, nowMs?: number): Note {
  const authorities = certificatesIn(readCertificates(path, 'named by ca'), path)
  // Bundles hold some that have ended: the last to end counts.
  const last = authorities.reduce((one, other) => (one.validToDate < other.validToDate ? other : one))
  const found = `${shortest(path)} holds ${authorities.length === 1 ? 'an authority' : `${authorities.length} authorities`}`
  return timed(last, found, nowMs)
}

function ownNote(config: CertificateConfig, nowMs?: number): Note {
  const { cert } = clientCertificateOf(config)
  const [first] = certificatesIn(cert, config.cert.path)
  return timed(first, `${shortest(config.cert.path)} fits its key`, nowMs)
}

/** Days before its end from which a certificate is to be renewed. */
const renewDays = 21
function timed({ validFromDate, validToDate }: X509Certificate, description: string, nowMs: number | undefined): Note {
  if (nowMs === undefined) return { outcome: 'ok', found: description }
  const days = Math.floor((validToDate.getTime() - nowMs) / dayMs)
  const on = validToDate.toISOString().slice(0, 10)
  const fix = 'renew it in its place: it is read again for each connection'
  if (validFromDate.getTime() > nowMs) {
    const begins = `is not valid before ${validFromDate.toISOString()} by this machine's clock`
    return {
      outcome: 'failed',
      found: `${description}, and ${begins}`,
      fix: "check this machine's clock, then the certificate",
    }
  }
  if (days < 0) return { outcome: 'failed', found: `${description}, and ended on ${on}`, fix }
  const ends = `${description}, and ends in ${days === 1 ? 'a day' : `${days} days`}, on ${on}`
  return days < renewDays ? { outcome: 'warning', found: ends, fix } : { outcome: 'ok', found: ends }
}

function certificatesIn(pem: string, path: string): [X509Certificate, ...X509Certificate[]] {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
  const texts = pem.split(begin).slice(1)
  const [first, ...others] = texts.map(text => `${begin}${text.split(end, 1)[0]}${end}`)
  try {
    return [new X509Certificate(first ?? ''), ...others.map(one => new X509Certificate(one))]
  } catch {
    const fix = 'write the file again: a part of it may be missing'
    throw new Fault('config', `the file ${path} holds a certificate that is damaged`, { fix })
  }
}

function requireFit({ cert, key }: ClientCertificate, path: string): void {
  const [first] = certificatesIn(cert, path)
  let privateKey: ReturnType<typeof createPrivateKey>
  try {
    privateKey = createPrivateKey(key)
  } catch {
    const fix = 'keep it as PEM without a passphrase: openssl pkey -in KEY -out KEY.pem'
    throw new Fault('config', 'the key of service.certificate cannot be read as a private key', { fix })
  }
  if (first.checkPrivateKey(privateKey)) return
  const fix =
    'put the key there that the certificate was made for; the first certificate of the file is that of this client'
  throw new Fault('config', `the key of service.certificate is not that of the certificate in ${path}`, { fix })
}
