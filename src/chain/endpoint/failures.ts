import type { AsOfBlock } from '../../model/block.ts'
import { Fault } from '../../model/fault.ts'
import { isNetworkUrl, secretPartsOf } from '../../model/host.ts'
import { type Hour, hourText } from '../../model/hour.ts'
import { type PeerText, shortened } from '../../model/text.ts'

/**
 * Kind of an endpoint's failure. `unreachable`: dead, or its answers cannot be understood; `refused`: an error answer;
 * `slow`: no answer in time to this call, but to others; `behind`: no block past the hour; `too-much`: smaller parts
 * may pass; `rate`: asked too often; `pruned`: the block's state is gone; `recent-state`: even the state of one of its
 * last blocks is missing, which every node should have; `unknown-block`: the block is not known yet, or not any more;
 * `wrong-block`: what it reads is not certain to be of the block that was asked for; `no-address`: its address cannot
 * be read; `no-logs`: it serves no logs, not even of single blocks, or not all.
 */
export type FailureKind =
  | 'unreachable'
  | 'refused'
  | 'slow'
  | 'wrong-id'
  | 'behind'
  | 'too-much'
  | 'rate'
  | 'pruned'
  | 'recent-state'
  | 'unknown-block'
  | 'wrong-block'
  | 'no-address'
  | 'no-logs'

/**
 * An endpoint could not serve a read; another one may. It holds only the host and a short reason: never the URL, nor a
 * library's error, whose text, stack and cause contain it.
 */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure'
  readonly host: string
  readonly reason: string
  readonly kind: FailureKind
  /** The endpoint's retry-after, in milliseconds since 1970. */
  readonly retryAtMs: number | undefined
  /** Advice for a person; absent where it follows from the kind. */
  readonly fix: string | undefined

  constructor(host: string, reason: string, kind: FailureKind = 'unreachable', retryAtMs?: number, fix?: string) {
    super(`${host} ${reason}`)
    this.host = host
    this.reason = reason
    this.kind = kind
    this.retryAtMs = retryAtMs
    this.fix = fix
  }
}

/**
 * A node refuses several calls in one request. `calls`: there are too many; `chars`: the request is too long; `answer`:
 * the answer would be too large.
 */
export class BatchRefused extends EndpointFailure {
  readonly because: 'calls' | 'chars' | 'answer'

  constructor(host: string, reason: string, because: 'calls' | 'chars' | 'answer') {
    super(host, reason, 'too-much')
    this.because = because
  }
}

/** No answer in time: the calls may have been too much for the endpoint. */
export class TimedOut extends EndpointFailure {}

/**
 * An endpoint failed at one read but serves others of that block. It says nothing about the endpoint or the other
 * reads.
 */
export class ReadFailure extends EndpointFailure {}

/** An endpoint serves no logs: it refuses those of its last block, too. */
export class NoLogs extends EndpointFailure {
  constructor(host: string, reason: string) {
    super(host, `serves no logs, not even of its last block: it ${reason}`, 'no-logs')
  }
}

/** An endpoint was asked and does not have a part of an old block: found by its answers, not by its words. */
export class StateMissing extends EndpointFailure {
  constructor(host: string, reason: string) {
    super(host, reason, 'pruned')
  }
}

const reasonCharsMax = 160

/** A node's message made safe to show: one short line without URLs and without the secret parts of its own URL. */
export function redacted(text: PeerText, url: string): string {
  const line = text
    .split(/\s+/)
    .map(word => word.replace(/(?:\b[a-z][a-z0-9+.]{0,20})?:\/\/.+/i, '(URL)'))
    .join(' ')
  const secrets = isNetworkUrl(url) ? secretPartsOf(url) : []
  const clean = secrets.reduce((rest, secret) => rest.replaceAll(secret, '(redacted)'), line)
  return shortened(clean, reasonCharsMax)
}

/** Faults of reading a chain. Each names the chain and hosts, never a URL. */

