import { fileStats } from '../edge/file-stats.ts'
import { Fault } from '../model/fault.ts'
import { decodedPart, secretPartsOf } from '../model/host.ts'
import { type PostgresAddress, parsePostgresAddress } from '../model/postgres-address.ts'
import { endpoint, postAddress, proxyAddress } from './addresses.ts'
import { type Config, configSecrets, type EndpointRef, type OptionSecret, type SecretRef } from './config.ts'
import { type Place, pathText, placeText } from './mistakes.ts'
import { readBytes } from './yaml.ts'

/** Longest secret file, in bytes. */
const secretBytesMax = 65_536

/**
 * Reads a secret from where it is kept, without surrounding blanks and line breaks.
 *
 * @throws Fault `secret-missing` that names the file or the variable, when it cannot be read, is empty, or holds
 * anything but visible ASCII: blanks, line breaks and control characters are never part of a key
 */
export function readSecret(ref: SecretRef, form: RegExp = oneWord): string {
  const secret = (ref.kind === 'file' ? readFile(ref.path) : readVariable(ref.name)).trim()
  if (secret === '') throw missing(ref, 'is empty', 'put the secret there, and nothing else')
  if (!form.test(secret)) {
    throw missing(
      ref,
      'holds a blank, a line break or another character that no secret has',
      'put the secret alone there',
    )
  }
  return secret
}

const oneWord = /^[\x21-\x7e]+$/
/** `Bearer …` contains a blank. */
const words = /^[\x21-\x7e][\x20-\x7e]*$/

function readVariable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw missing({ kind: 'env', name }, 'is not set', 'set it where tidegauge is started')
  return value
}

function readFile(path: string): string {
  const bytes = attempt(() => readBytes(path, secretBytesMax + 1))
  const ref = { kind: 'file', path } as const
  if (bytes instanceof Error) {
    const code = 'code' in bytes ? String(bytes.code) : 'unknown error'
    throw missing(
      ref,
      unreadable[code] ?? `cannot be read (${code})`,
      'put the secret there, readable for this process',
    )
  }
  if (bytes.length > secretBytesMax)
    throw missing(ref, `has more than ${secretBytesMax} bytes`, 'is it the right file?')
  return bytes.toString('utf8')
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'may not be read',
  EPERM: 'may not be read',
}

function attempt<T>(act: () => T): T | Error {
  try {
    return act()
  } catch (error) {
    return error instanceof Error ? error : new Error('not an error')
  }
}

function missing(ref: SecretRef, what: string, fix: string): Fault {
  return new Fault('secret-missing', `the secret's ${ref.kind === 'file' ? 'file' : 'variable'} ${what}`, {
    facts: placeFacts(ref),
    fix,
  })
}

/**
 * Mistake of a secret's file that was replaced on the host while it is mounted alone: the mount shows the old file for
 * ever, which has no name any more.
 */
export function replacedFile(ref: SecretRef): { readonly message: string; readonly fix: string } | undefined {
  if (ref.kind !== 'file' || fileStats(ref.path)?.nlink !== 0) return undefined
  return {
    message: `its file ${ref.path} was replaced where it is mounted from, and this process still sees the old one`,
    fix: 'mount the folder of the file, not the file alone; until then, start the container again',
  }
}

const placeFacts = (ref: SecretRef): Readonly<Record<string, string>> =>
  ref.kind === 'file' ? { file: ref.path } : { variable: ref.name }

/**
 * The address of an endpoint, a URL or the absolute path of an IPC socket. Secret: never print it.
 *
 * @throws Fault `secret-missing` as `readSecret`; `config` when the secret is not an RPC address
 */
export function resolveAddress(chain: string, ref: EndpointRef | SecretRef): string {
  if (ref.kind === 'url') return ref.url
  const text = readSecret(ref)
  const taken = endpoint(text)
  const isRelative = taken.ok && !text.includes('://') && !text.startsWith('/')
  if (taken.ok && !isRelative) return taken.value
  throw new Fault('config', 'the secret does not contain an RPC address', {
    facts: { chain, ...placeFacts(ref) },
    fix: 'keep an http(s):// or ws(s):// address there, or the absolute path of an IPC socket',
  })
}

/**
 * An address that messages are posted to. Secret: never print it.
 *
 * @throws Fault `secret-missing` as `readSecret`; `config` when the secret is not such an address
 */
export function resolvePostAddress(ref: SecretRef): string {
  const taken = postAddress(readSecret(ref))
  if (taken.ok) return taken.value
  const { message, fix } = taken.mistake
  throw new Fault('config', `the secret is not an address to post to: ${message}`, {
    facts: placeFacts(ref),
    ...(fix !== undefined && { fix }),
  })
}

/**
 * The address of the database of a fleet. Secret: never print it.
 *
 * @throws Fault `secret-missing` as `readSecret`; `config` when the secret is not such an address
 */
export function resolveDatabase(ref: SecretRef): PostgresAddress {
  const parsed = parsePostgresAddress(readSecret(ref))
  if (parsed.kind === 'address') return withAuthorities(parsed.address, ref)
  throw new Fault('config', `the secret ${parsed.mistake}`, {
    facts: placeFacts(ref),
    fix: 'keep the address of a PostgreSQL database there',
  })
}

/** Bytes of a file of certificates, at most: those of all usual authorities have 250,000. */
const certificatesBytesMax = 1_000_000

/** The address with the certificates of its `sslrootcert`. @throws Fault `config` when it names none */
function withAuthorities(address: PostgresAddress, ref: SecretRef): PostgresAddress {
  const { authoritiesFile: file } = address
  if (file === undefined) return address
  return { ...address, authorities: readCertificates(file, 'the sslrootcert of the database', placeFacts(ref)) }
}

