import type { CollectorConfig } from '../config/config.ts'
import { Fault, type FaultCode, type FaultRecord, faultRecord } from '../model/fault.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { labelOf } from '../model/metric.ts'
import type { Accepted } from '../outbox/contract/metrics.ts'
import type { DescribeResult, Runner, RunOutcome } from '../runner/runner.ts'
import type { Log } from '../telemetry/log.ts'
import { isDerived } from './derived/derived-values.ts'
import { collectDerived } from './derived-hours.ts'
import { type HourClock, objection } from './hour-clock.ts'
import {
  asFault,
  type Collected,
  checked,
  type HourToRead,
  metricsOf,
  nothing,
  type PastOf,
  type PastStore,
  readPasts,
  WindowPast,
} from './validate.ts'

interface HourReaderDeps {
  readonly runner: Runner
  /** Each reads an hour from endpoints of other hosts than those before it. */
  readonly otherHosts: readonly Pick<Runner, 'collect' | 'stop' | 'doubtLists'>[]
  /** The chains that have endpoints of several hosts. */
  readonly chains: readonly ComparedChain[]
  /** The current hour: a collector that reads only the present is asked for no other. */
  readonly clock: HourClock
  readonly log: Log
  /** All collectors: a derived value depends on others. Default: those that are read together. */
  readonly configured?: readonly CollectorConfig[]
}

/** A run that was asked for, and how far it is. */
interface HourUnderWay {
  readonly run: HourToRead
  readonly first: RunAnswer | Fault
  readonly opinions: readonly RunAnswer[]
  readonly silence?: Fault
  readonly isReadAgain: boolean
  /** Whether the lists that it is over were read from their beginning, since hosts disagreed. */
  readonly isOfFreshLists: boolean
  /** Sentences about hosts that were contradicted before it was read again. */
  readonly contradicted: readonly string[]
}

/**
 * The only way to read an hour, whatever is made of it: it runs the collector, validates the result by its bounds and
 * its history, and asks other hosts where `agree` or a jump demands it.
 */
export class HourReader {
  readonly #deps: HourReaderDeps

  constructor(deps: HourReaderDeps) {
    this.#deps = deps
  }

  /** Loads the collector. Rejects with Fault `collector-unusable` (or `collector-hung`) when it cannot be loaded. */
  describe(collector: CollectorConfig): Promise<DescribeResult> {
    return this.#deps.runner.describe(collector)
  }

  /** Ends every process; resolves when they have ended. */
  async stop(): Promise<void> {
    const { runner, otherHosts } = this.#deps
    await Promise.all([runner, ...otherHosts].map(one => one.stop()))
  }

  /** Reads one hour of one collector. Rejects with the outbox's error alone. */
  async collect(run: HourToRead, pasts: PastStore): Promise<Collected> {
    const [result] = await this.collectTogether([run], pasts)
    return result ?? nothing(new Fault('stopped', 'it was not read'))
  }

