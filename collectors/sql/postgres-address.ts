import type { PoolConfig } from 'pg'

const form = 'postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full'
const notAddress = `is not an address like ${form}, with special characters of the password percent-encoded`

/** `sslmode` of an address: whether TLS is used, and whether the server's certificate and name are checked. */
const tlsModes: Readonly<Record<string, PoolConfig['ssl']>> = {
  disable: false,
  'no-verify': { rejectUnauthorized: false },
  prefer: { rejectUnauthorized: true },
  require: { rejectUnauthorized: true },
  'verify-ca': { rejectUnauthorized: true },
  'verify-full': { rejectUnauthorized: true },
}

/** Connection settings of one server. */
export interface ServerSettings extends PoolConfig {
  readonly host: string
  /** Whether the password is not sent to a server that asks for it as it is. */
  readonly refusesClearPassword: boolean
}

/**
 * Connection settings of an address. Without an `sslmode` TLS is checked, except on this machine.
 *
 * @throws Error that repeats no part of it: it holds a password
 */
export function settingsOf(address: string): ServerSettings {
  const url = URL.canParse(address) ? new URL(address) : undefined
  // Where a password is not encoded, a part of it is read as the port or the rest.
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.username === '' || url.hash !== '') {
    throw new Error(`options.postgres ${notAddress}`)
  }
  const { searchParams } = url
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host === '' || /^(\/|%2f)/i.test(host) || searchParams.has('host')) {
    throw new Error(
      'options.postgres must name a host: a collector can use the network, but no sockets in the file system',
    )
  }
  const isHere = /^(localhost|::1|127\.\d+\.\d+\.\d+)$/.test(host)
  const mode = searchParams.get('sslmode') ?? (isHere ? 'disable' : 'verify-full')
  if (!Object.hasOwn(tlsModes, mode)) {
    throw new Error(`sslmode in options.postgres must be one of ${Object.keys(tlsModes).join(', ')}`)
  }
  if (['sslrootcert', 'sslcert', 'sslkey'].some(name => searchParams.has(name))) {
    throw new Error(
      'options.postgres can name no certificate files: set NODE_EXTRA_CA_CERTS for an authority of your own',
    )
  }
  return {
    host,
    port: Number(url.port || 5432),
    user: decoded(url.username),
    // Not absent, or a file of passwords would be looked for.
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) || decoded(url.username),
    ssl: tlsModes[mode],
    refusesClearPassword: tlsModes[mode] === false && !isHere,
    application_name: searchParams.get('application_name') ?? 'tidegauge',
    ...(searchParams.has('options') && { options: searchParams.get('options') ?? '' }),
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error(`options.postgres ${notAddress}`)
  }
}
