import { basename } from 'node:path'
import type { EndpointDeps } from '../chain/endpoint/endpoint.ts'
import { hostOf } from '../chain/endpoint/endpoint-failure.ts'
import type { EndpointSource } from '../chain/endpoint/endpoint-pool.ts'
import type { EndpointRef } from '../config/config.ts'
import { placeText } from '../config/mistakes.ts'
import { resolveAddress, resolveHeaders, secretsOfEndpoint } from '../config/secret.ts'
import { Fault } from '../model/fault.ts'
import type { AppContext } from './context.ts'

/**
 * Source of an endpoint for a chain's reader. When a kept address or header cannot be read, that is logged once, and
 * once when it can be again; meanwhile the endpoint cannot serve.
 */
export function endpointSource(
  chain: string,
  ref: EndpointRef,
  { log, redactor }: Pick<AppContext, 'log' | 'redactor'>,
): EndpointSource {
  const headers = () => {
    redactor.add(secretsOfEndpoint(chain, ref))
    return resolveHeaders(ref)
  }
  const isKept = Object.values(ref.headers ?? {}).some(({ kind }) => kind !== 'text')
  if (ref.kind === 'url' && !isKept) return { ...partsOf(ref.url, ref), ...(ref.headers && { headers }) }
  const name = nameOf(ref)
  let reported: string | undefined
  return {
    name,
    read() {
      try {
        const parts = partsOf(resolveAddress(chain, ref), ref)
        headers()
        if (reported !== undefined) log.info({ chain, endpoint: name }, 'RPC endpoint can serve now')
        reported = undefined
        return { ...parts, ...(ref.headers && { headers }) }
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const { code, message, fix } = error
        const reason = `${message} (${placeText(ref.place)})`
        if (reported !== reason) log.error({ chain, endpoint: name, reason, fix }, 'RPC endpoint cannot serve')
        reported = reason
        throw new Fault(code, reason, fix === undefined ? {} : { fix })
      }
    },
  }
}

/** Name of an endpoint's address that may be shown. */
export function nameOf(ref: EndpointRef): string {
  if (ref.kind === 'url') return hostOf(ref.url)
  return ref.kind === 'env' ? ref.name : basename(ref.path)
}

function partsOf(url: string, { callsPerSecondMax, batchCallsMax, logBlocksMax }: EndpointRef): EndpointDeps {
  return {
    url,
    ...(callsPerSecondMax !== undefined && { callsPerSecondMax }),
    ...(batchCallsMax !== undefined && { batchCallsMax }),
    ...(logBlocksMax !== undefined && { logBlocksMax }),
  }
}
