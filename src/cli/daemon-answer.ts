import type { Config } from '../config/config.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'

const answerMsMax = 5_000

/** Address of the daemon's status server as reached from this machine. */
export function daemonUrl({ status: { host, port } }: Config): string {
  return `http://${reachable(host)}:${port}`
}

/** The daemon's answer at a path. @throws Fault `daemon-unreachable` */
export async function daemonAnswer(config: Config, path: string): Promise<Response> {
  const url = `${daemonUrl(config)}${path}`
  try {
    return await fetch(url, { signal: systemTime.timeout(answerMsMax) })
  } catch (cause) {
    throw new Fault('daemon-unreachable', `no daemon answers at ${url}`, { fix: 'start it: tidegauge run', cause })
  }
}

/** Host to connect to: a server that listens on every address is reached on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
