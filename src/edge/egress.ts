import { BlockList, isIP, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { buildConnector } from 'undici'
import { Fault, type FaultRecord, faultFromRecord, faultRecord } from '../model/fault.ts'
import { basicAuthorization, isLoopback, shownHost } from '../model/host.ts'
import { networkFix, networkReason } from './network-reason.ts'
import { systemTime } from './time.ts'

/** Settings by which connections leave this machine. Plain values: a collector's process gets them in a message. */
export interface Egress {
  /** Address of the HTTP proxy, with a name and a password if it needs them. Secret. Default: none. */
  readonly proxy?: string | undefined
  /** Hosts that are connected to without it, besides this machine: names with all below them, addresses, networks. */
  readonly except: readonly string[]
  /** Certificates, as PEM, of authorities that are trusted besides the usual ones. Default: none. */
  readonly authorities?: string | undefined
  /** Why nothing can be connected to: a file or a variable cannot be read. */
  readonly fault?: FaultRecord
}

/** Certificate and key of a client, as PEM, which a server may require. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

const open: Egress = { except: [] }
let read = () => open

/**
 * Sets how this process connects from now on.
 *
 * @param now called for each new connection, so that replaced files and secrets count at once; it may throw a Fault
 */
export function setEgress(now: () => Egress = () => open): void {
  read = now
}

/** The settings as they are now. */
export function currentEgress(): Egress {
  try {
    return read()
  } catch (error) {
    if (error instanceof Fault) return { except: [], fault: faultRecord(error) }
    throw error
  }
}

/** The proxy through which a host is reached now; `undefined` where it is connected to directly. */
export function proxyOf(hostname: string, { proxy, except } = currentEgress()): URL | undefined {
  const isDirect = isLoopback(hostname) || except.some(entry => isWithin(hostname.toLowerCase(), entry.toLowerCase()))
  return proxy === undefined || isDirect ? undefined : new URL(proxy)
}

/** Whether a host is what an entry of `except` names. */
function isWithin(hostname: string, entry: string): boolean {
  const [network = '', prefix] = entry.split('/')
  const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(network) === 0) return `.${hostname}`.endsWith(`.${entry.replace(/^\*?\./, '')}`)
  const list = new BlockList()
  list.addSubnet(network, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family)
  return isIP(hostname) !== 0 && list.check(hostname, isIP(hostname) === 6 ? 'ipv6' : 'ipv4')
}

type Target = buildConnector.Options

/** Options of a connector. */
type ConnectorOptions = buildConnector.BuildOptions & {
  /** Reads the client's own certificate for each connection; it may throw a Fault. Default: none is shown. */
  readonly certificate?: (() => ClientCertificate) | undefined
}

/** A connector of undici, which opens each connection as `setEgress` says at that time. @param build undici's own */
export function egressConnector(
  build: typeof buildConnector,
  { certificate, ...options }: ConnectorOptions = {},
): buildConnector.connector {
  const connectDirectly = build(options)
  return (target, callback) => {
    try {
      const egress = currentEgress()
      if (egress.fault && !isLoopback(target.hostname)) throw faultFromRecord(egress.fault)
      const proxy = proxyOf(target.hostname, egress)
      const own = certificate?.()
      if (!proxy && !egress.authorities && !own) return connectDirectly(target, callback)
      const secureContext = contextOf(egress.authorities, own)
      const connect = build({ ...options, secureContext })
      if (!proxy) return connect(target, callback)
      void tunnel(proxy, target, secureContext).then(
        socket => {
          if (target.protocol !== 'https:') return callback(null, socket)
          connect({ ...target, httpSocket: socket }, (error, secured) =>
            error ? callback(beyond(proxy, error), null) : callback(null, secured),
          )
        },
        error => callback(error, null),
      )
    } catch (error) {
      callback(error as Error, null)
    }
  }
}

/** Contexts of TLS by their certificates: to make one with all authorities takes 50 ms. */
const contexts = new Map<string, SecureContext>()

