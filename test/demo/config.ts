import { type Hour, hourText } from '../../src/model/hour.ts'
import type { DemoCollector, DemoProtocol } from './protocols.ts'

export interface DemoConfig {
  readonly chain: { readonly id: number; readonly url: string }
  readonly protocols: readonly DemoProtocol[]
  /** Sources of prices, by name. */
  readonly prices: Readonly<Record<string, readonly unknown[]>>
  /** First hour expected of the collectors with a history. */
  readonly since: Hour
  /** Of the status server, on loopback. */
  readonly port: number
}

/** The configuration file, as an operator would write it. */
export function configText({ chain, protocols, prices, since, port }: DemoConfig): string {
  return `# Made by the demo: a local chain, and the metrics service inside the daemon.
service: embedded
data: ./data
status: { listen: "127.0.0.1:${port}" }
chains:
  demo: { id: ${chain.id}, rpc: [${chain.url}] }
prices:
${Object.entries(prices)
  .map(([name, sources]) => `  ${name}: ${flowText(sources)}\n`)
  .join('')}protocols:
${protocols.map(protocol => protocolText(protocol, since)).join('')}`
}

function protocolText({ id, name, collectors }: DemoProtocol, since: Hour): string {
  const chains = collectors.some(({ history }) => history) ? '    chains: [demo]\n' : ''
  return `  - id: ${id}
    name: ${name}
${chains}    collectors:
${collectors.map(collector => collectorText(collector, since)).join('')}`
}

function collectorText({ use, options, history }: DemoCollector, since: Hour): string {
  const lines = [`      - use: ${use}`]
  if (Object.keys(options).length > 0) lines.push(`        options: ${flowText(options)}`)
  if (history) lines.push(`        since: ${hourText(since)}`)
  return `${lines.join('\n')}\n`
}

/** A value on one line. Addresses must be in quotes: YAML reads them as numbers. */
function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' && !/^[a-z][\w-]*$/i.test(value) ? JSON.stringify(value) : String(value)
  const parts = Object.entries(value).map(([key, part]) => `${key}: ${flowText(part)}`)
  return `{ ${parts.join(', ')} }`
}
