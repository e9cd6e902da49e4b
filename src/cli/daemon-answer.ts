import { text } from 'node:stream/consumers'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { localUrl } from '../model/host.ts'
import { jsonOf, valueAt } from '../model/json.ts'

// Neither `import` nor `fetch`: an import reads every export of the module, and some of them load all of `fetch`, which takes
// as long as a bare start.
const { get } = process.getBuiltinModule('node:http')

const answerMsMax = 5_000

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
export async function daemonAnswer(
  server: { readonly host: string; readonly port: number },
  path: string,
): Promise<DaemonAnswer> {
  const url = `${localUrl(server)}${path}`
  const { promise, resolve, reject } = Promise.withResolvers<DaemonAnswer>()
  const request = get(url, { agent: false, signal: systemTime.timeout(answerMsMax) }, answer => {
    text(answer).then(body => resolve({ ok: answer.statusCode === 200, body }), reject)
  })
  request.on('error', reject)
  try {
    return await promise
  } catch (cause) {
    throw new Fault('daemon-unreachable', `no daemon answers at ${url}`, { fix: 'start it: tidegauge run', cause })
  }
}

/**
 * Whether a daemon has taken the configuration as this command has read it. One of a version that does not say counts as having it.
 */
export function hasTaken(running: { readonly digest?: string }, { digest }: { readonly digest: string }): boolean {
  return running.digest === undefined || running.digest === digest
}

/**
 * Reason of a daemon that listens at the address and has no outbox, and so holds none: its data folder was taken away, or is not
 * there yet. `undefined` without one, for one at work, and for another program.
 */
export async function stalledDaemon(server: {
  readonly host: string
  readonly port: number
}): Promise<string | undefined> {
  try {
    const status = jsonOf((await daemonAnswer(server, '/status.json')).body)
    const reason = valueAt(status, ['ready', 'reasons', '0'])
    if (valueAt(status, ['configuration']) !== undefined || typeof reason !== 'string') return undefined
    return reason
  } catch {
    return undefined
  }
}
