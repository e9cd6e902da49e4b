import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import { localUrl } from '../../model/host.ts'
import { jsonOf, valueAt } from '../../model/json.ts'

/** Longest wait for a daemon on this machine. */
const answerMsMax = 1_000

/** The address that another server listens on. */
interface Taken {
  readonly host: string
  readonly port: number
  readonly time: Time
}

/** Why the status server cannot listen; names the other daemon if it is one that does. */
export async function takenBy(error: unknown, taken: Taken): Promise<unknown> {
  if (!(error instanceof Fault) || error.code !== 'address-unusable' || taken.port === 0) return error
  const isTaken = error.message.endsWith('another program listens there')
  const file = isTaken ? await otherConfiguration(taken) : undefined
  const other = `another tidegauge listens there, with the configuration ${file}`
  const message = file === undefined ? error.message : error.message.replace('another program listens there', other)
  return new Fault('address-unusable', message, {
    facts: { setting: 'status.listen' },
    fix: isTaken ? 'stop that one first, or set status.listen to another port' : 'set status.listen to another address',
    cause: error,
  })
}

async function otherConfiguration(taken: Taken): Promise<string | undefined> {
  try {
    const signal = taken.time.timeout(answerMsMax)
    const answer = jsonOf(await (await fetch(`${localUrl(taken)}/status.json`, { signal })).text())
    const file = valueAt(answer, ['configuration', 'file'])
    // Any program may listen there, and answer anything.
    return typeof file === 'string' && /^[^\p{C}]{1,300}$/u.test(file) ? file : undefined
  } catch {
    return undefined
  }
}