/** The Fault when every endpoint failed. */
export function allFailed(chain: string, failures: readonly EndpointFailure[]): Fault {
  const text = failures.map(({ message }) => message).join('; ')
  const message = failures.length === 1 ? `${chain}: ${text}` : `no endpoint of ${chain} could be read: ${text}`
  const facts = { chain, hosts: failures.map(({ host }) => host).join(', ') }
  const hostFailures = failures.filter(({ kind }) => kind !== 'no-address')
  if (failures.length > 0 && hostFailures.length === 0) {
    return new Fault('chain-unreachable', message, { facts, fix: addressAdvice })
  }
  const behind = failures.find(({ kind }) => kind === 'behind')
  if (behind) return new Fault('chain-behind', message, { facts, fix: behindAdvice })
  if (hostFailures.every(({ kind }) => kind === 'wrong-id')) {
    return new Fault('chain-wrong-id', message, { facts, fix: wrongIdAdvice })
  }
  const alone = failures.find(isOfRead)
  if (alone) return new Fault('chain-call-failed', message, { facts, fix: adviceOfRead(alone.kind) })
  if (hostFailures.length > 0 && hostFailures.every(({ kind }) => kind === 'pruned')) {
    return new Fault('chain-state-missing', message, { facts, fix: archiveAdvice })
  }
  const telling = tellingKinds.flatMap(kind => hostFailures.find(failure => failure.kind === kind) ?? [])
  return new Fault('chain-unreachable', message, { facts, fix: adviceOf(telling[0] ?? hostFailures[0]) })
}

/** Kinds of which one endpoint is enough to say what the chain's endpoints lack. */
const tellingKinds: readonly FailureKind[] = ['no-logs', 'wrong-block', 'pruned', 'recent-state']

/** Instruction about an endpoint that fails at everything: the same in the log, in `collect` and in `doctor`. */
export function adviceOf(failure: EndpointFailure | undefined): string {
  if (failure instanceof TimedOut) return loadAdvice
  return failure?.fix ?? advice[failure?.kind ?? 'unreachable'] ?? reachAdvice
}

const addressAdvice =
  'put the address where the configuration says: a file is read again each minute, a variable only at the start'
/** Whether a failure is about the read, not about when or how often the endpoint was asked. */
function isOfRead(failure: EndpointFailure): boolean {
  return failure instanceof ReadFailure && failure.kind !== 'rate' && failure.kind !== 'unreachable'
}

const archiveAdvice = 'a past hour needs an archive node, which keeps old state: put one under rpc:'
const behindAdvice =
  'check that the node is in sync; a chain that makes blocks only when it is used is read as soon as its next block is there'
/** An id that fits a node of another chain would let its values stand for those of this one. */
const wrongIdAdvice =
  'put a node of the chain that is meant under rpc:, and change its id only where that is not the number of that chain'
const syncAdvice =
  'the node does not have the state of one of its last blocks: check that it is in sync; a past hour needs an archive node'
function adviceOfRead(kind: FailureKind): string {
  if (kind === 'too-much') return tooMuchAdvice
  if (kind === 'slow') return slowAdvice
  if (kind === 'wrong-block') return wrongBlockAdvice
  return kind === 'pruned' ? damagedAdvice : callAdvice
}

const slowAdvice =
  'other reads are answered in time, this one takes the node too long: read less at once, or raise the limits of the node'
const damagedAdvice =
  'other reads of that block are answered, so the node has its state in part: a past hour needs an archive node: put one under rpc:'
const callAdvice = 'other reads are answered, so this one is at fault: check address, chain, ABI and arguments'
const tooMuchAdvice = 'this read is too much for one call: read less at once, or raise the limits of the node'
const noLogsAdvice =
  'put a node that serves eth_getLogs, and all logs, under rpc:; as a second one it is asked only for logs'
const wrongBlockAdvice =
  'put an endpoint under rpc: that reads the block it is asked for, by its hash, too; where all calls of a chain see another block than it has, multicall of the chain names the contract to read through'
const reachAdvice = 'check that the node runs and can be reached from here; a second endpoint under rpc: takes over'
const loadAdvice = 'check the load of the node; a second endpoint under rpc: takes over'

/** Advice where a key is refused. */
export const keyAdvice = 'check the key in the address or the headers of this endpoint, and what its plan allows'
/** Advice where the plan of a provider is used up, or does not include something. */
export const planAdvice =
  'look up at the provider what the plan of this endpoint includes, and what of it is used up; a second endpoint under rpc: takes over'

