import type { AppContext } from '../../app/context.ts'
import { endpointSource, nameOf } from '../../app/open-chains.ts'
import { EndpointFailure } from '../../chain/endpoint/failures.ts'
import {
  type CertificateCheck,
  checkEndpoint,
  type EndpointCheck,
  type StateAtAge,
} from '../../chain/read/node-questions.ts'
import type { ChainConfig, EndpointRef } from '../../config/config.ts'
import { Fault } from '../../model/fault.ts'
import { hourMs } from '../../model/limits.ts'
import { counted } from '../terminal.ts'
import { type Finding, failed, type Outcome, ok, warning } from './finding.ts'

/** Age of a node's last block from which it is behind, and from which the next hour cannot be read. */
const headAgeMsAdvised = 120_000
const headAgeMsMax = hourMs

/** Longest time for one endpoint's answers, in milliseconds. */
const endpointMsMax = 30_000

/** Blocks of one `eth_getLogs` below which a busy hour takes many requests. */
const logBlocksAdvised = 1_000

/** Every endpoint of every chain, side by side. */
export async function chainFindings(context: AppContext): Promise<readonly Finding[]> {
  const perChain = context.config.chains.map(async chain => {
    const all = await Promise.all(chain.rpc.map(ref => endpointFindings(context, chain, ref)))
    return spared(all)
  })
  return (await Promise.all(perChain)).flat()
}

/** A chain with an endpoint that is well is read all the same: what stops the others is a warning then. */
function spared(endpoints: readonly (readonly Finding[])[]): Finding[] {
  const isFailing = (findings: readonly Finding[]) => findings.some(({ outcome }) => outcome === 'failed')
  const hasGood = endpoints.some(findings => !isFailing(findings))
  const softened = (outcome: Outcome): Outcome => (outcome === 'failed' && hasGood ? 'warning' : outcome)
  return endpoints.flat().map(finding => ({ ...finding, outcome: softened(finding.outcome) }))
}

async function endpointFindings(context: AppContext, chain: ChainConfig, ref: EndpointRef): Promise<Finding[]> {
  const { config, time, log, redactor } = context
  const subject = `${chain.name} ${nameOf(ref)}`
  const hoursAgo = [...new Set([0, 24, Math.ceil(config.collect.catchUpMs / hourMs)])].sort((a, b) => a - b)
  try {
    const source = endpointSource(chain.name, ref, { log, redactor })
    const deps = { chainId: chain.id, source, multicall: chain.multicall, time, timeoutMs: endpointMsMax }
    return findingsOf(subject, chain, await checkEndpoint(deps, [...hoursAgo, Number.POSITIVE_INFINITY]), time.nowMs())
  } catch (error) {
    if (error instanceof EndpointFailure) return [failed(subject, error.reason, fixOf(error, chain))]
    if (error instanceof Fault) return [failed(subject, error.message, error.fix)]
    return [failed(subject, `no answer within ${endpointMsMax / 1_000} s`, 'check the node, and the network to it')]
  }
}

function fixOf({ kind }: EndpointFailure, { name, id }: ChainConfig): string {
  if (kind === 'wrong-id') return `give an endpoint of chain ${id} under chains.${name}.rpc, or the right id`
  if (kind === 'rate') return 'it asks to be asked less: set its rate, or take another plan'
  if (kind === 'refused') return 'check the key or the headers of the endpoint'
  return 'check that the node runs, its address, and the network to it'
}

function findingsOf(
  subject: string,
  { name, id, multicall }: ChainConfig,
  check: EndpointCheck,
  nowMs: number,
): Finding[] {
  return [
    headFinding(subject, id, check, nowMs),
    stateFinding(subject, check.states),
    logFinding(subject, name, check.logs),
    check.hasMulticall
      ? ok(subject, 'Multicall3 is there: an hour’s reads are one call')
      : multicallMissing(subject, name, multicall),
    ...certificateFindings(subject, check.certificate),
  ]
}

function certificateFindings(subject: string, { context, refusal }: CertificateCheck): Finding[] {
  if (refusal !== undefined) {
    const fix = 'put an endpoint under rpc: that reads the block it is asked for, by its hash, too'
    return [failed(subject, `its reads are not certain to be of the block that was asked for: ${refusal}`, fix)]
  }
  return context === undefined ? [] : [ok(subject, `${context}: reads are pinned by the hash of the block`)]
}

function multicallMissing(subject: string, chain: string, multicall: string | undefined): Finding {
  if (multicall === undefined) {
    const fix = `where it is at another address, write that as chains.${chain}.multicall`
    return warning(subject, 'has no Multicall3 at its usual address: each read is a call of its own', fix)
  }
  const found = `has no contract at ${multicall}: each read is a call of its own`
  return warning(subject, found, `correct or remove chains.${chain}.multicall`)
}

function headFinding(subject: string, id: number, { head }: EndpointCheck, nowMs: number): Finding {
  const ageMs = Math.max(0, nowMs - head.timestampSeconds * 1_000)
  const block = `chain ${id}, block ${head.number}, ${ageText(ageMs)} old`
  const fix = 'let the node catch up, or add another endpoint'
  if (ageMs > headAgeMsMax) return failed(subject, `is behind: ${block}; the last hour cannot be read`, fix)
  if (ageMs > headAgeMsAdvised) return warning(subject, `may be behind: ${block}`, fix)
  return ok(subject, block)
}

function stateFinding(subject: string, states: readonly StateAtAge[]): Finding {
  const missing = states.find(state => state.missing !== undefined)
  if (!missing) return ok(subject, 'has the state of all blocks: every past hour can be read')
  const reason = `: ${missing.missing}`
  if (missing.hoursAgo === 0) {
    return failed(subject, `does not even have the state of its last block${reason}`, 'let the node finish its sync')
  }
  const had = states.findLast(state => state.missing === undefined && state.hoursAgo < missing.hoursAgo)
  const depth = had && had.hoursAgo > 0 ? `of the last ${counted(had.hoursAgo, 'hour')}` : 'of its last blocks'
  const found = `has only the state ${depth}${reason}`
  return warning(subject, found, 'hours before that become gaps when they are missed; an archive node has them')
}

function logFinding(subject: string, chain: string, { blocks, refusal }: EndpointCheck['logs']): Finding {
  if (blocks === 0)
    return warning(subject, `serves no logs: ${refusal ?? 'no answer'}`, 'collectors that read events need them')
  const found = `answers ${counted(blocks, 'block')} of logs in one request`
  if (refusal === undefined || blocks >= logBlocksAdvised) return ok(subject, found)
  return warning(subject, `${found}, and no more: ${refusal}`, `known limits go under chains.${chain}.rpc as logBlocks`)
}

function ageText(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  return ms < 2 * hourMs ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / hourMs)} h`
}
