import { type Connection, connect } from '../../app/connection.ts'
import type { AppContext } from '../../app/context.ts'
import { readExistingOutbox } from '../../app/open-outbox.ts'
import type { Config, ProtocolConfig } from '../../config/config.ts'
import { failingFact } from '../../delivery/breaker.ts'
import { clockReportMs, offSentence } from '../../model/clock.ts'
import { Fault } from '../../model/fault.ts'
import type { Answer } from '../../model/verdict.ts'
import type { OutboxFileCheck } from '../../outbox/data-check.ts'
import { asTyped, type ConfigOption } from '../configured-command.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

const checkAddress = 'check service.url, and the network from here to it'

/** The service, its clock, each key, and each protocol: whether it is registered and takes what is sent. */
export async function serviceFindings(
  context: AppContext,
  outbox: Promise<OutboxFileCheck | undefined>,
  options: ConfigOption,
): Promise<readonly Finding[]> {
  await using stack = new AsyncDisposableStack()
  const connection = await connect(context, stack)
  const perKey = await Promise.all(
    connection.destinations.map(async destination => keyFindings(context, connection, destination)),
  )
  const usable = perKey.filter(({ isUsable }) => isUsable).flatMap(({ protocols }) => protocols)
  const checked = await outbox
  const isReadable = checked?.damage === undefined && checked?.hidden === undefined
  const { delivered, waiting } = isReadable ? await storedOf(context, usable) : nothingStored
  const protocols = await protocolFindings(connection, usable, delivered, options)
  // One service: what several keys say about it is said once.
  const shared = new Map(perKey.flatMap(({ service }) => service).map(finding => [JSON.stringify(finding), finding]))
  const found = [...shared.values(), ...perKey.flatMap(({ key }) => key), ...protocols]
  return [...found, ...pushFindings(found, waiting, options)]
}

/** Pushes that are not accepted, though nothing else is wrong with the service. */
function pushFindings(others: readonly Finding[], waiting: readonly string[], options: ConfigOption): Finding[] {
  if (others.some(({ outcome }) => outcome === 'failed')) return []
  const fix = `ask who runs the service; ${asTyped('due ls', options)} shows what it does not take`
  const facts = waiting.flatMap(sentence => failingFact(sentence) ?? [])
  return facts.map(fact => failed('pushes', `${fact} to pushes, though it answers otherwise`, fix))
}

interface KeyFindings {
  readonly service: readonly Finding[]
  readonly key: readonly Finding[]
  readonly protocols: readonly ProtocolConfig[]
  /** Whether protocols can be asked for with it. */
  readonly isUsable: boolean
}

async function keyFindings(
  context: AppContext,
  { client, host, destinations }: Connection,
  { name, protocols, readKey }: Connection['destinations'][number],
): Promise<KeyFindings> {
  const subject = destinations.length > 1 ? `key ${name}` : 'key'
  const none = { service: [], protocols, isUsable: false }
  let key: string
  try {
    key = readKey()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { ...none, key: [failed(subject, error.message, error.fix)] }
  }
  context.redactor.add([key])
  const answer = await client.validateKey(key)
  if (answer.kind === 'unanswered') {
    return { ...none, service: [failed('service', `${host} does not answer: ${answer.reason}`, checkAddress)], key: [] }
  }
  const service = [answered(host, answer), ...clock(answer)]
  const own = keyFinding(subject, answer, keyFix(context.config, protocols[0]))
  return { service, key: own ? [own] : [], protocols, isUsable: own?.outcome === 'ok' }
}

type KeyAnswer = Extract<Answer, { kind: 'answered' }>

function answered(host: string, { status, described }: KeyAnswer): Finding {
  const what = described === undefined ? `${status}` : `${status}: ${described}`
  if (status >= 500) return failed('service', `${host} answers with an error (${what})`, 'ask who runs the service')
  if (status === 429) return warning('service', `${host} asks to wait (429)`, 'try again later')
  if (status >= 300 && status < 400) {
    return failed('service', `${host} redirects (${what}), and a key is never sent elsewhere`, checkAddress)
  }
  if (status === 404) return failed('service', `${host} does not know /api/validate-key (${what})`, checkAddress)
  return ok('service', `${host} answers`)
}

