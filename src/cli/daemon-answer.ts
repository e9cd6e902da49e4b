import { text } from 'node:stream/consumers'
import type { Config } from '../config/config.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { localUrl } from '../model/host.ts'
import { jsonOf, valueAt } from '../model/json.ts'
import type { StatusJson } from '../status/json.ts'

// Neither `import` nor `fetch`: an import reads every export of the module, and some of them load all of `fetch`, which takes
// as long as a bare start.
const { get } = process.getBuiltinModule('node:http')

const answerMsMax = 5_000

type ServerAddress = Pick<Config['status'], 'host' | 'port'>

interface DaemonAnswer {
  /** Whether its status is 200. */
  readonly ok: boolean
  /** The whole body, as text. */
  readonly body: string
}

/**
 * The daemon's answer at a path of its status server.
 *
 * @throws Fault `daemon-unreachable`
 */
export async function daemonAnswer(server: ServerAddress, path: string): Promise<DaemonAnswer> {
  const url = `${localUrl(server)}${path}`
  const { promise, resolve, reject } = Promise.withResolvers<DaemonAnswer>()
  const timeout = systemTime.timeout(answerMsMax)
  const request = get(url, { agent: false, signal: timeout }, answer => {
    text(answer).then(body => resolve({ ok: answer.statusCode === 200, body }), reject)
  })
  request.on('error', reject)
  try {
    return await promise
  } catch (error) {
    const cause = timeout.aborted ? timeout.reason : error
    throw new Fault('daemon-unreachable', `no daemon answers at ${url}`, { fix: 'start it: tidegauge run', cause })
  }
}

/**
 * Whether a daemon has taken the configuration as this command has read it. One of a version that does not say counts as having it.
 */
export function hasTaken(running: { readonly digest?: string }, { digest }: { readonly digest: string }): boolean {
  return running.digest === undefined || running.digest === digest
}

/** State of a daemon, by the answer at its address. */
export type DaemonSeen =
  | { readonly kind: 'at-work'; readonly status: StatusJson }
  /** Since an instant, as text. */
  | { readonly kind: 'starting'; readonly since: string }
  /** It has no outbox: its data folder was taken away, or is not there yet. */
  | { readonly kind: 'stalled'; readonly reason: string }
  /** It takes connections, and gives no answer in time. */
  | { readonly kind: 'silent' }
  /** Nothing, or another program. */
  | { readonly kind: 'none' }

/** A daemon that takes connections and gives no answer, at the end of a sentence. */
export const silentWords = `takes connections, and has not answered within ${answerMsMax / 1_000} s: it is stopped, or gets no processor`

/** Looks at the daemon at an address. Never rejects. */
export async function seenDaemon(server: ServerAddress): Promise<DaemonSeen> {
  try {
    const status = jsonOf((await daemonAnswer(server, '/status.json')).body)
    // As of a daemon: that of a command without one has no start.
    if (typeof valueAt(status, ['startedAt']) === 'string') return { kind: 'at-work', status: status as StatusJson }
    const [since, reason] = [valueAt(status, ['startsSince']), valueAt(status, ['ready', 'reasons', '0'])]
    if (typeof since === 'string') return { kind: 'starting', since }
    return typeof reason === 'string' ? { kind: 'stalled', reason } : { kind: 'none' }
  } catch (error) {
    const isLate = error instanceof Fault && error.cause instanceof Error && error.cause.name === 'TimeoutError'
    return { kind: isLate ? 'silent' : 'none' }
  }
}

/**
 * A daemon of a fleet that answers or takes connections, and whose lease has ended, as where the database takes no renewal;
 * `undefined` for any other.
 */
export function leaselessWords(
  daemonSeen: DaemonSeen,
  { file, data, status: { host, port } }: Pick<Config, 'file' | 'data' | 'status'>,
): string | undefined {
  const words = `at ${host}:${port}, without a lease in the database`
  if (daemonSeen.kind === 'silent') return data.kind === 'postgres' ? words : undefined
  if (daemonSeen.kind !== 'at-work' || !daemonSeen.status.fleet || daemonSeen.status.configuration.file !== file)
    return undefined
  return `answers ${words}`
}

/** A sentence about a daemon that is starting. */
export function startingSentence({ since }: Extract<DaemonSeen, { kind: 'starting' }>): string {
  return `The daemon is starting, since ${since}: ask again in a moment.`
}

/** A sentence when a daemon runs on an earlier configuration than the one that this command has read. */
export function untakenSentence(seen: DaemonSeen, config: Pick<Config, 'file' | 'digest'>): string | undefined {
  if (seen.kind !== 'at-work') return undefined
  const { configuration } = seen.status
  if (configuration.file !== config.file || hasTaken(configuration, config)) return undefined
  return `The configuration was saved, and the daemon has not taken it yet: it runs on that of ${configuration.inForceSince}.`
}
