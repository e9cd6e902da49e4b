import { resolve } from 'node:path'
import { readText } from '../config/yaml.ts'
import { systemTime } from '../edge/time.ts'
import { startShipped } from '../runner/daemon/start-process.ts'
import { WarmProcesses } from '../runner/daemon/warm-processes.ts'
import { shippedCollectors } from '../runner/origin.ts'

/**
 * Processes for the runners of a command; ended when this is disposed of. One of shipped collectors is started at once
 * where the text of the configuration seems to use them: it starts while the configuration is read. A wrong guess costs
 * a start, and nothing else.
 *
 * @param readsChains whether a runner of the command reads chains, if there are any
 */
export function warmStart(configFile: string, readsChains: boolean): WarmProcesses & Disposable {
  const read = readText(configFile)
  // A file that cannot be read is reported when it is parsed.
  const text = read.ok ? read.text : ''
  const warm = new WarmProcesses(systemTime, readsChains && /^chains\s*:/m.test(text))
  const used = new Set([...text.matchAll(/\buse\s*:\s*["']?([\w-]+)/g)].map(([, name]) => name))
  if (shippedCollectors().some(name => used.has(name))) startShipped(warm, resolve(configFile))
  // Not a method of the class: types that the package has need no newer library for it.
  return Object.assign(warm, { [Symbol.dispose]: () => warm.abandon() })
}