/**
 * The certificates of a file, as PEM.
 *
 * @param role of the file, for the message
 * @throws Fault `config` when it cannot be read or holds none
 */
export function readCertificates(file: string, role: string, facts: Fault['facts'] = {}): string {
  const bytes = attempt(() => readBytes(file, certificatesBytesMax))
  const code = bytes instanceof Error && 'code' in bytes ? String(bytes.code) : ''
  const certificates = bytes instanceof Error ? '' : bytes.toString('utf8')
  if (certificates.includes('-----BEGIN CERTIFICATE-----')) return certificates
  const what = bytes instanceof Error ? (unreadable[code] ?? `cannot be read (${code})`) : 'holds no certificate'
  throw new Fault('config', `the file ${file}, ${role}, ${what}`, {
    facts,
    fix: 'name a file of certificates as PEM there, readable for this process',
  })
}

/** A private key, as PEM. Secret. @throws Fault `secret-missing` as `readSecret` */
export function readPrivateKey(ref: SecretRef): string {
  return readSecret(ref, /^[\x20-\x7e\s]+$/)
}

/**
 * The address of the proxy. Secret: never print it.
 *
 * @throws Fault `secret-missing` as `readSecret`; `config` when the secret is not such an address
 */
export function resolveProxy(ref: { readonly kind: 'url'; readonly url: string } | SecretRef): string {
  if (ref.kind === 'url') return ref.url
  const where = ref.kind === 'file' ? ref.path : ref.name
  const named = (message: string) => message.replace(/the secret's (file|variable)/, `the $1 ${where}`)
  const proxy = proxyAddress(
    readNamed(ref, message => `the address of the proxy: ${named(message)}`),
    true,
  )
  if (proxy.ok) return proxy.value
  const { message, fix } = proxy.mistake
  throw new Fault('config', `the secret is not the address of a proxy: ${message}`, {
    facts: placeFacts(ref),
    ...(fix !== undefined && { fix }),
  })
}

/**
 * The headers of an endpoint's requests. Secret: never print them.
 *
 * @throws Fault `secret-missing` as `readSecret`; it also names the header
 */
export function resolveHeaders({ headers = {} }: Pick<EndpointRef, 'headers'>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value.kind === 'text' ? value.text : readHeader(name, value),
    ]),
  )
}

/** Value of a header that is kept elsewhere. @throws Fault `secret-missing` */
export function readHeader(name: string, ref: SecretRef): string {
  return readNamed(ref, message => `header ${name}: ${message}`)
}

/**
 * Value of a collector's secret option.
 *
 * @param place of the option, if the message has no other
 * @throws Fault `secret-missing` that names the option
 */
export function readOption({ ref, path }: OptionSecret, place?: Place): string {
  const where = place ? ` (${placeText(place)})` : ''
  return readNamed(ref, message => `${pathText(['options', ...path])}: ${message}${where}`)
}

function readNamed(ref: SecretRef, messageOf: (message: string) => string): string {
  try {
    return readSecret(ref, words)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { code, message, facts, fix } = error
    throw new Fault(code, messageOf(message), { facts, ...(fix !== undefined && { fix }) })
  }
}

/**
 * Every secret known now, the longest first, to redact logs: keys, RPC addresses, and the parts of these that an error
 * may quote alone (path, query, credentials). Unreadable ones are left out.
 */
export function secretsOf(config: Config): string[] {
  const nodes = config.chains.flatMap(({ name, rpc }) => rpc.flatMap(ref => secretsOfEndpoint(name, ref)))
  const otherSecrets = configSecrets(config).flatMap(({ ref, use: { kind } }) => {
    if (kind === 'chat' || kind === 'node' || kind === 'certificate-key') return []
    const values = known(() => readSecret(ref, kind === 'header' ? words : oneWord))
    if (kind === 'proxy') return values.flatMap(proxySecrets)
    return values.flatMap(value => (kind === 'database' ? databaseSecrets(value) : withParts(value)))
  })
  return longestFirst([...nodes, ...otherSecrets])
}

/** The secrets of one endpoint. */
export function secretsOfEndpoint(chain: string, ref: EndpointRef): string[] {
  const urls = known(() => resolveAddress(chain, ref)).filter(url => url.includes('://'))
  // A variable that does not hold an address is still a secret.
  const parts = ref.kind === 'url' ? [] : known(() => readSecret(ref))
  const headers = Object.values(ref.headers ?? {})
    .flatMap(value => (value.kind === 'text' ? [] : known(() => readSecret(value, words))))
    .flatMap(withParts)
  return longestFirst([...parts, ...urls.flatMap(url => secretPartsOf(url)), ...headers])
}

/** The secrets of the address of a proxy: none where it has no password. */
export function proxySecrets(address: string): string[] {
  const hasPassword = !URL.canParse(address) || new URL(address).password !== ''
  return hasPassword ? databaseSecrets(address) : []
}

/** An address of a database, and its password, however short. Its user, host and name are no secrets. */
export function databaseSecrets(address: string): string[] {
  const url = URL.canParse(address) ? new URL(address) : undefined
  // A variable that does not hold an address is still a secret.
  if (!url) return [address]
  const passwords = [url.password, ...url.searchParams.getAll('password')]
  return [address, ...passwords.flatMap(password => [password, decodedPart(password)])].filter(text => text !== '')
}

const withParts = (secret: string) => [secret, ...secretPartsOf(secret)]

function longestFirst(secrets: readonly string[]): string[] {
  return [...new Set(secrets)].sort((a, b) => b.length - a.length)
}

function known(read: () => string): string[] {
  const secret = attempt(read)
  return secret instanceof Error ? [] : [secret]
}
