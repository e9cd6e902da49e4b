import type { RpcCall, RpcOutcome, WrittenCall } from './wire.ts'

/** The cheapest call to a node. */
export const chainIdCall: RpcCall = { method: 'eth_chainId', params: [] }

const heavyMethods: ReadonlySet<string> = new Set(['eth_call', 'eth_getLogs', 'eth_getBalance', 'eth_getCode'])

/**
 * Whether a call makes a node compute or search. Its cost depends on the call, and it may fail all calls sent with it.
 */
export function isHeavy({ call }: WrittenCall): boolean {
  return heavyMethods.has(call.method)
}

/** Merges outcomes of calls that were partly sent apart, in the order of the calls. */
export function inOrder(
  calls: readonly WrittenCall[],
  some: readonly WrittenCall[],
  ofSome: readonly RpcOutcome[],
  others: readonly WrittenCall[],
  ofOthers: readonly RpcOutcome[],
): RpcOutcome[] {
  const places = new Map([...some, ...others].map((call, index) => [call, index]))
  const all = [...ofSome.slice(0, some.length), ...ofOthers]
  return calls.flatMap(call => all[places.get(call) ?? -1] ?? [])
}
