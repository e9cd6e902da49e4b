import { Worker } from 'node:worker_threads'
import { programUrl } from '../../edge/program-files.ts'
import type { Time } from '../../edge/time.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Family } from '../exposition/text.ts'
import type { FromThread, OtlpThreadInput, ToThread } from './messages.ts'
import type { OtlpOn } from './settings.ts'

/** Time for which a stop waits for the last metrics to be sent. */
const flushMsMax = 2_000

/** Dependencies of `OtlpExport`. */
export interface OtlpDeps {
  readonly settings: OtlpOn
  /** All metrics, read at each export. */
  readonly families: () => Promise<readonly Family[]>
  readonly version: string
  /** Start of all counters, in milliseconds since 1970. */
  readonly startedAtMs: number
  readonly log: Log
  readonly time: Pick<Time, 'steadyMs' | 'sleep'>
}

/**
 * Sends the metrics of `/metrics` to an OpenTelemetry collector. The SDK runs in a thread of its own: its retries delay
 * neither the daemon nor its end. A collector that does not answer is logged once, and once when it answers again.
 */
export class OtlpExport {
  readonly #deps: OtlpDeps
  readonly #thread: Worker
  readonly #flushed = Promise.withResolvers<void>()
  #failedAtMs: number | undefined

  constructor(deps: OtlpDeps) {
    this.#deps = deps
    const { settings, version, startedAtMs } = deps
    const { protocol, intervalMs, timeoutMs } = settings
    const workerData: OtlpThreadInput = { protocol, intervalMs, timeoutMs, version, startedAtMs }
    this.#thread = new Worker(programUrl('otlp'), { workerData })
    this.#thread.unref()
    this.#thread.on('message', (message: FromThread) => this.#heard(message))
    this.#thread.once('error', ({ name }) => this.#exported(`the SDK failed (${name})`))
    this.#thread.once('exit', () => this.#flushed.resolve())
  }

  /** Sends the metrics of now, unless none could be sent before, and ends the thread, whatever it does by then. */
  async stop(): Promise<void> {
    if (this.#failedAtMs === undefined) {
      this.#post({ kind: 'flush' })
      const waiting = new AbortController()
      await Promise.race([this.#flushed.promise, this.#deps.time.sleep(flushMsMax, waiting.signal).catch(() => {})])
      waiting.abort(new Error('flushed'))
    }
    await this.#thread.terminate()
  }

  #heard(message: FromThread): void {
    if (message.kind === 'exported') this.#exported(message.failure)
    else if (message.kind === 'flushed') this.#flushed.resolve()
    else void this.#send()
  }

  async #send(): Promise<void> {
    // Metrics that cannot be read are reported where that is found; none are sent.
    this.#post({ kind: 'metrics', families: await this.#deps.families().catch(() => []) })
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message)
  }

  #exported(failure: string | undefined): void {
    const { settings, log, time } = this.#deps
    if (failure !== undefined && this.#failedAtMs === undefined) {
      this.#failedAtMs = time.steadyMs()
      log.warn({ collector: settings.host, reason: failure, fix }, 'metrics cannot be sent by OTLP: trying on')
    }
    if (failure === undefined && this.#failedAtMs !== undefined) {
      const afterSeconds = Math.round((time.steadyMs() - this.#failedAtMs) / 1000)
      this.#failedAtMs = undefined
      log.info({ collector: settings.host, afterSeconds }, 'metrics are sent by OTLP again')
    }
  }
}

const fix =
  'check OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS and the collector; nothing else depends on it'
