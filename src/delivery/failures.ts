import { isBatch } from '../model/batch.ts'
import type { Metric } from '../model/metric.ts'
import type { Verdict } from '../model/verdict.ts'
import { afterFailure } from './after-failure.ts'
import { slowPartsMax } from './limits.ts'
import type { FlushPorts } from './ports.ts'
import type { Tries } from './tries.ts'
import { type Part, partsOf, type Worklist } from './worklist.ts'

/** A part that the service failed on. */
export interface FailedPart {
  readonly part: Part
  readonly verdict: Extract<Verdict, { kind: 'transient' }>
  /** It took so long that there are to be few rounds. */
  readonly isSlow: boolean
}

/** What failures work with. */
export interface FailuresDeps {
  readonly ports: FlushPorts
  readonly worklist: Worklist
  readonly tries: Tries
  /** Resolves when the answer was acted on. */
  send(part: Part): Promise<void>
}

/** What one flush makes of pushes that the service failed on: the protocol or the metric is found that it fails on. */
export class Failures {
  readonly #deps: FailuresDeps
  readonly #acceptedProtocols = new Set<string>()
  /** Put in quarantine by this flush: what is left of them has had its attempts. */
  readonly #quarantined = new Set<string>()
  readonly #sampling = new Map<string, Promise<void>>()
  /** Parts that failed while it was not known whether the service takes anything. */
  readonly #undecided: FailedPart[] = []
  #isTriedApart = false

  constructor(deps: FailuresDeps) {
    this.#deps = deps
  }

  /** They were accepted: the service does not fail on the whole of their protocols. */
  accepted(metrics: readonly Metric[]): void {
    for (const { protocolId } of metrics) this.#acceptedProtocols.add(protocolId)
  }

  /** Whether a protocol is left to a later flush, also where something of it was accepted since. */
  isLeftOut(protocolId: string): boolean {
    return this.#quarantined.has(protocolId) || this.#deps.ports.isInQuarantine(protocolId)
  }

  /** A part that failed while nothing was known of the service, to be isolated when it takes others. */
  nextUndecided(): FailedPart | undefined {
    return this.#undecided.shift()
  }

  /** Nothing was accepted yet: what was sent together first is tried apart, as long as there are tries. */
  tryApart(failed: FailedPart): void {
    const { ports, worklist, tries } = this.#deps
    const { part } = failed
    const ids = [...new Set(part.batch.map(({ protocolId }) => protocolId))]
    if (ids[0] !== undefined && ids.length === 1) ports.doubted(ids[0])
    if (part.batch.length === 1 || tries.areSpent || this.#isTriedApart) {
      this.#undecided.push(failed)
      return
    }
    this.#isTriedApart = true
    const doubt = ({ batch }: Part) => Math.max(...batch.map(({ protocolId }) => ports.doubtOf(protocolId)))
    const parts = partsOf(part, part.batch, slowPartsMax)
    worklist.putFirst(parts.sort((a, b) => doubt(a) - doubt(b)).map(one => ({ ...one, attemptsMax: 1 })))
  }

  /** The service takes others, or the part is tried out of quarantine: narrows down what it fails on. */
  async isolate({ part, verdict: { reason }, isSlow }: FailedPart): Promise<void> {
    const { ports, worklist } = this.#deps
    const [{ protocolId }] = part.batch
    if (part.isProbe && ports.isInQuarantine(protocolId)) return ports.failed(protocolId, reason)
    const batch = ports.stillDue(part.batch)
    if (!isBatch(batch)) return
    const isProtocolAccepted = this.#acceptedProtocols.has(protocolId)
    const action = afterFailure({ ...part, batch }, { isSlow, isProtocolAccepted })
    switch (action.kind) {
      case 'split':
        return worklist.putLast(action.parts)
      case 'sample':
        await this.#sample(action.sample)
        if (!ports.isInQuarantine(protocolId)) worklist.putLast(action.rest)
        return
      case 'protocol':
        ports.failed(protocolId, reason)
        return this.#leaveOutQuarantined(protocolId)
      case 'metric':
        ports.setAside(action.metric, reason)
        return this.#leaveOutQuarantined(protocolId)
    }
  }

  /** One at a time of a protocol, however many of its pushes fail together. */
  #sample(sample: Part): Promise<void> {
    const [{ protocolId }] = sample.batch
    const running = this.#sampling.get(protocolId)
    if (running) {
      this.#deps.worklist.putLast([{ ...sample, attemptsMax: 1 }])
      return running
    }
    const sampling = this.#deps.send(sample).finally(() => this.#sampling.delete(protocolId))
    this.#sampling.set(protocolId, sampling)
    return sampling
  }

  #leaveOutQuarantined(failed: string): void {
    if (this.#deps.ports.isInQuarantine(failed)) this.#quarantined.add(failed)
    this.#deps.worklist.leaveOut(({ protocolId }) => this.#deps.ports.isInQuarantine(protocolId))
  }
}
