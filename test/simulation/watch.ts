import { hourText } from '../../src/model/hour.ts'
import type { MetricVerdicts } from '../../src/outbox/contract/hours.ts'
import type { Listener } from './client.ts'
import type { Clock } from './clock.ts'
import type { Facts } from './facts.ts'
import type { Keys } from './keys.ts'
import type { Ledger } from './ledger.ts'
import type { Sent } from './replies.ts'
import type { Script } from './script.ts'
import type { Reply, Request, Service } from './service.ts'

/** Promises about requests, whatever the limits in the code are. */
const promised = { attempts: 5, batchMetrics: 100, probeMetrics: 10, futureMs: 300_000, keyAskMs: 3_600_000 } as const

const keyOf = ({ id, timestamp }: Sent) => `${id} ${timestamp}`
const bodyOf = (metrics: readonly Sent[]) => metrics.map(keyOf).join()

/** Knowledge of one flush of one destination. */
interface FlushSeen {
  /** Failed flushes before it. */
  readonly failures: () => number
  /** State before it. */
  readonly activity: number
  /** Known lead of the service's clock. */
  readonly skewMs: number | undefined
  pushes: number
  /** Sends of each body since its last verdict. */
  readonly tried: Map<string, number>
}

/** One life's requests and verdicts, held against what is promised of them. */
export class Watch implements Listener {
  readonly #script: Script
  readonly #clock: Clock
  readonly #keys: Keys
  readonly #service: Service
  readonly #facts: Facts
  readonly #ledger: Ledger
  readonly #newestDue: (owner: string, skewMs: number) => number | undefined
  #lastAskedMs = Number.NEGATIVE_INFINITY
  /** By owner: the key that was refused, and when it was last asked about or refused. */
  readonly #refusedKeys = new Map<string, { readonly key: string; readonly atMs: number }>()
  #skewMs: number | undefined
  readonly #flushes = new Map<string, FlushSeen>()
  /** Owners of whom everything due has had its turn in this life. */
  readonly #flushed = new Set<string>()
  /** Owners of whom something may have been set aside in this life, so that the newest hour need not be first. */
  readonly #hasAside = new Set<string>()
  /** The service's remark about a metric in its last answer. */
  readonly #remarks = new Map<string, readonly string[]>()

  constructor(
    world: { script: Script; clock: Clock; keys: Keys; service: Service; facts: Facts; ledger: Ledger },
    newestDue: (owner: string, skewMs: number) => number | undefined,
  ) {
    this.#script = world.script
    this.#clock = world.clock
    this.#keys = world.keys
    this.#service = world.service
    this.#facts = world.facts
    this.#ledger = world.ledger
    this.#newestDue = newestDue
  }

  asked(request: Request): void {
    const owner = this.#keys.ownerOf(request.key)
    this.#tell(request)
    this.#pace()
    this.#wish(owner)
    this.#key(owner, request)
    if (request.kind === 'push') this.#push(owner, request.metrics)
  }

  heard(request: Request, reply: Reply, sentMs: number): void {
    const owner = this.#keys.ownerOf(request.key)
    this.#tell(request, reply)
    const isLater = isTransient(reply, request.kind === 'push' ? request.metrics.length : 0)
    if (!isLater) this.#facts.happened(owner)
    if (reply.status !== undefined) this.#skewMs = reply.skewMs
    if (reply.wishMs !== undefined)
      this.#facts.heardWish(owner, reply.wishMs - this.#blurMs(reply, sentMs), this.#clock.nowMs())
    this.#hearKey(owner, request, reply)
    if (request.kind !== 'push') return
    this.#hearRemarks(request.metrics, reply)
    if (reply.status === 404 || (isLater && request.metrics.length === 1)) this.#hasAside.add(owner)
    if (!isLater) this.#flushes.get(owner)?.tried.delete(bodyOf(request.metrics))
  }

