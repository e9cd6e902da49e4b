import type { ProtocolConfig } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import { wordsOf } from '../model/remarks.ts'
import { registration } from '../model/wire.ts'

/**
 * Registers a protocol with the service.
 *
 * @returns why it is not registered; `undefined` when it is
 */
export async function registerProtocol(
  client: Pick<ServiceClient, 'register'>,
  { id, name, logo, chains }: ProtocolConfig,
  key: string,
  stop?: AbortSignal,
): Promise<string | undefined> {
  const body = registration.parse({ id, name, ...(logo && { logo }), ...(chains && { chains }) })
  const answer = await client.register(body, key, stop)
  if (answer.kind === 'unanswered') return answer.reason
  if (answer.status >= 200 && answer.status < 300) return undefined
  const reason = [answer.status, wordsOf(answer.body)].filter(part => part !== '').join(': ')
  if (answer.status === 400) return `registration refused, is the id taken by another key? (${reason})`
  return `registration refused (${reason})`
}
