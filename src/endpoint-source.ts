import { basename } from 'node:path'
import type { EndpointParts } from './chain/endpoint/endpoint.ts'
import type { EndpointSource } from './chain/endpoint/endpoint-pool.ts'
import type { EndpointRef } from './config/config.ts'
import { placeText } from './config/mistakes.ts'
import { resolveAddress, secretsOfEndpoint } from './config/secret.ts'
import { Fault } from './model/fault.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * Where a chain's reader finds an endpoint. One whose address is kept elsewhere and cannot be read is said in the log once,
 * and once again when it can; meanwhile it is an endpoint that cannot serve.
 */
export function endpointSource(
  chain: string,
  ref: EndpointRef,
  { log, redactor }: Pick<Surroundings, 'log' | 'redactor'>,
): EndpointSource {
  if (ref.kind === 'url') return partsOf(ref.url, ref)
  const name = ref.kind === 'env' ? ref.name : basename(ref.path)
  let told: string | undefined
  return {
    name,
    read() {
      try {
        const parts = partsOf(resolveAddress(chain, ref), ref)
        redactor.add(secretsOfEndpoint(chain, ref))
        if (told !== undefined) log.info({ chain, endpoint: name }, 'RPC endpoint has an address now')
        told = undefined
        return parts
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const { code, message, fix } = error
        const reason = `${message} (${placeText(ref.place)})`
        if (told !== reason) log.error({ chain, endpoint: name, reason, fix }, 'RPC endpoint cannot serve')
        told = reason
        throw new Fault(code, reason, fix === undefined ? {} : { fix })
      }
    },
  }
}

function partsOf(url: string, { callsPerSecondMax, batchCallsMax, logBlocksMax }: EndpointRef): EndpointParts {
  return {
    url,
    ...(callsPerSecondMax !== undefined && { callsPerSecondMax }),
    ...(batchCallsMax !== undefined && { batchCallsMax }),
    ...(logBlocksMax !== undefined && { logBlocksMax }),
  }
}