function clock({ skewMs }: KeyAnswer): Finding[] {
  if (skewMs === undefined) return [warning('clock', 'the service does not say what time it is')]
  const isOff = Math.abs(skewMs) > clockReportMs
  if (isOff) return [failed('clock', offSentence(skewMs), 'set this machine’s clock right, and keep it so (NTP)')]
  return [ok('clock', skewMs === 0 ? 'agrees with the service’s' : `is ${(Math.abs(skewMs) / 1_000).toFixed(1)} s off`)]
}

/** Instruction for a refused key: a file is read again, a variable only at a start. */
function keyFix({ service }: Config, protocol: ProtocolConfig | undefined): string {
  const ref = protocol?.key ?? (service.kind === 'remote' ? service.key : undefined)
  if (ref?.kind === 'file') return `put a valid key in ${ref.path}: the daemon reads it again`
  if (ref?.kind === 'env') return `put a valid key in the variable ${ref.name}, and start the daemon again`
  return 'put a valid key where it is kept'
}

function keyFinding(subject: string, { status }: KeyAnswer, fix: string): Finding | undefined {
  if (status === 401) return failed(subject, 'the service refuses the key (401)', fix)
  if (status >= 200 && status < 300) return ok(subject, 'the service accepts the key')
  if (status >= 500 || status === 429 || status === 404 || (status >= 300 && status < 400)) return undefined
  return failed(subject, `the service does not accept the key (${status})`, 'check the key')
}

async function protocolFindings(
  { client, keyOf }: Connection,
  protocols: readonly ProtocolConfig[],
  delivered: ReadonlySet<string>,
  options: ConfigOption,
): Promise<Finding[]> {
  return Promise.all(
    protocols.map(async protocol => {
      const answer = await client.latest(protocol.id, keyOf(protocol.id))
      return protocolFinding(protocol, answer, delivered.has(protocol.id), options)
    }),
  )
}

/** The outbox about the service. */
interface StoredOfService {
  /** Protocols of which something was delivered: the interface shows ownership only by taking a push. */
  readonly delivered: ReadonlySet<string>
  /** Why deliveries wait. */
  readonly waiting: readonly string[]
}

const nothingStored: StoredOfService = { delivered: new Set(), waiting: [] }

async function storedOf(context: AppContext, protocols: readonly ProtocolConfig[]): Promise<StoredOfService> {
  try {
    return await readExistingOutbox(context, async outbox => {
      if (!outbox) return nothingStored
      const known = protocols.map(async ({ id }) => ((await outbox.delivery.hasDelivered([id])) ? [id] : []))
      const { waiting } = await outbox.operators.backlog()
      return { delivered: new Set((await Promise.all(known)).flat()), waiting }
    })
  } catch (error) {
    // An outbox that cannot be read is a finding of the disk, not of the service.
    if (error instanceof Fault) return nothingStored
    throw error
  }
}

function protocolFinding(
  { id, register }: ProtocolConfig,
  answer: Answer,
  hasDelivered: boolean,
  options: ConfigOption,
): Finding {
  const subject = `protocol ${id}`
  if (answer.kind === 'unanswered') return failed(subject, `no answer: ${answer.reason}`, 'try again later')
  const { status } = answer
  if (status === 404) {
    return register
      ? ok(subject, 'is not registered yet; the daemon registers it')
      : failed(subject, 'is not registered', asTyped(`register ${id}`, options))
  }
  if (status === 401 || status === 403) {
    return failed(subject, `belongs to another key (${status})`, 'choose another id, or give the key that owns it')
  }
  if (status !== 200) return failed(subject, `cannot be read (${status})`, 'try again later')
  return ok(
    subject,
    hasDelivered ? 'is registered, and takes our pushes' : 'is registered; the first push shows whether it is ours',
  )
}
