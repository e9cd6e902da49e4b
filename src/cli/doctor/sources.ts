import { witnessesOf, writtenAt } from '../../app/clock-watch.ts'
import { type Connection, connect } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { endpointSource, nameOf, openChains } from '../../app/open-chains.ts'
import { readExistingOutbox } from '../../app/open-outbox.ts'
import { openHourReader } from '../../app/open-runner.ts'
import { adviceOf, EndpointFailure } from '../../chain/endpoint/failures.ts'
import {
  type CertificateCheck,
  checkEndpoint,
  type EndpointCheck,
  type StateAtAge,
} from '../../chain/read/node-questions.ts'
import { isAddress } from '../../chain/shapes.ts'
import { textsOf } from '../../config/checks.ts'
import {
  type ChainConfig,
  type CollectorConfig,
  type Config,
  type EndpointRef,
  type ProtocolConfig,
  secretsWritten,
} from '../../config/config.ts'
import { readSecret, resolveAddress } from '../../config/secret.ts'
import { probeAt, retryAfterAt } from '../../delivery/breaker.ts'
import type { ClockWitnesses } from '../../intake/hour-clock.ts'
import type { HourReader } from '../../intake/hour-reader.ts'
import { noPasts } from '../../intake/validate.ts'
import { clockReportMs, offSentence, writtenLater } from '../../model/clock.ts'
import { Fault, faultFromRecord, faultLine, isPermanent } from '../../model/fault.ts'
import { hostOf, shownHost } from '../../model/host.ts'
import { type Hour, hourAfter, hourAt } from '../../model/hour.ts'
import { valueAt } from '../../model/json.ts'
import { hourMs } from '../../model/limits.ts'
import { type Answer, foreignFact, isForeign, isOfPage, reasonOf } from '../../model/verdict.ts'
import { clockOf } from '../../model/waiting.ts'
import type { DestinationState } from '../../outbox/contract/delivery-store.ts'
import type { OutboxFileCheck } from '../../outbox/data-check.ts'
import { createLog } from '../../telemetry/log.ts'
import { collectParts, eventsIn, quietEvents } from '../collect-parts.ts'
import { daemonSentence } from '../daemon-role.ts'
import { comparedClock } from '../require-clock.ts'
import { selectCollectors } from '../selection.ts'
import { counted } from '../terminal.ts'
import { type Finding, failed, type Outcome, ok, usable, warning } from './here.ts'

const checkAddress = 'check service.url, and the network from here to it'

/** The service, its clock, each key, and each protocol: whether it is registered and takes what is sent. */
export async function serviceFindings(
  context: AppContext,
  outbox: Promise<OutboxFileCheck | undefined>,
): Promise<readonly Finding[]> {
  // Before the outbox is opened, which changes its file.
  const writtenMs = writtenAt(context.config)
  await using stack = new AsyncDisposableStack()
  const connection = await connect(context, stack)
  const perKey = await Promise.all(
    connection.destinations.map(async destination => keyFindings(context, connection, destination)),
  )
  const usableProtocols = perKey.filter(({ isUsable }) => isUsable).flatMap(({ protocols }) => protocols)
  const checked = await outbox
  const isReadable = checked?.damage === undefined && checked?.hidden === undefined
  const names = connection.destinations.map(({ name }) => name)
  const { deliveredIds, states, newestHour } = isReadable
    ? await storedOf(context, usableProtocols, names)
    : nothingStored
  const protocols = await Promise.all(
    usableProtocols.map(async protocol => {
      const answer = await connection.client.latest(protocol.id, connection.keyOf(protocol.id))
      return protocolFinding(protocol, answer, deliveredIds.has(protocol.id))
    }),
  )
  // One service: what several keys say about it is said once.
  const findingByText = new Map(
    perKey.flatMap(({ service }) => service).map(finding => [JSON.stringify(finding), finding]),
  )
  const past = await writtenFindings(context, witnessesOf(context.config, newestHour, writtenMs))
  // The embedded service has this machine's clock.
  const ofService = [...findingByText.values()].filter(({ subject }) => subject !== 'clock' || past.length === 0)
  const found = [...ofService, ...past, ...perKey.flatMap(({ key }) => key), ...protocols]
  return [...found, ...(await pushFindings(context, found, states))]
}

