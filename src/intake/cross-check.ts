import { Fault, type FaultCode, type FaultRecord, faultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import { labelOf } from '../model/metric.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { RunOutcome } from '../runner/runner.ts'
import { type Collected, checked, type HourToRead, nothing } from './collect.ts'
import type { PastOf } from './past.ts'

/** A chain whose endpoints can be compared. */
export interface ComparedChain {
  /** As `eth_chainId` answers it. */
  readonly id: number
  readonly name: string
  /** Number of hosts that must give the same values. */
  readonly agree: number
  /** Host that served an hour in a run: 0 is the first one, 1 the first of another host. `undefined` while none has. */
  servedBy(hour: Hour, run: number): string | undefined
  /** Puts a host into quarantine: it is asked last for a while, and not for that hour again. */
  quarantine(host: string, hour: Hour, reason: string): void
}

/** Result of a run that answers, at least in part. */
export interface RunAnswer extends RunOutcome {
  /** Host that served each chain, by the chain's id. */
  readonly hosts: Readonly<Record<string, string>>
  /** Why it failed as a whole: the contract reverts. */
  readonly failed?: Fault
}

/** A run, and what other hosts answered so far. */
export interface AskedRun {
  readonly run: HourToRead
  readonly first: RunAnswer
  /** Of one more host each. */
  readonly opinions: readonly RunAnswer[]
  /** Why the last one that was asked does not answer; absent where it does. */
  readonly silence?: Fault | undefined
  /** Whether there is another host to ask. */
  readonly isMore: boolean
  /** Whether the hour was read again, since a host was contradicted. */
  readonly isReadAgain: boolean
}

/** A host that more of the others contradict. */
export interface WrongHost {
  readonly chain: ComparedChain
  readonly host: string
  readonly run: HourToRead
  readonly reason: string
}

/** Judgement of a run by the answers of the hosts asked so far. */
export interface Judgement {
  /** The result as far as it is known. */
  readonly collected: Collected
  /** `another`: one more host is to be asked. `again`: the hour is to be read again, without the wrong host. Absent: it is final. */
  readonly next?: 'another' | 'again'
  readonly wrong?: readonly WrongHost[]
  /** Jumps that another host has confirmed. */
  readonly confirmed?: readonly Accepted[]
}

/** Difference of two runs of a collector for an hour. */
export interface Disagreement {
  /** Labels that have another answer: a value, or that the contract reverts. */
  readonly labels: readonly string[]
  /** Chains that were read at different blocks. */
  readonly chainIds: readonly number[]
}

/** The part of a run that answers. */
type Answers = Pick<RunOutcome, 'readings' | 'pins'> & Partial<Pick<RunOutcome, 'failures'>>

/** A label, or the id of a chain: its block. */
type Topic = string | number

/** Compares two runs of a collector for an hour. Whatever has no answer in one of them does not differ. Pure. */
export function disagreementOf(one: Answers, other: Answers): Disagreement {
  const differs = (topic: Topic) => {
    const [first, second] = [answerOf(one, topic), answerOf(other, topic)]
    return first !== undefined && second !== undefined && !Object.is(first, second)
  }
  const labels = [...Object.keys(one.readings), ...Object.keys(one.failures ?? {})]
  return { labels: labels.filter(differs), chainIds: one.pins.map(({ chainId }) => chainId).filter(differs) }
}

/**
 * The answer of the contract or the chain: a value, that the call reverts, or a block. A node that is down, pruned or
 * limited has none.
 */
function answerOf({ readings, failures = {}, pins }: Answers, topic: Topic): number | string | undefined {
  if (typeof topic === 'number') return pins.find(({ chainId }) => chainId === topic)?.block.hash.toLowerCase()
  const value = Object.hasOwn(readings, topic) ? readings[topic] : undefined
  // −0 is sent as 0.
  if (value !== undefined) return value === 0 ? 0 : value
  return failures[topic]?.code === reverts ? 'reverted' : undefined
}

const reverts: FaultCode = 'chain-call-reverted'

/** Hosts for and against the first run, in one topic. */
interface Vote {
  readonly topic: Topic
  /** Hosts with the answer of the first run, that one included. */
  readonly same: number
  readonly against: readonly RunAnswer[]
  /** Hosts with one and the same other answer, at most. */
  readonly otherwise: number
}

function votesOn(topics: readonly Topic[], first: RunAnswer, others: readonly RunAnswer[]): Vote[] {
  const differing = others.map(other => {
    const { labels, chainIds } = disagreementOf(first, other)
    return new Set<Topic>([...labels, ...chainIds])
  })
  return topics.map(topic => {
    const against = others.filter((_, place) => differing[place]?.has(topic))
    const same = others.filter((other, place) => answerOf(other, topic) !== undefined && !differing[place]?.has(topic))
    const byAnswer = Map.groupBy(against, other => answerOf(other, topic))
    const otherwise = Math.max(0, ...[...byAnswer.values()].map(({ length }) => length))
    return { topic, same: 1 + same.length, against, otherwise }
  })
}

/**
 * Judges a run by what other hosts answered. Without `agree` they are asked about a jump alone: the same value releases
 * it, another one contradicts the host that served the hour, and without an answer it stays held. With `agree` each
 * answer needs as many hosts; who is wrong is known only where as many contradict it. Pure.
 */
export function judged(asked: AskedRun, chains: readonly ComparedChain[], pastOf: PastOf): Judgement {
  const { run, first, opinions, isMore } = asked
  const collected = first.failed ? nothing(first.failed) : checked(run, first, pastOf)
  const read = chains.filter(chain => hasRead(chain, first))
  const agree = Math.max(1, ...read.map(chain => chain.agree))
  const labels = agree > 1 ? answeredLabels(first) : jumpsOf(collected)
  // A jump may come from a chain that has no other host.
  const isCompared = read.length > 0 && (agree > 1 || read.length >= first.pins.length)
  if (!isCompared || labels.length === 0) return { collected }
  const need = Math.max(2, agree)
  const votes = votesOn([...labels, ...read.map(({ id }) => id)], first, opinions)
  const isOpen = ({ topic, same, against, otherwise }: Vote) =>
    same < need && otherwise < need && (typeof topic === 'string' || against.length > 0)
  if (isMore && votes.some(isOpen)) return { collected, next: 'another' }
  return settled({ ...asked, collected, read, agree, need, votes, pastOf })
}

function answeredLabels(first: RunAnswer): string[] {
  const labels = Object.keys({ ...first.readings, ...first.failures })
  return labels.filter(label => answerOf(first, label) !== undefined)
}

function jumpsOf({ accepted }: Collected): string[] {
  return accepted.flatMap(({ metric, hold }) => (hold?.kind === 'jump' ? [labelOf(metric)] : []))
}

interface Settling extends AskedRun {
  readonly collected: Collected
  readonly read: readonly ComparedChain[]
  readonly agree: number
  /** Number of hosts that must give the same answer. */
  readonly need: number
  readonly votes: readonly Vote[]
  readonly pastOf: PastOf
}

function settled(asked: Settling): Judgement {
  const { run, first, collected, read, agree, need, votes, isReadAgain } = asked
  const contradicted = votes.filter(({ same, against }) => same < need && against.length > 0)
  const reason = contradicted.length > 0 ? disagreementText(asked, contradicted) : ''
  // Of a jump the implausible value is doubted, of any other value only what as many hosts contradict.
  const doubted = agree > 1 ? contradicted.filter(({ otherwise }) => otherwise >= need) : contradicted
  const own = wrongHosts(doubted, read, () => [first]).map(one => ({ ...one, run, reason }))
  if (own.length > 0) {
    return { collected: nothing(disagreement(reason)), wrong: own, ...(!isReadAgain && { next: 'again' }) }
  }
  const agreed = votes.filter(({ same }) => same >= need)
  const wrong = wrongHosts(agreed, read, ({ against }) => against).map(one => {
    return { ...one, run, reason: disagreementText(asked, agreed) }
  })
  if (agree === 1) {
    const why = (label: string) => (reason === '' ? silenceAbout(label, asked).message : reason)
    const isAgreed = (label: string) => agreed.some(({ topic }) => topic === label)
    return { ...confirmedJumps(collected, label => (isAgreed(label) ? undefined : why(label))), wrong }
  }
  if (contradicted.some(({ topic }) => typeof topic === 'number')) {
    return { collected: nothing(disagreement(reason)), wrong }
  }
  const lost = lostLabels(asked, reason)
  if (first.failed && Object.keys(lost).length === 0) return { collected, wrong }
  const readings = Object.fromEntries(Object.entries(first.readings).filter(([label]) => !lost[label]))
  const left = { ...first, readings, failures: { ...first.failures, ...lost } }
  return { ...confirmedJumps(checked(run, left, asked.pastOf), () => undefined), wrong }
}

/**
 * The hosts of some runs, where it is known which chain is meant: the one whose blocks differ, or the only one that was
 * read.
 */
function wrongHosts(
  votes: readonly Vote[],
  read: readonly ComparedChain[],
  of: (vote: Vote) => readonly RunAnswer[],
): { readonly chain: ComparedChain; readonly host: string }[] {
  const blocks = votes.filter(({ topic, against }) => typeof topic === 'number' && against.length > 0)
  const meant = blocks.length > 0 ? blocks : votes
  const suspects = blocks.length > 0 ? read.filter(({ id }) => blocks.some(({ topic }) => topic === id)) : read
  const [chain] = suspects
  if (!chain || suspects.length > 1) return []
  const hosts = meant.flatMap(vote => of(vote).flatMap(({ hosts }) => hosts[chain.id] ?? []))
  return [...new Set(hosts)].map(host => ({ chain, host }))
}

/** Why labels fail that fewer hosts agree on than must. */
function lostLabels(asked: Settling, reason: string): Record<string, FaultRecord> {
  const lost: Record<string, FaultRecord> = {}
  for (const { topic: label, same, against } of asked.votes) {
    if (typeof label === 'number' || same >= asked.need) continue
    const fault = against.length > 0 ? disagreement(reason) : notAsMany(asked.agree, silenceAbout(label, asked))
    lost[label] = faultRecord(fault)
  }
  return lost
}

/** Holds of jumps are removed, or say why no other host has confirmed them. @param why of a label; `undefined` where one has */
function confirmedJumps(
  collected: Collected,
  why: (label: string) => string | undefined,
): Pick<Judgement, 'collected' | 'confirmed'> {
  const confirmed: Accepted[] = []
  const accepted = collected.accepted.map((one): Accepted => {
    const { metric, hold } = one
    if (hold?.kind !== 'jump') return one
    const reason = why(labelOf(metric))
    if (reason !== undefined) {
      return { metric, hold: { ...hold, reason: `${hold.reason}; not confirmed by another host: ${reason}` } }
    }
    confirmed.push(one)
    return { metric }
  })
  return { collected: { ...collected, accepted }, confirmed }
}

/** Why no other host answers about a label. */
function silenceAbout(label: string, { read, opinions, silence }: Settling): FaultRecord {
  const silent = opinions.findLast(opinion => answerOf(opinion, label) === undefined)
  const failure = silent?.failures[label]
  if (failure) return failure
  if (silence) return faultRecord(silence)
  const host = read.flatMap(({ id }) => silent?.hosts[id] ?? []).join(' and ') || 'the other host'
  return { code: 'chain-unreachable', message: `${host} gives no value`, facts: {} }
}

/** Faults of the other host that say when to try again; any other one only means that too few hosts answer. */
const passing: ReadonlySet<FaultCode> = new Set(['chain-behind', 'chain-unreachable', 'chain-reorganized'])

function notAsMany(agree: number, why: FaultRecord): Fault {
  const code = passing.has(why.code) ? why.code : 'chain-disagreement'
  // Its own advice is that a second endpoint takes over.
  const fix = code === 'chain-unreachable' ? 'mend that endpoint, or put one of another host under rpc:' : why.fix
  return new Fault(code, `${agree} hosts must agree, and not as many endpoints answer: ${why.message}`, {
    facts: why.facts,
    ...(fix !== undefined && { fix }),
  })
}

function disagreement(reason: string): Fault {
  return new Fault('chain-disagreement', reason, {
    fix: 'compare with an explorer, and take the node that is wrong out of rpc:',
  })
}

/** The hosts with what each says of the first topic in dispute: of a block, where blocks differ. */
function disagreementText({ first, opinions, read }: Settling, votes: readonly Vote[]): string {
  const disputed = votes.filter(({ against }) => against.length > 0)
  const { topic = '' } = disputed.find(vote => typeof vote.topic === 'number') ?? disputed[0] ?? {}
  const isBlock = typeof topic === 'number'
  const chains = isBlock ? read.filter(({ id }) => id === topic) : read
  const said = [first, ...opinions].flatMap(answered => {
    const answer = answerOf(answered, topic)
    if (answer === undefined) return []
    const host = chains.flatMap(({ id }) => answered.hosts[id] ?? []).join(' and ') || 'a host'
    return [answer === 'reverted' ? `${host} reverts` : `${host} ${isBlock ? 'has' : 'gives'} ${answer}`]
  })
  const what = isBlock ? `the block of ${chains.map(({ name }) => name).join()}` : topic
  const more = isBlock || disputed.length < 2 ? '' : `; and about ${disputed.length - 1} more of its labels`
  return `endpoints of different hosts disagree about ${what}: ${said.join(', ')}${more}`
}

/**
 * A run's answers, with the hosts that gave them. One that failed as a whole because the contract reverts answers that.
 * @returns the fault where nothing is answered
 */
export function answered(
  { description }: HourToRead,
  result: RunOutcome | Fault,
  hosts: RunAnswer['hosts'],
): RunAnswer | Fault {
  if (!(result instanceof Fault)) return { ...result, hosts }
  if (result.code !== reverts) return result
  const labels = Object.keys(description.metrics)
  const failures = Object.fromEntries(labels.map(label => [label, faultRecord(result)]))
  return { readings: {}, failures, pins: [], hosts, failed: result }
}

/** Whether a run has read a chain. One that failed as a whole has no blocks, but its fault names the chain. */
function hasRead({ id, name }: ComparedChain, { pins, failed }: RunAnswer): boolean {
  return failed ? failed.facts['chain'] === name : pins.some(({ chainId }) => chainId === id)
}
