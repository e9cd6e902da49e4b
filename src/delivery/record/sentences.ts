/** Why a protocol is left out, and what to do about it. */
export function protocolSentence(id: string, status: number, reason: string): string {
  return `protocol ${id} is refused (${reason}): ${protocolFix(id, status)}`
}

/** Why a protocol is left out that could not be registered, which is not its fault. */
export function unregisteredSentence(id: string, reason: string): string {
  return `protocol ${id} is not registered yet, as the service answers ${reason}: nothing is lost, and it is tried again`
}

/** Why a protocol is left out that the service fails on while it takes others. */
export function failingSentence(id: string, reason: string): string {
  return `the service fails on protocol ${id} (${reason}): one of its metrics is tried every few minutes`
}

/** Instruction for a protocol that is refused with a status. */
export function protocolFix(id: string, status: number): string {
  return status === 404 ? `register it: tidegauge register ${id}` : 'use the key that owns it'
}