/** Pushes that were not accepted at their last try, though nothing else is wrong with the service. */
async function pushFindings(
  context: AppContext,
  otherFindings: readonly Finding[],
  states: readonly DestinationState[],
): Promise<Finding[]> {
  if (otherFindings.some(({ subject, outcome }) => outcome === 'failed' || (subject === 'service' && outcome !== 'ok')))
    return []
  const waits = states.flatMap(state => {
    const { waiting: fact, cure } = state
    // A key is a finding of its own.
    return fact === undefined || !cure || cure === 'key' || cure === 'new-key' ? [] : [{ ...state, fact }]
  })
  if (waits.length === 0) return []
  const nowMs = context.time.nowMs()
  const isTried = (await daemonSentence(context)) !== undefined
  return waits.map(({ fact, lastPush, ...state }) => {
    const askedMs = retryAfterAt(state, nowMs)
    const nextMs = Math.max(askedMs, probeAt(state, nowMs))
    const last = lastPush ? `; last tried at ${clockOf(lastPush.atMs)}` : ''
    const next = isTried ? (nextMs > 0 ? `, next try ${clockOf(nextMs)}` : '') : ', and no daemon runs that tries again'
    const step = state.cure === 'address' ? 'check service.url' : 'if that goes on, ask who runs the service'
    const fix = askedMs > 0 ? 'nothing is to be done' : step
    return failed(
      'pushes',
      `${fact}${last}${next}`,
      `${fix}; tidegauge flush tries now; tidegauge due ls lists what it does not take`,
    )
  })
}

/** Findings of a key about the service and about itself, and whether protocols can be asked for with it. */
async function keyFindings(
  context: AppContext,
  { client, host, destinations }: Connection,
  { name, protocols, readKey }: Connection['destinations'][number],
) {
  const subject = destinations.length > 1 ? `key ${name}` : 'key'
  const emptyResult = { service: [] as Finding[], key: [] as Finding[], protocols, isUsable: false }
  let key: string
  try {
    key = readKey()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { code, message, facts, fix } = error
    return { ...emptyResult, key: [failed(subject, faultLine(new Fault(code, message, { facts })), fix)] }
  }
  context.redactor.add([key])
  const answer = await client.validateKey(key)
  if (answer.kind === 'unanswered') {
    const finding = failed('service', `${host} does not answer: ${answer.reason}`, addressFix(answer))
    return { ...emptyResult, service: [finding] }
  }
  const service = [answered(host, answer), ...clock(answer)]
  const own = keyFinding(subject, answer, keyFix(context.config, protocols[0]))
  return { service, key: own ? [own] : [], protocols, isUsable: own?.outcome === 'ok' }
}

function addressFix({ fix }: Extract<Answer, { kind: 'unanswered' }>): string {
  return fix?.replace('the address', 'service.url') ?? checkAddress
}

type KeyAnswer = Extract<Answer, { kind: 'answered' }>

function answered(host: string, answer: KeyAnswer): Finding {
  const { status, described: description, notBeforeMs } = answer
  const answerText = description === undefined ? `${status}` : `${status}: ${description}`
  if (status >= 500)
    return failed('service', `${host} answers with an error (${answerText})`, 'ask who runs the service')
  if (status === 429) {
    const until = notBeforeMs === undefined ? '' : ` until ${clockOf(notBeforeMs)}`
    return warning('service', `${host} asks to wait${until} (429)`, 'nothing is to be done')
  }
  if (status >= 300 && status < 400) {
    const redirects = description?.startsWith('redirects') ? `${description} (${status})` : `redirects (${answerText})`
    return failed('service', `${host} ${redirects}, and a key is never sent elsewhere`, checkAddress)
  }
  if (status === 404) return failed('service', `${host} does not know /api/validate-key (${answerText})`, checkAddress)
  if (isForeign(answer) || isOfPage(reasonOf(answer))) return failed('service', foreignFact(answer), checkAddress)
  if (status >= 400 && status !== 401 && status !== 403) {
    const found = `${host} refuses the question whether the key is valid (${reasonOf(answer)}), which says nothing about the key`
    return failed('service', found, 'check service.url, and ask who runs it')
  }
  return ok('service', `${host} answers`)
}

function clock({ skewMs }: KeyAnswer): Finding[] {
  if (skewMs === undefined) return [warning('clock', 'the service does not say what time it is')]
  const isOff = Math.abs(skewMs) > clockReportMs
  if (isOff) return [failed('clock', offSentence(skewMs), 'set this machine’s clock right, and keep it so (NTP)')]
  return [ok('clock', skewMs === 0 ? 'agrees with the service’s' : `is ${(Math.abs(skewMs) / 1_000).toFixed(1)} s off`)]
}

