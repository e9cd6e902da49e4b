import type { AppContext } from '../../app/context.ts'
import { faultLine } from '../../model/fault.ts'
import { hourAt } from '../../model/hour.ts'

/** Attempts at one ping: the run ends soon after its work. */
const attemptsMax = 3

/**
 * Runs work that is reported to the heartbeat, if one is configured: that it begins, and its result. The work does not
 * wait for the first ping, and never fails because of one.
 *
 * @param sentencesOf a result: why it is a failure, a sentence each; empty for a success
 */
export async function withHeartbeat<T>(
  { config, time, log, redactor }: AppContext,
  sentencesOf: (result: T) => readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  if (!config.heartbeat) return work()
  const hour = hourAt(time.nowMs())
  const { PingSender } = await import('../../reports/heartbeat/heartbeat.ts')
  const sender = new PingSender({ ...config.heartbeat, time, log, redactor, attemptsMax })
  const end = async (sentences: readonly string[]) => {
    await sender.send({ kind: sentences.length === 0 ? 'success' : 'fail', hour, sentences })
  }
  void sender.send({ kind: 'start', hour, sentences: [] })
  try {
    const result = await work()
    await end(sentencesOf(result))
    return result
  } catch (error) {
    await end([faultLine(error)])
    throw error
  }
}