  /** A flush begins. */
  flushBegins(owner: string, failures: () => number): void {
    this.#flushes.set(owner, {
      failures,
      activity: this.#facts.activity.get(owner) ?? 0,
      skewMs: this.#skewMs,
      pushes: 0,
      tried: new Map(),
    })
  }

  flushEnds(owner: string): void {
    const { pushes, failures } = this.#flushes.get(owner) ?? { pushes: 0 }
    if (pushes > 0 && failures?.() === 0) this.#flushed.add(owner)
    this.#flushes.delete(owner)
  }

  /** Verdicts that are being recorded. */
  judged({ delivered, dead, warnings }: MetricVerdicts): void {
    for (const { metric } of dead) {
      const key = `${metric.id} ${hourText(metric.hour)}`
      if (!this.#service.refused.has(key)) this.#facts.broken(`a good metric is dead: ${key}`)
    }
    const remarked = new Set(
      warnings.map(({ metric, text }) => metric && `${metric.id} ${hourText(metric.hour)} ${kindOf(text)}`),
    )
    for (const metric of delivered) {
      const key = `${metric.id} ${hourText(metric.hour)}`
      for (const text of this.#remarks.get(key) ?? [])
        this.#remarked(key, kindOf(text), remarked.has(`${key} ${kindOf(text)}`))
    }
  }

  #tell(request: Request, reply?: Reply): void {
    if (!this.#facts.isTraced) return
    const [first] = request.kind === 'push' ? request.metrics : []
    const what = request.kind === 'push' ? `${request.metrics.length} from ${first && keyOf(first)}` : ''
    const said = reply ? `is answered ${JSON.stringify(reply).slice(0, 200)}` : 'is asked'
    this.#facts.tell(`${request.kind} ${what} with ${request.key} ${said}`)
  }

  #remarked(key: string, kind: string, isReported: boolean): void {
    if (kind === 'label' && !isReported) this.#facts.broken(`a warning is lost: ${key}`)
    if (kind !== 'existing') return
    const isNews = this.#facts.timesSent.get(key) === 1 && this.#flushed.has(this.#ownerOf(key))
    if (isReported && this.#service.again.has(key))
      this.#facts.broken(`an expected warning is reported as news: ${key}`)
    if (!isReported && isNews) this.#facts.broken(`an unexpected warning is not reported: ${key}`)
  }

  #ownerOf(key: string): string {
    const protocolId = key.split('___')[0]
    return this.#script.protocols.find(({ id }) => id === protocolId)?.owner ?? ''
  }

  #hearKey(owner: string, { key, kind }: Request, { status }: Reply): void {
    if (status === undefined) return
    if (status === 401) this.#refusedKeys.set(owner, { key, atMs: this.#clock.nowMs() })
    else if (kind === 'validate-key' && status < 300) this.#refusedKeys.delete(owner)
    else if (this.#refusedKeys.get(owner)?.key !== key) this.#refusedKeys.delete(owner)
  }

  #hearRemarks(metrics: readonly Sent[], { body }: Reply): void {
    const warnings = (body as { warnings?: unknown[] } | undefined)?.warnings ?? []
    metrics.forEach((metric, index) => {
      const own = warnings.map(entry => remarkOf(entry, metric, index)).filter(text => text !== undefined)
      this.#remarks.set(keyOf(metric), own)
    })
  }

  #pace(): void {
    const nowMs = this.#clock.nowMs()
    const gapMs = nowMs - this.#lastAskedMs
    const leastMs = 1_000 / this.#script.pacePerSecond
    // The clock counts whole milliseconds, and the steady one, which the pacer asks, has fractions of its own.
    if (gapMs <= leastMs - 2) this.#facts.broken(`two requests within ${gapMs} ms, the pace is ${leastMs} ms`)
    this.#lastAskedMs = nowMs
  }

  /** A date counts whole seconds of a clock that is seen from afar. */
  #blurMs({ retryAfter }: Reply, sentMs: number): number {
    return /^\d+$/.test(retryAfter ?? '') ? 0 : 1_000 + this.#clock.nowMs() - sentMs
  }

  #wish(owner: string): void {
    const wishMs = this.#facts.wishMs(owner)
    const earlyMs = wishMs - this.#clock.nowMs()
    if (earlyMs > 0) this.#facts.broken(`asked ${earlyMs} ms before Retry-After`)
  }

  #key(owner: string, { key, kind }: Request): void {
    const refused = this.#refusedKeys.get(owner)
    if (refused === undefined) return
    if (refused.key === key) {
      const nowMs = this.#clock.nowMs()
      // The hour begins again where the clock was set.
      const isOver = nowMs - refused.atMs >= promised.keyAskMs || this.#script.wrongClocks.length > 0
      const isItsHour = kind === 'validate-key' && isOver
      if (!isItsHour) this.#facts.broken(`${kind} with a key that was refused and has not changed`)
      this.#refusedKeys.set(owner, { key, atMs: nowMs })
    } else if (kind !== 'validate-key') this.#facts.broken(`${kind} with a changed key that was not asked about`)
  }

  #push(owner: string, metrics: readonly Sent[]): void {
    const facts = this.#facts
    if (metrics.length === 0 || metrics.length > promised.batchMetrics)
      facts.broken(`a push of ${metrics.length} metrics`)
    for (const metric of metrics) {
      const mine = this.#script.protocols.find(({ id }) => id === metric.protocolId)?.owner
      if (mine !== owner) facts.broken(`the key of ${owner} goes with a metric of ${mine}`)
      facts.sent(keyOf(metric), metric)
      this.#ledger.sends(keyOf(metric), metric.value, metrics.length === 1)
      this.#notInFuture(owner, metric)
      this.#notHeld(metric)
    }
    if (new Set(metrics.map(keyOf)).size < metrics.length) facts.broken('a metric is twice in one push')
    this.#inFlush(owner, metrics)
  }

  /** Metrics that were split, or wait for their turn, are sent all the same when the service's clock has just been set. */
  #notInFuture(owner: string, metric: Sent): void {
    const skewsMs = [this.#skewMs, this.#flushes.get(owner)?.skewMs]
    if (skewsMs.includes(undefined)) return
    const aheadMs = Date.parse(metric.timestamp) - this.#clock.nowMs() - Math.max(...skewsMs.map(Number))
    if (aheadMs > promised.futureMs) this.#facts.broken(`${keyOf(metric)} lies ${aheadMs} ms in the service's future`)
  }

  #notHeld({ id, protocolId, value }: Sent): void {
    const label = id.slice(protocolId.length + 3)
    const own = this.#script.collectors.filter(collector => collector.protocolId === protocolId)
    const min = own.map(({ metrics }) => metrics[label]?.min).find(bound => bound !== undefined)
    if (min === undefined || value >= min || this.#script.person.some(({ act }) => act === 'release')) return
    this.#facts.broken(`${id} was sent with ${value}, and at least ${min} is declared`)
  }

  #inFlush(owner: string, metrics: readonly Sent[]): void {
    const flush = this.#flushes.get(owner)
    if (!flush) {
      this.#facts.broken('a push outside of a flush')
      return
    }
    flush.pushes += 1
    if (flush.pushes === 1) this.#first(owner, flush, metrics)
    // A metric that stands as a witness is asked about again and again.
    if (metrics.length === 1) return
    const tried = (flush.tried.get(bodyOf(metrics)) ?? 0) + 1
    flush.tried.set(bodyOf(metrics), tried)
    if (tried > promised.attempts) this.#facts.broken(`a push of ${metrics.length} metrics was tried ${tried} times`)
  }

  /** Newest due hour of an owner; the service's clock, whose date counts whole seconds, may be understood less well. */
  #newest(owner: string): number {
    return this.#newestDue(owner, (this.#skewMs ?? 0) - 31_000) ?? 0
  }

  #first(owner: string, { failures, activity, skewMs }: FlushSeen, metrics: readonly Sent[]): void {
    const isProbing = failures() > 0
    if (isProbing && metrics.length > promised.probeMetrics) this.#facts.broken(`a probe of ${metrics.length} metrics`)
    // The newest hour depends on the service's clock, and on what came in while the flush was prepared.
    const isAsKnown = this.#skewMs === skewMs && this.#facts.activity.get(owner) === activity
    if (isProbing || !isAsKnown || this.#hasAside.has(owner)) return
    const [first] = metrics
    if (first && Date.parse(first.timestamp) >= this.#newest(owner)) return
    this.#facts.broken(`the newest hour is not first: ${first && keyOf(first)}`)
  }
}

/** Whether it says nothing for good; `count` metrics were sent. */
function isTransient({ status, body }: Reply, count: number): boolean {
  if (status === undefined || status >= 500 || [408, 425, 429].includes(status)) return true
  const result = typeof body === 'object' && body !== null && 'processed' in body ? body : undefined
  return status === 200 && (!result || (count === 1 && Number(result.processed) > 1))
}

function kindOf(text: string): 'existing' | 'label' | 'other' {
  if (text.includes('already exists')) return 'existing'
  return text.includes('label is longer') ? 'label' : 'other'
}

/** The words of a warning that is about a metric. */
function remarkOf(entry: unknown, { id, timestamp }: Sent, index: number): string | undefined {
  if (typeof entry === 'string') return entry.startsWith(`${id} of ${timestamp}: `) ? entry : undefined
  const { message, warning, ...of } = entry as {
    message?: string
    warning?: string
    id?: string
    timestamp?: string
    index?: number
  }
  return of.index === index || (of.id === id && of.timestamp === timestamp) ? (message ?? warning) : undefined
}