  /**
   * Starts runs in one tick, so that their reads share requests, and so for each further host. Whether a value is held
   * does not depend on how many are read together. Rejects with the outbox's error alone.
   *
   * @param runs of a collector in the order of their hours
   * @returns the results in the order of the runs
   */
  async collectTogether(runs: readonly HourToRead[], pasts: PastStore): Promise<Collected[]> {
    const derivedRuns = runs.filter(({ collector }) => isDerived(collector))
    const others = runs.filter(({ collector }) => !isDerived(collector))
    const [readEnds, derivedEnds] = await Promise.all([
      this.#readTogether(others, pasts),
      collectDerived(derivedRuns, pasts, this.#deps.configured),
    ])
    const [reads, values] = [readEnds.values(), derivedEnds.values()]
    return runs.flatMap(({ collector }) => (isDerived(collector) ? values : reads).next().value ?? [])
  }

  async #readTogether(runs: readonly HourToRead[], pasts: PastStore): Promise<Collected[]> {
    let readings = await Promise.all(runs.map(run => this.#begun(run)))
    for (;;) {
      const fresh = await this.#withFreshLists(readings)
      if (fresh) {
        readings = fresh
        continue
      }
      const judgements = await this.#judged(readings, pasts)
      this.#quarantine(judgements.flatMap(({ next, wrong = [] }) => (next === 'again' ? wrong : [])))
      if (judgements.every(({ next }) => next === undefined)) {
        this.#quarantine(judgements.flatMap(({ wrong = [] }) => wrong))
        this.#forget(readings.filter((_, place) => isDisputed(judgements[place])))
        return judgements.map(({ result, confirmed = [], wrong = [] }, place) => {
          for (const { metric, hold } of confirmed) this.#logConfirmed(metric.id, hold?.reason, readings[place])
          const contradicted = [...(readings[place]?.contradicted ?? []), ...reasonsOf(wrong)]
          return { ...this.#inTime(result, runs[place]), ...(contradicted.length > 0 && { contradicted }) }
        })
      }
      const reads = readings.map(async (reading, place) => {
        const { next, wrong = [] } = judgements[place] ?? {}
        if (next === 'again') {
          const again = await this.#begun(reading.run, reasonsOf(wrong))
          return { ...again, isOfFreshLists: reading.isOfFreshLists }
        }
        return next === 'another' ? this.#another(reading) : reading
      })
      readings = await Promise.all(reads)
    }
  }

  /**
   * Reads again, once, what hosts disagree about, where lists that it is over were remembered: the memory may be wrong, and no
   * host.
   *
   * @returns undefined where no list was remembered
   */
  async #withFreshLists(readings: readonly HourUnderWay[]): Promise<HourUnderWay[] | undefined> {
    const { runner, otherHosts } = this.#deps
    const hasDispute = ({ first, opinions, isOfFreshLists }: HourUnderWay) =>
      !isOfFreshLists &&
      !(first instanceof Fault) &&
      opinions.some(opinion => disagreementOf(first, opinion).labels.length > 0)
    const collectors = new Set(readings.filter(hasDispute).map(({ run }) => run.collector))
    if (collectors.size === 0) return undefined
    const doubts = [...collectors].flatMap(collector =>
      [runner, ...otherHosts].map(each => each.doubtLists?.(collector) ?? false),
    )
    if (!(await Promise.all(doubts)).includes(true)) return undefined
    return Promise.all(
      readings.map(async reading =>
        hasDispute(reading) ? { ...(await this.#begun(reading.run)), isOfFreshLists: true } : reading,
      ),
    )
  }

  async #begun(run: HourToRead, contradictedHosts: readonly string[] = []): Promise<HourUnderWay> {
    const { runner, clock } = this.#deps
    const { collector, description, hour } = run
    const early = objection(clock, description, hour)
    const result = early ?? (await runner.collect(collector, hour).catch((error: unknown) => asFault(error)))
    const first = answered(run, result, this.#hostsOf(run, 0))
    return {
      run,
      first,
      opinions: [],
      isReadAgain: contradictedHosts.length > 0,
      isOfFreshLists: false,
      contradicted: contradictedHosts,
    }
  }

  /** Asks an endpoint of one more host. */
  async #another(reading: HourUnderWay): Promise<HourUnderWay> {
    const { run, first, opinions } = reading
    const place = opinions.length
    const runner = this.#deps.otherHosts[place]
    if (!runner || first instanceof Fault) return reading
    const result = await runner.collect(run.collector, run.hour).catch((error: unknown) => asFault(error))
    const opinion = answered(run, result, this.#hostsOf(run, place + 1))
    if (opinion instanceof Fault) return { ...reading, silence: opinion }
    const before = [first, ...opinions].flatMap(({ hosts }) => Object.entries(hosts))
    const twice = before.find(([id, host]) => opinion.hosts[id] === host)
    // The first run may have moved on to that host meanwhile: it has no second opinion.
    if (twice) return { ...reading, silence: new Fault('chain-unreachable', `no other host than ${twice[1]} answers`) }
    return { ...reading, opinions: [...opinions, opinion] }
  }

  #hostsOf({ hour }: HourToRead, run: number): Record<string, string> {
    return Object.fromEntries(
      this.#deps.chains.flatMap(chain => {
        const host = chain.servedBy(hour, run)
        return host === undefined ? [] : [[chain.id, host]]
      }),
    )
  }

  async #judged(readings: readonly HourUnderWay[], pasts: PastStore) {
    const { chains, otherHosts } = this.#deps
    const metrics = readings.flatMap(({ run: { collector, hour, description }, first }) =>
      first instanceof Fault ? [] : metricsOf(collector, hour, description, first),
    )
    const past = new WindowPast(await readPasts(pasts, metrics))
    return readings.map(reading => {
      const { first, opinions, silence } = reading
      if (first instanceof Fault) return { result: nothing(first) }
      const isMore = !silence && opinions.length < otherHosts.length
      const asked: AskedRun = { ...reading, first, isMore }
      const judgement = judged(asked, chains, past.of)
      past.add(judgement.result.acceptedValues)
      return judgement
    })
  }

