import type { AppContext } from '../../app/context.ts'
import { openChains } from '../../app/open-chains.ts'
import { openHourReader } from '../../app/open-runner.ts'
import { type CollectorConfig, type Config, secretsWritten } from '../../config/config.ts'
import { readSecret } from '../../config/secret.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { noPasts } from '../../intake/validate.ts'
import { Fault, faultFromRecord, faultLine } from '../../model/fault.ts'
import { shownHost } from '../../model/host.ts'
import { type Hour, hourAt } from '../../model/hour.ts'
import { valueAt } from '../../model/json.ts'
import { createLog } from '../../telemetry/log.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

/** Longest time for one source's answer, in milliseconds: a whole run's deadline is too long for a person. */
const sourceMsMax = 20_000

/** Names of collectors that are listed in one line; further ones are counted. */
const namesMax = 4

/** A collector, or one source of a price, whose options name an off-chain address. */
interface OffChainSource {
  readonly collector: CollectorConfig
  /** Its name for a person: the collector's id, or `price ETH`. */
  readonly name: string
  /** Hosts of the addresses, or the file of a database; at least one. */
  readonly hosts: readonly string[]
  /** Whether a price has other sources. */
  readonly isSpare: boolean
}

/** An off-chain source that was read for the current hour. */
interface AskedSource extends OffChainSource {
  /** Why it gave no value; absent where it gave all. */
  readonly fault?: Fault
}

/**
 * Every off-chain address that the options of a collector or of a price name: each source is read for the current hour, as
 * the daemon reads it, and a finding is about a host.
 */
export async function sourceFindings(context: AppContext): Promise<readonly Finding[]> {
  const sources = offChainSources(context.config)
  if (sources.length === 0) return []
  await using stack = new AsyncDisposableStack()
  const { config, redactor } = context
  const deadlineMs = Math.min(config.collect.deadlineMs, sourceMsMax)
  const silent = {
    ...context,
    config: { ...config, collect: { ...config.collect, deadlineMs } },
    log: createLog('silent', redactor),
  }
  const reader = openHourReader(silent, openChains(silent, stack), stack)
  const hour = hourAt(context.time.nowMs())
  const asked = await Promise.all(sources.map(source => readSource(reader, source, hour)))
  const hosts = [...new Set(asked.flatMap(source => source.hosts))]
  return hosts.map(host =>
    hostFinding(
      host,
      asked.filter(source => source.hosts.includes(host)),
    ),
  )
}

/** A price that has several sources is one entry for each. */
function offChainSources({ protocols, prices }: Config): OffChainSource[] {
  const collectors = protocols.flatMap(protocol => protocol.collectors)
  const ofPrices = prices.flatMap(({ name, collector }) => {
    const { sources } = collector.options as { readonly sources: unknown }
    const all: readonly unknown[] = Array.isArray(sources) ? sources : []
    return all.map((source, index) => ({
      // Its value is checked like a metric, which has a protocol.
      collector: { ...collector, protocolId: 'price', options: { sources: [source] } },
      name: all.length === 1 ? `price ${name}` : `price ${name}, source ${index + 1}`,
      isSpare: all.length > 1,
    }))
  })
  const all = [...collectors.map(collector => ({ collector, name: collector.id, isSpare: false })), ...ofPrices]
  return all.flatMap(source => {
    const hosts = hostsIn(source.collector)
    return hosts.length > 0 ? [{ ...source, hosts }] : []
  })
}

/** Hosts of the addresses in a collector's options, those that are kept as a secret included; the file of a database. */
function hostsIn({ use, options, place }: CollectorConfig): string[] {
  const secrets = secretsWritten(options, place.file).flatMap(({ ref }) => {
    try {
      return readSecret(ref)
    } catch {
      // One that cannot be read is a finding of the configuration.
      return []
    }
  })
  const addresses = [...textsIn(options), ...secrets].filter(text => /^(https?|postgres(ql)?):\/\//i.test(text))
  // A placeholder stands in no host, and is no part of an address before it is filled in.
  const urls = addresses.map(text => text.replace(/[{}]/g, '')).filter(text => URL.canParse(text))
  const file = use === 'sql' ? valueAt(options, ['path']) : undefined
  return [...new Set([...urls.map(text => shownHost(new URL(text))), ...(typeof file === 'string' ? [file] : [])])]
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

async function readSource(reader: HourReader, source: OffChainSource, hour: Hour): Promise<AskedSource> {
  const { collector } = source
  try {
    const description = await reader.describe(collector)
    // Mistakes in options are a finding of the configuration.
    if (description.kind === 'mistaken') return source
    const { fault, failures } = await reader.collect({ collector, description, hour }, noPasts)
    const each = Object.values(failures).map(faultFromRecord)
    const own = (each.length > 0 || !fault ? each : [fault]).find(isOfSource)
    return own ? { ...source, fault: own } : source
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return isOfSource(error) ? { ...source, fault: error } : source
  }
}

/** Whether a failure is no other finding's: of a chain, of another price, of a secret or of the collector's file. */
function isOfSource({ code }: Fault): boolean {
  return !/^(chain-|price-|secret-|collector-unusable)/.test(code)
}

function hostFinding(host: string, asked: readonly AskedSource[]): Finding {
  const subject = `source ${host}`
  const wrong = asked.filter(({ fault }) => fault)
  const [first, ...others] = wrong
  if (!first?.fault) {
    const names = asked.map(({ name }) => name)
    return ok(subject, `answers ${names.slice(0, namesMax).join('; ')}${furtherText(names.length - namesMax)}`)
  }
  const { code, message, facts, fix } = first.fault
  const instruction = fix ?? `check ${host}, the way to it, and the options that name it`
  const found = `${first.name}: ${faultLine(new Fault(code, message, { facts }))}${furtherText(others.length)}`
  return wrong.every(({ isSpare }) => isSpare)
    ? warning(subject, `${found}; the price has other sources`, instruction)
    : failed(subject, found, instruction)
}

function furtherText(count: number): string {
  return count > 0 ? `; and ${count} more` : ''
}
