import { valueAt } from '../model/json.ts'
import { defaultListen, type ListenAddress, listenAddress } from './schema/addresses.ts'
import { readText } from './yaml/text.ts'
import { readTree } from './yaml/tree.ts'

/**
 * The address of the status server, read from a configuration file alone: its other keys are not checked, so that a
 * health check costs little and does not fail for a change that the running daemon has refused.
 *
 * @returns `undefined` when it cannot be read; `loadConfig` says why
 */
export function statusAddress(file: string): ListenAddress | undefined {
  const read = readText(file)
  const tree = read.ok ? readTree(read.text).tree : undefined
  const written = tree && (valueAt(tree.value(), ['status', 'listen']) ?? defaultListen)
  const address = typeof written === 'string' ? listenAddress(written) : undefined
  return address?.ok ? address.value : undefined
}