  /** A result that came when the hour had passed is of another hour, where its collector reads only the present. */
  #inTime(result: Collected, run: HourToRead | undefined): Collected {
    const late = run && objection(this.#deps.clock, run.description, run.hour)
    return late ? nothing(result.fault ?? late) : result
  }

  /** One line for each host, however many hours it served. */
  #quarantine(wrong: readonly WrongHost[]): void {
    for (const { chain, host, run, reason } of wrong) chain.quarantine(host, run.hour, reason)
    for (const [one, ...otherHours] of Map.groupBy(wrong, ({ chain, host }) => `${chain.name} ${host}`).values()) {
      if (!one) continue
      const { chain, host, run, reason } = one
      const facts = { chain: chain.name, endpoint: host, collector: run.collector.id, hour: hourText(run.hour), reason }
      this.#deps.log.error(
        { ...facts, ...(otherHours.length > 0 && { hours: otherHours.length + 1 }) },
        'endpoint in quarantine: another host answers otherwise, the hour is read again',
      )
    }
  }

  /** The next attempt compares what the hosts answer then, not what they answered now. */
  #forget(readings: readonly HourUnderWay[]): void {
    const hours = new Set(readings.map(({ run }) => run.hour))
    for (const hour of hours) for (const chain of this.#deps.chains) chain.forget(hour)
  }

  #logConfirmed(metric: string, reason: string | undefined, reading: HourUnderWay | undefined): void {
    if (!reading || reading.first instanceof Fault) return
    const endpoint = Object.values(reading.first.hosts).join(', ')
    const facts = { metric, hour: hourText(reading.run.hour), reason, endpoint }
    this.#deps.log.warn(facts, 'a jump is confirmed by an endpoint of another host: it is sent')
  }
}

/** Whether hosts disagree about a result, so that it is not collected. */
function isDisputed(judgement: Judgement | undefined): boolean {
  const { fault, failures = {} } = judgement?.result ?? {}
  return [fault, ...Object.values(failures)].some(failure => failure?.code === 'chain-disagreement')
}

function reasonsOf(wrong: readonly WrongHost[]): string[] {
  return wrong.map(({ host, reason }) => `${host} is contradicted: ${reason}`)
}

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
  /** Forgets what all hosts have answered of an hour, so that a later run asks them again. */
  forget(hour: Hour): void
}

/** Result of a run that answers, at least in part. */
interface RunAnswer extends RunOutcome {
  /** Host that served each chain, by the chain's id. */
  readonly hosts: Readonly<Record<string, string>>
  /** Why it failed as a whole: the contract reverts. */
  readonly failed?: Fault
}

/** A run, and what other hosts answered so far. */
interface AskedRun {
  readonly run: HourToRead
  readonly first: RunAnswer
  /** Answers of further hosts, one each. */
  readonly opinions: readonly RunAnswer[]
  /** Why the last one that was asked does not answer; absent where it does. */
  readonly silence?: Fault | undefined
  /** Whether there is another host to ask. */
  readonly isMore: boolean
  /** Whether the hour was read again, since a host was contradicted. */
  readonly isReadAgain: boolean
}

