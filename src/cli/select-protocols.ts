import type { ProtocolConfig } from '../config/config.ts'
import { Fault } from '../model/fault.ts'

/** The protocols that a person names; all of them without a name. @throws Fault `usage` for an unknown one */
export function selectProtocols(
  protocols: readonly ProtocolConfig[],
  ids: readonly string[],
): readonly ProtocolConfig[] {
  const unknown = ids.filter(id => !protocols.some(protocol => protocol.id === id))
  if (unknown.length > 0) {
    throw new Fault('usage', `no protocol is called ${unknown.map(id => `"${id}"`).join(', ')}`, {
      fix: `there are: ${protocols.map(({ id }) => id).join(', ')}`,
    })
  }
  return ids.length === 0 ? protocols : protocols.filter(({ id }) => ids.includes(id))
}