/** That this machine has written something later, where no witness says which of both is right. */
async function writtenFindings(context: AppContext, witnesses: ClockWitnesses): Promise<Finding[]> {
  const laterSentence = writtenLater(context.time.nowMs(), witnesses)
  if (laterSentence === undefined) return []
  const { verdict } = await comparedClock(context, undefined, witnesses)
  if (verdict.kind === 'trusted' || verdict.why !== 'written') return []
  const fix =
    'set it right if it is wrong (NTP); if it is right, tidegauge run believes it after 10 min, and a command at once'
  return [warning('clock', laterSentence, fix)]
}

/** Instruction for a refused key: a file is read again, a variable only at a start. */
function keyFix({ service }: Config, protocol: ProtocolConfig | undefined): string {
  const ref = protocol?.key ?? (service.kind === 'remote' ? service.key : undefined)
  if (ref?.kind === 'file') return `put a valid key in ${ref.path}: the daemon reads it again`
  if (ref?.kind === 'env') return `put a valid key in the variable ${ref.name}, and start the daemon again`
  return 'put a valid key where it is kept'
}

/** @returns `undefined` for an answer that says nothing about the key */
function keyFinding(subject: string, answer: KeyAnswer, fix: string): Finding | undefined {
  const { status, body, described } = answer
  if (isOfPage(reasonOf(answer))) return undefined
  if (status === 403 && body === undefined && described !== undefined) {
    // The service answers JSON.
    const found = `the service, or what is before it, refuses the request (${reasonOf(answer)})`
    return failed(subject, found, `check service.headers and service.certificate, or ${fix}`)
  }
  if (status === 401 || status === 403) return failed(subject, `the service refuses the key (${status})`, fix)
  const isAccepted = status >= 200 && status < 300 && !isForeign(answer)
  return isAccepted ? ok(subject, 'the service accepts the key') : undefined
}

/** The outbox about the service. */
interface StoredOfService {
  /** Protocols of which something was delivered: the interface shows ownership only by taking a push. */
  readonly deliveredIds: ReadonlySet<string>
  /** State of each destination. */
  readonly states: readonly DestinationState[]
  /** The newest collected hour; `undefined` without one. */
  readonly newestHour: Hour | undefined
}

const nothingStored: StoredOfService = { deliveredIds: new Set(), states: [], newestHour: undefined }

async function storedOf(
  context: AppContext,
  protocols: readonly ProtocolConfig[],
  destinations: readonly string[],
): Promise<StoredOfService> {
  try {
    return await readExistingOutbox(context, async outbox => {
      if (!outbox) return nothingStored
      const deliveredIds = protocols.map(async ({ id }) => ((await outbox.delivery.hasDelivered([id])) ? [id] : []))
      const states = await Promise.all(destinations.map(name => outbox.operators.destination(name)))
      const newestHour = await outbox.intake.newestCollected()
      return { deliveredIds: new Set((await Promise.all(deliveredIds)).flat()), states, newestHour }
    })
  } catch (error) {
    // An outbox that cannot be read is a finding of the disk, not of the service.
    if (error instanceof Fault) return nothingStored
    throw error
  }
}

/** Advice where a protocol belongs to another key. */
const ownerAdvice = 'give the key that owns it, or choose another id'

function protocolFinding({ id, register }: ProtocolConfig, answer: Answer, hasDelivered: boolean): Finding {
  const subject = `protocol ${id}`
  if (answer.kind === 'unanswered') return failed(subject, `no answer: ${answer.reason}`, 'try again later')
  const { status } = answer
  if (status === 404) {
    return register
      ? ok(subject, 'is not registered yet; the daemon registers it')
      : hasDelivered
        ? failed(subject, 'is not registered for this key any more', ownerAdvice)
        : failed(
            subject,
            'is not registered, or of another key',
            `tidegauge register ${id}; if it is taken, ${ownerAdvice}`,
          )
  }
  if (status === 401 || status === 403) {
    return failed(subject, `belongs to another key (${status})`, ownerAdvice)
  }
  if (isForeign(answer)) return failed(subject, foreignFact(answer), checkAddress)
  if (status !== 200) return failed(subject, `cannot be read (${status})`, 'try again later')
  return ok(
    subject,
    hasDelivered ? 'is registered, and takes our pushes' : 'is registered; the first push shows whether it is ours',
  )
}