function contextOf(authorities: string | undefined, certificate: ClientCertificate | undefined): SecureContext {
  const name = JSON.stringify([authorities, certificate])
  const known = contexts.get(name)
  if (known) return known
  const { createSecureContext, getCACertificates } = process.getBuiltinModule('node:tls')
  const ca = authorities === undefined ? {} : { ca: [...getCACertificates('default'), authorities] }
  try {
    const context = createSecureContext({ ...ca, ...certificate })
    // Replaced certificates are not needed any more.
    if (contexts.size >= 8) contexts.clear()
    contexts.set(name, context)
    return context
  } catch (error) {
    const { code = 'unknown error' } = error as { code?: string }
    throw new Fault('config', `the certificates of ca: or service.certificate cannot be used: ${code}`, {
      fix: 'tidegauge doctor says what is wrong with them',
    })
  }
}

/** Longest wait for a proxy. */
const proxyMsMax = 10_000

/** Opens a way through a proxy. @throws Fault `http-unreachable` that names the proxy */
function tunnel(proxy: URL, target: Target, secureContext: SecureContext): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const isSecure = proxy.protocol === 'https:'
  // Few processes need it.
  const { request } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http')
  const name = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname
  const host = `${name}:${target.port || (target.protocol === 'https:' ? 443 : 80)}`
  const authorization = basicAuthorization(proxy)
  const limit = systemTime.timeout(proxyMsMax)
  const proxyRequest = request({
    method: 'CONNECT',
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (isSecure ? 443 : 80),
    path: host,
    agent: false,
    signal: limit,
    headers: { host, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
    ...(isSecure && { secureContext }),
  })
  proxyRequest.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    // A server sends nothing before it is asked: what comes is a page of the proxy.
    if (statusCode >= 200 && statusCode < 300 && head.length === 0) return resolve(socket)
    socket.destroy()
    reject(refusal(proxy, host, statusCode, authorization !== undefined))
  })
  proxyRequest.on('error', failure => {
    const error: unknown = limit.aborted ? limit.reason : failure
    const fix = networkFix(error)?.replace('the address', "the proxy's address") ?? checkProxy
    reject(unreachable(proxy, `does not answer: ${networkReason(error)}`, fix))
  })
  proxyRequest.end()
  return promise
}

const checkProxy = 'check that the address under proxy: is that of an HTTP proxy'
const mayBeDirect = 'a host that needs no proxy belongs under proxy.except'

function unreachable(proxy: URL, what: string, fix: string): Fault {
  return new Fault('http-unreachable', `the proxy ${shownHost(proxy)} ${what}`, { fix })
}

function refusal(proxy: URL, host: string, status: number, isNamed: boolean): Fault {
  if (status === 407) {
    const [reason, fix] = isNamed
      ? ['does not take the name and password it is given', 'put the right ones where proxy: keeps its address']
      : ['asks for a name and a password', 'write proxy: { env: PROXY_URL }, and http://NAME:PASSWORD@HOST:PORT there']
    return unreachable(proxy, `${reason} (407)`, fix)
  }
  if (status === 403 || status === 405)
    return unreachable(proxy, `does not let this machine reach ${host} (${status})`, `ask who runs it; ${mayBeDirect}`)
  if (status >= 502 && status <= 504)
    return unreachable(proxy, `does not reach ${host} (${status})`, `check that this host runs; ${mayBeDirect}`)
  const what = status === 200 ? 'a page of its own' : `${status}`
  return unreachable(proxy, `answers ${what} where a way to ${host} was asked for`, checkProxy)
}

/** The error of a connection through a proxy, which may come from the proxy itself. */
function beyond(proxy: URL, error: Error): Fault {
  const fix = networkFix(error) ?? checkProxy
  return new Fault('http-unreachable', `${networkReason(error)}, through the proxy ${shownHost(proxy)}`, { fix })
}
