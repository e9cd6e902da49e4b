import type { ProtocolConfig } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import { reasonOf, transientOf } from '../model/verdict.ts'
import { registration } from '../model/wire.ts'
import type { NotRegistered } from './isolate/parts.ts'

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
): Promise<NotRegistered | undefined> {
  const body = registration.parse({ id, name, ...(logo && { logo }), ...(chains && { chains }) })
  const answer = await client.register(body, key, stop)
  const transient = transientOf(answer)
  if (transient || answer.kind === 'unanswered') return transient
  if (answer.status >= 200 && answer.status < 300) return undefined
  const isTaken = answer.status === 400
  const reason = `registration refused${isTaken ? ', is the id taken by another key?' : ''} (${reasonOf(answer)})`
  return { kind: 'refused', reason }
}
