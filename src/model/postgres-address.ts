import { isLoopback } from './host.ts'

/** A PostgreSQL server and database, and who uses it. Only `postgresPlaceOf` may be shown: the rest holds a secret. */
export interface PostgresAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** Whether TLS is used, and whether the server's certificate and name are checked. */
  readonly tls: 'none' | 'unchecked' | 'checked'
  /** Path of a file of certificates: the authorities that are trusted instead of the usual ones. */
  readonly authoritiesFile?: string
  /** The certificates of that file, as PEM. */
  readonly authorities?: string
}

/** The TLS of a connection, as the client of PostgreSQL takes it. */
export function tlsOptionsOf({ tls, authorities }: Pick<PostgresAddress, 'tls' | 'authorities'>) {
  return tls === 'none' ? false : { rejectUnauthorized: tls === 'checked', ...(authorities && { ca: authorities }) }
}

/** `sslmode` of an address. */
const tlsModes: Readonly<Record<string, PostgresAddress['tls']>> = {
  disable: 'none',
  'no-verify': 'unchecked',
  prefer: 'checked',
  require: 'checked',
  'verify-ca': 'checked',
  'verify-full': 'checked',
}

/** Result of parsing an address: a mistake is a sentence about it, which repeats no part of it. */
type PostgresAddressResult =
  | { readonly kind: 'address'; readonly address: PostgresAddress }
  | { readonly kind: 'mistake'; readonly mistake: string }

const notAddress =
  'is not an address like postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full, with special characters of the password percent-encoded'

/**
 * Parses `postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=MODE&sslrootcert=PATH`. Without a mode TLS is checked,
 * except on this machine.
 */
export function parsePostgresAddress(text: string): PostgresAddressResult {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Where a password is not encoded, a part of it is read as the port or the rest.
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.username === '' || url.hash !== '') {
    return { kind: 'mistake', mistake: notAddress }
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const [user, password, name] = [decoded(url.username), decoded(url.password), decoded(url.pathname.slice(1))]
  if (user === undefined || password === undefined || name === undefined)
    return { kind: 'mistake', mistake: notAddress }
  if (host === '' || /^(\/|%2f)/i.test(host)) return { kind: 'mistake', mistake: 'must name a host' }
  const unknown = [...url.searchParams.keys()].find(key => key !== 'sslmode' && key !== 'sslrootcert')
  if (unknown !== undefined)
    return { kind: 'mistake', mistake: 'may have the parameters sslmode and sslrootcert alone' }
  const authoritiesFile = url.searchParams.get('sslrootcert') ?? undefined
  if (authoritiesFile !== undefined && !authoritiesFile.startsWith('/')) {
    return { kind: 'mistake', mistake: 'must have an absolute path as sslrootcert' }
  }
  const usual = isLoopback(host) && authoritiesFile === undefined ? 'disable' : 'verify-full'
  const tls = tlsModes[url.searchParams.get('sslmode') ?? usual]
  if (tls === undefined) {
    return { kind: 'mistake', mistake: `must have an sslmode of ${Object.keys(tlsModes).join(', ')}` }
  }
  const address = {
    host,
    port: Number(url.port || 5432),
    user,
    password,
    database: name || user,
    tls,
    ...(authoritiesFile !== undefined && { authoritiesFile }),
  }
  return { kind: 'address', address }
}

/** The place of a database in words, without who uses it: `HOST:PORT/DATABASE`. */
export function postgresPlaceOf({ host, port, database }: PostgresAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