/** Age of a node's last block from which it is behind, and from which the next hour cannot be read. */
const headAgeMsAdvised = 120_000
const headAgeMsMax = hourMs

/** Longest time for one endpoint's answers, in milliseconds. */
const endpointMsMax = 30_000

/** Blocks of one `eth_getLogs` below which a busy hour takes many requests. */
const logBlocksAdvised = 1_000

/** Every endpoint of every chain, side by side. @param isClockWrong whether an age by this machine's clock means nothing */
export async function chainFindings(context: AppContext, isClockWrong: Promise<boolean>): Promise<readonly Finding[]> {
  const perChain = context.config.chains.map(async chain => {
    const all = await Promise.all(chain.rpc.map(ref => endpointFindings(context, chain, ref, isClockWrong)))
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

async function endpointFindings(
  context: AppContext,
  chain: ChainConfig,
  ref: EndpointRef,
  isClockWrong: Promise<boolean>,
): Promise<Finding[]> {
  const { config, time, log, redactor } = context
  const subject = `${chain.name} ${fullNameOf(chain, ref)}`
  const hoursAgo = [...new Set([0, 24, Math.ceil(config.collect.catchUpMs / hourMs)])].sort((a, b) => a - b)
  try {
    const source = endpointSource(chain.name, ref, { log, redactor })
    const deps = { chainId: chain.id, source, multicall: chain.multicall, time, timeoutMs: endpointMsMax }
    const check = await checkEndpoint(deps, [...hoursAgo, Number.POSITIVE_INFINITY])
    const nowMs = time.nowMs()
    return findingsOf(subject, chain, check, { nowMs, isClockWrong: await isClockWrong })
  } catch (error) {
    if (error instanceof EndpointFailure) return [failed(subject, error.reason, adviceOf(error))]
    if (error instanceof Fault) return [failed(subject, error.message, error.fix)]
    return [failed(subject, `no answer within ${endpointMsMax / 1_000} s`, 'check the node, and the network to it')]
  }
}

/** A kept address by its name and its host: other output shows the one or the other. */
function fullNameOf({ name }: ChainConfig, ref: EndpointRef): string {
  const host = ref.kind === 'url' ? undefined : usable(() => hostOf(resolveAddress(name, ref)))
  return `${nameOf(ref)}${host === undefined ? '' : ` (${host})`}`
}

/** This machine's clock, in milliseconds since 1970. */
interface OwnClock {
  readonly nowMs: number
  readonly isClockWrong: boolean
}

function findingsOf(
  subject: string,
  { name, id, multicall }: ChainConfig,
  check: EndpointCheck,
  clock: OwnClock,
): Finding[] {
  return [
    headFinding(subject, id, check, clock),
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

function headFinding(subject: string, id: number, { head }: EndpointCheck, { nowMs, isClockWrong }: OwnClock): Finding {
  const ageMs = Math.max(0, nowMs - head.timestampSeconds * 1_000)
  const block = `chain ${id}, block ${head.number}, ${ageText(ageMs)} old`
  const fix = 'let the node catch up, or add another endpoint'
  if (ageMs > headAgeMsAdvised && isClockWrong) {
    return warning(subject, `${block} by a wrong clock: whether it is behind cannot be judged`, 'see clock above')
  }
  if (ageMs > headAgeMsMax) return failed(subject, `is behind: ${block}; the last hour cannot be read`, fix)
  if (ageMs > headAgeMsAdvised) return warning(subject, `may be behind: ${block}`, fix)
  return ok(subject, block)
}

function stateFinding(subject: string, states: readonly StateAtAge[]): Finding {
  const missingState = states.find(state => state.missing !== undefined)
  if (!missingState) return ok(subject, 'has the state of all blocks: every past hour can be read')
  const reason = `: ${missingState.missing}`
  if (missingState.hoursAgo === 0) {
    return failed(subject, `does not even have the state of its last block${reason}`, 'let the node finish its sync')
  }
  const had = states.findLast(state => state.missing === undefined && state.hoursAgo < missingState.hoursAgo)
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

/** Collectors of events whose contract or event is not there, by reading the current hour; only what is wrong is a finding. */
export async function eventFindings(context: AppContext): Promise<readonly Finding[]> {
  const collectors = selectCollectors(context.config, undefined).filter(({ options }) => eventsIn(options).length > 0)
  if (collectors.length === 0) return []
  const hour = hourAt(context.time.nowMs())
  const { parts } = await collectParts(context, undefined, collectors, { hour, units: 'locked' })
  const faultFindings = parts.flatMap(({ collector, fault }) =>
    fault && isPermanent(fault) ? [warning(collector.id, fault.message, fault.fix)] : [],
  )
  const quietFindings = (await quietEvents(context, parts)).map(({ part, text }) =>
    warning(part.collector.id, text, 'check its address and event: names of types, and which arguments are indexed'),
  )
  return [...faultFindings, ...quietFindings]
}

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
  /** Whether only a run finds out what it is asked for. Default: no */
  readonly isOpen?: boolean
}

/** An off-chain source that was read for the current hour. */
interface AskedSource extends OffChainSource {
  /** Why it gave no value; absent where it gave all. */
  readonly fault?: Fault
  /** The value of a price, or the number of items of a list. */
  readonly value?: number | undefined
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
  const silentContext = {
    ...context,
    config: { ...config, collect: { ...config.collect, deadlineMs } },
    log: createLog('silent', redactor),
  }
  const reader = openHourReader(silentContext, openChains(silentContext, stack), stack)
  const hour = hourAt(context.time.nowMs())
  const answers = await Promise.all(sources.map(source => readSource(reader, source, hour)))
  const hosts = [...new Set(answers.flatMap(source => source.hosts))]
  const findings = hosts.map(host =>
    hostFinding(
      host,
      answers.filter(source => source.hosts.includes(host)),
    ),
  )
  return [...findings, ...(await unchangedFindings(reader, answers, hour))]
}

/**
 * Prices and lists whose source answers the same for two hours that are a day apart: it may ignore the hour that it is asked
 * for, and answer of the present.
 */
async function unchangedFindings(reader: HourReader, asked: readonly AskedSource[], hour: Hour): Promise<Finding[]> {
  const answering = asked.filter(({ collector, fault, value }) => !fault && value !== undefined && isByHour(collector))
  const before = await Promise.all(answering.map(source => readSource(reader, source, hourAfter(hour, -24))))
  return answering.flatMap(({ name, value, collector }, place) => {
    if (before[place]?.value !== value) return []
    const sameAnswer = `answers the same (${value}) for two hours that are a day apart: it may ignore the hour`
    const isList = collector.protocolId === 'list'
    const fix = isList
      ? 'compare its items of both hours; if it knows the present alone, now: true'
      : 'compare both answers, and name with time: where they say what instant they are of'
    return [warning(name, sameAnswer, fix)]
  })
}

/** Whether a price or a list is asked for by an address with the hour in it, and nothing in the answer says of when it is. */
function isByHour({ protocolId, options }: CollectorConfig): boolean {
  const source = protocolId === 'list' ? options : valueAt(options, ['sources', 0])
  const url = valueAt(source, ['url'])
  if (protocolId !== 'list' && protocolId !== 'price') return false
  return (
    typeof url === 'string' &&
    /\{(hour|block)/.test(url) &&
    [valueAt(source, ['time']), valueAt(source, ['now'])].every(each => each === undefined)
  )
}

/** A price that has several sources is one entry for each. */
function offChainSources(config: Config): OffChainSource[] {
  const { protocols, prices, lists } = config
  const collectors = protocols.flatMap(protocol => protocol.collectors)
  const ofPrices = prices.flatMap(({ name, collector }) => {
    if (name.endsWith('/')) return tokenSources(collector, name.slice(0, -1), config)
    const { sources } = collector.options as { readonly sources: unknown }
    const priceSources: readonly unknown[] = Array.isArray(sources) ? sources : []
    return priceSources.map((source, index) => ({
      // Its value is checked like a metric, which has a protocol.
      collector: { ...collector, protocolId: 'price', options: { sources: [source] } },
      name: priceSources.length === 1 ? `price ${name}` : `price ${name}, source ${index + 1}`,
      isSpare: priceSources.length > 1,
    }))
  })
  const ofLists = lists.map(({ name, collector }) => ({
    collector: { ...collector, protocolId: 'list' },
    name: `list ${name}`,
    isSpare: false,
  }))
  const ofCollectors = collectors.map(collector => ({ collector, name: collector.id, isSpare: false }))
  const all = [...ofCollectors, ...ofPrices, ...ofLists]
  return all.flatMap(source => {
    const hosts = hostsIn(source.collector)
    return hosts.length > 0 ? [{ ...source, hosts }] : []
  })
}

/** Each source of the prices of a chain's tokens, to be asked for one that the configuration names. */
function tokenSources(
  reader: CollectorConfig,
  chain: string,
  { protocols, lists }: Config,
): Omit<OffChainSource, 'hosts'>[] {
  const sources = valueAt(reader.options, ['sources'])
  const priceSources: readonly unknown[] = Array.isArray(sources) ? sources : []
  const tokenAddresses = priceSources.flatMap(source => Object.keys(Object(source))).filter(isAddress)
  const tokenWanted = protocols
    .flatMap(protocol => protocol.collectors)
    .flatMap(({ options }) => pricedTokens(options, chain, lists))
    .find(token => !tokenAddresses.some(each => each.toLowerCase() === token.toLowerCase()))
  const token = tokenWanted ?? tokenAddresses[0]
  const urls = priceSources.filter(source => valueAt(source, ['url']) !== undefined)
  const mayLack = urls.every(source => valueAt(source, ['agreeWithin']) === undefined)
  return urls.map((source, index) => ({
    collector: { ...reader, protocolId: 'price', options: { sources: [source], tokens: { Price: token } } },
    name: `prices of tokens of ${chain}${urls.length === 1 ? '' : `, source ${index + 1}`}`,
    // A token with the name of a price is asked of no source.
    isSpare: tokenWanted === undefined || (urls.length > 1 && mayLack),
    isOpen: token === undefined,
  }))
}

/** Tokens of a chain whose own prices options ask for, as far as the configuration has their addresses. */
function pricedTokens(options: unknown, chain: string, lists: Config['lists']): readonly string[] {
  return textsOf('price', options, []).flatMap(price => {
    if (price.name !== 'token' || price.chain !== chain) return []
    const at = price.path.slice(0, -1)
    const tokenOption = valueAt(options, [...at, 'token']) ?? valueAt(options, [...at, 'address'])
    const name = valueAt(tokenOption, ['each']) ?? (tokenOption === undefined ? valueAt(options, ['each']) : undefined)
    const list = lists.find(one => one.name === name)?.collector.options
    return [tokenOption, valueAt(list, ['fixed', 0])].filter(isAddress)
  })
}

/** Hosts of the addresses in a collector's options, those that are kept as a secret included; the file of a database. */
function hostsIn({ use, options, place }: CollectorConfig): string[] {
  const secrets = secretsWritten(options, place.file).flatMap(({ ref }) => {
    try {
      return readSecret(ref)
    } catch {
      // A secret that cannot be read is a finding of the configuration.
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
  const { collector, isOpen = false } = source
  if (isOpen) return source
  try {
    const description = await reader.describe(collector)
    // Mistakes in options are a finding of the configuration.
    if (description.kind === 'mistaken') return source
    const { fault, failures, acceptedValues } = await reader.collect({ collector, description, hour }, noPasts)
    const each = Object.values(failures).map(faultFromRecord)
    const own = (each.length > 0 || !fault ? each : [fault]).find(isOfSource)
    return own ? { ...source, fault: own } : { ...source, value: acceptedValues[0]?.metric.value }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return isOfSource(error) ? { ...source, fault: error } : source
  }
}

/** Whether a failure is no other finding's: of a chain, of another price, of a secret or of the collector's file. */
function isOfSource({ code }: Fault): boolean {
  return !/^(chain-|price-|secret-|collector-unusable)/.test(code)
}

function hostFinding(host: string, sources: readonly AskedSource[]): Finding {
  const subject = `source ${host}`
  const failedSources = sources.filter(({ fault }) => fault)
  const [first, ...otherSources] = failedSources
  if (!first?.fault) {
    const isUnknown = sources.every(({ isOpen }) => isOpen)
    if (isUnknown) return ok(subject, 'not asked: the configuration names no token that it would be asked for')
    const names = sources.flatMap(({ name, isOpen }) => (isOpen ? [] : [name]))
    return ok(subject, `answers ${names.slice(0, namesMax).join('; ')}${furtherText(names.length - namesMax)}`)
  }
  const { code, message, facts, fix } = first.fault
  const instruction = fix ?? `check ${host}, the way to it, and the options that name it`
  const failureText = `${first.name}: ${faultLine(new Fault(code, message, { facts }))}${furtherText(otherSources.length)}`
  return failedSources.every(({ isSpare }) => isSpare)
    ? warning(subject, `${failureText}; the price has other sources`, instruction)
    : failed(subject, failureText, instruction)
}

function furtherText(count: number): string {
  return count > 0 ? `; and ${count} more` : ''
}
