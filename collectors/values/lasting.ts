/** Faults of a contract or a price that are the same whenever the hour is read. */
const lasting = ['chain-call-reverted', 'chain-call-undecodable', 'price-missing']

/** Whether a read fails whenever the hour is read: what it asks for is not there. Errors of the formulas have no code. */
export function isLasting(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return code === undefined || lasting.includes(String(code))
}