const ofSecond = /\b(rps|(per|a|\/) ?sec(ond)?)\b|\/s\b/i
const ofKey =
  /\bapi[ _-]?(key|token)|\b(invalid|missing|expired|unknown|no|access|app|project) (\w{1,20} )?key\b|\bauth(\b|ori[sz]|enticat)|unauthori[sz]ed|whitelist|allow-?list|\bproject\b|forbidden/i
const ofPlan =
  /\bbilling\b|\bplans?\b|\btier\b|\bsubscription\b|\bpayment\b|\bmonth(ly)?\b|\b(a|per|each|this|24) ?days?\b|\bdaily\b/i

/** Advice where an error names the key or the plan at a provider; absent for other words. Pure. */
export function accountAdvice(message: PeerText): string | undefined {
  if (ofSecond.test(message)) return undefined
  if (ofPlan.test(message)) return planAdvice
  return ofKey.test(message) && !/\brate\b/i.test(message) ? keyAdvice : undefined
}

/** Advice about an endpoint that fails at everything, by the kind of its failure. */
const advice: Readonly<Partial<Record<FailureKind, string>>> = {
  refused:
    'the node answers, but only errors: look into the log of the node, or ask its provider; a second endpoint under rpc: takes over',
  'unknown-block':
    'the node does not know a block that it should have: check that it is in sync, and each of them where several answer at one address',
  rate: 'set rate: of this endpoint to what the plan of the provider allows, or put a second one under rpc:',
  slow: loadAdvice,
  behind: behindAdvice,
  'wrong-id': wrongIdAdvice,
  'too-much': tooMuchAdvice,
  pruned: archiveAdvice,
  'recent-state': syncAdvice,
  'no-logs': noLogsAdvice,
  'wrong-block': wrongBlockAdvice,
}

/** The Fault when the node is up to date but the chain has no block past the hour. */
export function chainBehind(chain: string, hour: Hour, head: AsOfBlock): Fault {
  return new Fault('chain-behind', `${chain} has no block past ${hourText(hour)} yet`, {
    facts: { chain, head: Number(head.number), headAt: secondsText(head.timestampSeconds) },
  })
}

/** The Fault for an hour before the chain's first block. */
export function beforeFirstBlock(chain: string, hour: Hour, first: AsOfBlock): Fault {
  return new Fault('chain-before-first-block', `${chain} had no block yet at ${hourText(hour)}`, {
    facts: { chain, hour: hourText(hour), firstBlockAt: secondsText(first.timestampSeconds) },
    fix: 'take a later hour, or set since of the collector to one; start a local chain further in the past',
  })
}

/**
 * The Fault when the caller's signal aborted a read for a reason that is not a Fault. A deadline means that the node is
 * slow.
 */
export function stoppedWhile(chain: string, host: string, reason: unknown): Fault {
  if (reason instanceof Error && reason.name === 'TimeoutError') {
    return new Fault('chain-unreachable', `${chain}: ${host} had not answered at the deadline`, {
      facts: { chain, hosts: host },
      fix: loadAdvice,
    })
  }
  return new Fault('stopped', `reading ${chain} was stopped before it was done`, { facts: { chain, hosts: host } })
}

/** The Fault for logs of an address at which there was no contract. */
export function noContract(chain: string, address: string): Fault {
  return new Fault('chain-call-undecodable', `${address} has no events: no contract there at that hour`, {
    facts: { chain, contract: address },
    fix: 'check address and chain; for hours before the contract was deployed, set since: of the collector',
  })
}

/** The Fault when one host has logs of an hour, another none, and nothing shows who is right. */
export function logsDisputed(chain: string, none: string, some: string, count: number): Fault {
  return new Fault('chain-disagreement', `${chain}: ${some} answers ${count} logs of the hour, and ${none} none`, {
    facts: { chain, hosts: `${none}, ${some}` },
    fix: 'compare with an explorer, and remove the endpoint that is wrong',
  })
}

/** The Fault for a defect of ours. Only the error's class is shown: a library's message may hold a URL. */
export function unexpected(chain: string, error: unknown): Fault {
  const kind = error instanceof Error ? error.name : typeof error
  return new Fault('chain-unreachable', `reading ${chain} failed in an unexpected way`, {
    facts: { chain, error: kind },
  })
}

/** Seconds since 1970 as text, also for instants that `Date` cannot hold. */
export function secondsText(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `${seconds} s` : `${date.toISOString().slice(0, 19)}Z`
}