/** A host that more of the others contradict. */
interface WrongHost {
  readonly chain: ComparedChain
  readonly host: string
  readonly run: HourToRead
  readonly reason: string
}

/** Judgement of a run by the answers of the hosts asked so far. */
interface Judgement {
  /** The result as far as it is known. */
  readonly result: Collected
  /** `another`: one more host is to be asked. `again`: the hour is to be read again, without the wrong host. Absent: it is final. */
  readonly next?: 'another' | 'again'
  readonly wrong?: readonly WrongHost[]
  /** Jumps that another host has confirmed. */
  readonly confirmed?: readonly Accepted[]
}

/** Difference of two runs of a collector for an hour. */
interface Disagreement {
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
export function disagreementOf(answers: Answers, other: Answers): Disagreement {
  const differs = (topic: Topic) => {
    const [first, second] = [answerOf(answers, topic), answerOf(other, topic)]
    return first !== undefined && second !== undefined && !Object.is(first, second)
  }
  const labels = [...Object.keys(answers.readings), ...Object.keys(answers.failures ?? {})]
  return { labels: labels.filter(differs), chainIds: answers.pins.map(({ chainId }) => chainId).filter(differs) }
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
  readonly opposingAnswers: readonly RunAnswer[]
  /** Hosts with one and the same other answer, at most. */
  readonly otherwise: number
}

function votesOn(topics: readonly Topic[], first: RunAnswer, opinions: readonly RunAnswer[]): Vote[] {
  const differingTopics = opinions.map(other => {
    const { labels, chainIds } = disagreementOf(first, other)
    return new Set<Topic>([...labels, ...chainIds])
  })
  return topics.map(topic => {
    const opposingAnswers = opinions.filter((_, place) => differingTopics[place]?.has(topic))
    const agreeingOpinions = opinions.filter(
      (other, place) => answerOf(other, topic) !== undefined && !differingTopics[place]?.has(topic),
    )
    const byAnswer = Map.groupBy(opposingAnswers, other => answerOf(other, topic))
    const otherwise = Math.max(0, ...[...byAnswer.values()].map(({ length }) => length))
    return { topic, same: 1 + agreeingOpinions.length, opposingAnswers, otherwise }
  })
}

/**
 * Judges a run by what other hosts answered. Without `agree` they are asked about a jump alone: the same value releases
 * it, another one contradicts the host that served the hour, and without an answer it stays held. With `agree` each
 * answer needs as many hosts; who is wrong is known only where as many contradict it. Pure.
 */
function judged(askedRun: AskedRun, chains: readonly ComparedChain[], pastOf: PastOf): Judgement {
  const { run, first, opinions, isMore } = askedRun
  const values = first.failed ? nothing(first.failed) : checked(run, first, pastOf)
  const chainsRead = chains.filter(chain => hasRead(chain, first))
  const agree = Math.max(1, ...chainsRead.map(chain => chain.agree))
  const labels = agree > 1 ? answeredLabels(first) : jumpsOf(values)
  // A jump may come from a chain that has no other host.
  const isCompared = chainsRead.length > 0 && (agree > 1 || chainsRead.length >= first.pins.length)
  if (!isCompared || labels.length === 0) return { result: values }
  const need = Math.max(2, agree)
  const votes = votesOn([...labels, ...chainsRead.map(({ id }) => id)], first, opinions)
  const isOpen = ({ topic, same, opposingAnswers, otherwise }: Vote) =>
    same < need && otherwise < need && (typeof topic === 'string' || opposingAnswers.length > 0)
  if (isMore && votes.some(isOpen)) return { result: values, next: 'another' }
  return settled({ ...askedRun, result: values, chainsRead, agree, need, votes, pastOf })
}

function answeredLabels(first: RunAnswer): string[] {
  const labels = Object.keys({ ...first.readings, ...first.failures })
  return labels.filter(label => answerOf(first, label) !== undefined)
}

function jumpsOf({ acceptedValues }: Collected): string[] {
  return acceptedValues.flatMap(({ metric, hold }) => (hold?.kind === 'jump' ? [labelOf(metric)] : []))
}

interface Settling extends AskedRun {
  readonly result: Collected
  readonly chainsRead: readonly ComparedChain[]
  readonly agree: number
  /** Number of hosts that must give the same answer. */
  readonly need: number
  readonly votes: readonly Vote[]
  readonly pastOf: PastOf
}

function settled(comparison: Settling): Judgement {
  const { run, first, result, chainsRead, agree, need, votes, isReadAgain } = comparison
  const lostVotes = votes.filter(({ same, opposingAnswers }) => same < need && opposingAnswers.length > 0)
  const reason = lostVotes.length > 0 ? disagreementText(comparison, lostVotes) : ''
  // An implausible jump is doubted where one host contradicts it, any other value only where as many hosts do.
  const doubted = agree > 1 ? lostVotes.filter(({ otherwise }) => otherwise >= need) : lostVotes
  const own = wrongHosts(doubted, chainsRead, () => [first]).map(one => ({ ...one, run, reason }))
  if (own.length > 0) {
    return { result: nothing(disagreement(reason)), wrong: own, ...(!isReadAgain && { next: 'again' }) }
  }
  const wonVotes = votes.filter(({ same }) => same >= need)
  const outvotedHosts = wrongHosts(wonVotes, chainsRead, ({ opposingAnswers }) => opposingAnswers).map(one => {
    return { ...one, run, reason: disagreementText(comparison, wonVotes) }
  })
  if (agree === 1) {
    const findReason = (label: string) => (reason === '' ? silenceAbout(label, comparison).message : reason)
    const isAgreed = (label: string) => wonVotes.some(({ topic }) => topic === label)
    const judgement = confirmedJumps(result, label => (isAgreed(label) ? undefined : findReason(label)))
    return { ...judgement, wrong: outvotedHosts }
  }
  if (lostVotes.some(({ topic }) => typeof topic === 'number')) {
    return { result: nothing(disagreement(reason)), wrong: outvotedHosts }
  }
  const failures = lostLabels(comparison, reason)
  if (first.failed && Object.keys(failures).length === 0) return { result, wrong: outvotedHosts }
  const readings = Object.fromEntries(Object.entries(first.readings).filter(([label]) => !failures[label]))
  const left = { ...first, readings, failures: { ...first.failures, ...failures } }
  return { ...confirmedJumps(checked(run, left, comparison.pastOf), () => undefined), wrong: outvotedHosts }
}

/**
 * The hosts of some runs, where it is known which chain is meant: the one whose blocks differ, or the only one that was
 * read.
 */
function wrongHosts(
  votes: readonly Vote[],
  chainsRead: readonly ComparedChain[],
  pickAnswers: (vote: Vote) => readonly RunAnswer[],
): { readonly chain: ComparedChain; readonly host: string }[] {
  const blocks = votes.filter(({ topic, opposingAnswers }) => typeof topic === 'number' && opposingAnswers.length > 0)
  const relevant = blocks.length > 0 ? blocks : votes
  const suspects =
    blocks.length > 0 ? chainsRead.filter(({ id }) => blocks.some(({ topic }) => topic === id)) : chainsRead
  const [chain] = suspects
  if (!chain || suspects.length > 1) return []
  const hosts = relevant.flatMap(vote => pickAnswers(vote).flatMap(({ hosts }) => hosts[chain.id] ?? []))
  return [...new Set(hosts)].map(host => ({ chain, host }))
}

/** Why labels fail that fewer hosts agree on than must. */
function lostLabels(comparison: Settling, reason: string): Record<string, FaultRecord> {
  const failures: Record<string, FaultRecord> = {}
  for (const { topic: label, same, opposingAnswers } of comparison.votes) {
    if (typeof label === 'number' || same >= comparison.need) continue
    const fault =
      opposingAnswers.length > 0 ? disagreement(reason) : notAsMany(comparison.agree, silenceAbout(label, comparison))
    failures[label] = faultRecord(fault)
  }
  return failures
}

/** Holds of jumps are removed, or say why no other host has confirmed them. @param findReason of a label; `undefined` where one has */
function confirmedJumps(
  values: Collected,
  findReason: (label: string) => string | undefined,
): Pick<Judgement, 'result' | 'confirmed'> {
  const confirmedValues: Accepted[] = []
  const judgedValues = values.acceptedValues.map((value): Accepted => {
    const { metric, hold } = value
    if (hold?.kind !== 'jump') return value
    const reason = findReason(labelOf(metric))
    if (reason !== undefined) {
      return { metric, hold: { ...hold, reason: `${hold.reason}; not confirmed by another host: ${reason}` } }
    }
    confirmedValues.push(value)
    return { metric }
  })
  return { result: { ...values, acceptedValues: judgedValues }, confirmed: confirmedValues }
}

/** Why no other host answers about a label. */
function silenceAbout(label: string, { chainsRead, opinions, silence }: Settling): FaultRecord {
  const silentAnswer = opinions.findLast(opinion => answerOf(opinion, label) === undefined)
  const failure = silentAnswer?.failures[label]
  if (failure) return failure
  if (silence) return faultRecord(silence)
  const host = chainsRead.flatMap(({ id }) => silentAnswer?.hosts[id] ?? []).join(' and ') || 'the other host'
  return { code: 'chain-unreachable', message: `${host} gives no value`, facts: {} }
}

/** Faults of the other host that say when to try again; any other one only means that too few hosts answer. */
const passing: ReadonlySet<FaultCode> = new Set(['chain-behind', 'chain-unreachable', 'chain-reorganized'])

function notAsMany(agree: number, fault: FaultRecord): Fault {
  const code = passing.has(fault.code) ? fault.code : 'chain-disagreement'
  // Its own advice is that a second endpoint takes over.
  const fix = code === 'chain-unreachable' ? 'mend that endpoint, or put one of another host under rpc:' : fault.fix
  return new Fault(code, `${agree} hosts must agree, and not as many endpoints answer: ${fault.message}`, {
    facts: fault.facts,
    ...(fix !== undefined && { fix }),
  })
}

function disagreement(reason: string): Fault {
  return new Fault('chain-disagreement', reason, {
    fix: 'compare with an explorer, and take the node that is wrong out of rpc:',
  })
}

/** The hosts with what each says of the first topic in dispute: of a block, where blocks differ. */
function disagreementText({ first, opinions, chainsRead }: Settling, votes: readonly Vote[]): string {
  const disputedVotes = votes.filter(({ opposingAnswers }) => opposingAnswers.length > 0)
  const { topic = '' } = disputedVotes.find(vote => typeof vote.topic === 'number') ?? disputedVotes[0] ?? {}
  const isBlock = typeof topic === 'number'
  const chains = isBlock ? chainsRead.filter(({ id }) => id === topic) : chainsRead
  const positions = [first, ...opinions].flatMap(opinion => {
    const answer = answerOf(opinion, topic)
    if (answer === undefined) return []
    const host = chains.flatMap(({ id }) => opinion.hosts[id] ?? []).join(' and ') || 'a host'
    return [answer === 'reverted' ? `${host} reverts` : `${host} ${isBlock ? 'has' : 'gives'} ${answer}`]
  })
  const what = isBlock ? `the block of ${chains.map(({ name }) => name).join()}` : topic
  const more = isBlock || disputedVotes.length < 2 ? '' : `; and about ${disputedVotes.length - 1} more of its labels`
  return `endpoints of different hosts disagree about ${what}: ${positions.join(', ')}${more}`
}

/**
 * A run's answers, with the hosts that gave them. A run that failed as a whole because the contract reverts counts as that
 * answer for each label.
 * @returns the fault where nothing is answered
 */
function answered(
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

/** Whether a run has read a chain. A run that failed as a whole has no blocks, but its fault names the chain. */
function hasRead({ id, name }: ComparedChain, { pins, failed }: RunAnswer): boolean {
  return failed ? failed.facts['chain'] === name : pins.some(({ chainId }) => chainId === id)
}
