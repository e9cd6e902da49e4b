import type { Config, ProtocolConfig, SecretRef } from '../config/config.ts'
import { replacedFile } from '../config/secret.ts'
import { Fault } from '../model/fault.ts'

/** One key and the protocols written with it. A failure of one destination does not stop another. */
export interface Destination {
  /**
   * `service` for the service's own key, else the key's place, e.g. `env:VAULT_KEY`. Never the key. In a shared database, where
   * each machine keeps keys in places of its own, the first of its protocols' ids.
   */
  readonly name: string
  /** Reads the key. It is called for each flush, so a key rotates without a restart. */
  readonly readKey: () => string
  /** The reason why another key may not have reached this process, and what to do; `undefined` without one. */
  readonly staleKey?: () => string | undefined
  readonly protocols: readonly ProtocolConfig[]
}

/**
 * Groups protocols by the key they are written with.
 *
 * @param serviceKey reads the service's own key; absent when it has none
 * @param readSecret reads a protocol's own key
 */
export function destinationsOf(
  config: Config,
  serviceKey: (() => string) | undefined,
  readSecret: (ref: SecretRef) => string,
): Destination[] {
  const groups = Map.groupBy(config.protocols, ({ key }) => (key ? keyName(key) : 'service'))
  return [...groups].map(([name, protocols]) => {
    const ref = protocols[0]?.key
    const kept = ref ?? (config.service.kind === 'remote' ? config.service.key : undefined)
    const staleKey = () => {
      const replaced = kept && replacedFile(kept)
      return replaced && `${replaced.message}: ${replaced.fix}`
    }
    const [first] = protocols.map(({ id }) => id).sort()
    const own = config.data.kind === 'postgres' && first !== undefined ? first : name
    return { name: own, protocols, staleKey, readKey: ref ? () => readSecret(ref) : (serviceKey ?? noKey) }
  })
}

function keyName(ref: SecretRef): string {
  return ref.kind === 'env' ? `env:${ref.name}` : `file:${ref.path}`
}

function noKey(): never {
  throw new Fault('secret-missing', 'the service has no key', { fix: 'set service.key to { file: … } or { env: … }' })
}
