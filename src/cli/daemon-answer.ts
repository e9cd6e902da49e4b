import type { Config } from '../config/config.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { localUrl } from '../model/host.ts'

const answerMsMax = 5_000

/** The daemon's answer at a path. @throws Fault `daemon-unreachable` */
export async function daemonAnswer(config: Config, path: string): Promise<Response> {
  const url = `${localUrl(config.status)}${path}`
  try {
    return await fetch(url, { signal: systemTime.timeout(answerMsMax) })
  } catch (cause) {
    throw new Fault('daemon-unreachable', `no daemon answers at ${url}`, { fix: 'start it: tidegauge run', cause })
  }
}
