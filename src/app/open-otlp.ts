import { version } from '../edge/version.ts'
import type { Family } from '../status/exposition/text.ts'
import { otlpSecrets, otlpSettings } from '../status/otlp/settings.ts'
import type { AppContext } from './context.ts'

/** Dependencies of `openOtlp`. */
export interface OtlpSources {
  /** All metrics. */
  readonly families: () => Promise<readonly Family[]>
  /** Start of the process, in milliseconds since 1970. */
  readonly startedAtMs: number
}

/**
 * Sends the metrics by OTLP where OpenTelemetry's variables ask for it; ended with the stack. Otherwise nothing is loaded.
 * A variable that asks for what cannot be done is logged, and stops nothing else.
 */
export async function openOtlp(
  { families, startedAtMs }: OtlpSources,
  { log, redactor, time }: AppContext,
  stack: AsyncDisposableStack,
): Promise<void> {
  const settings = otlpSettings(process.env)
  if (settings.kind === 'off') return
  redactor.add(otlpSecrets(process.env))
  if (settings.kind === 'mistaken') {
    const { variable, reason, fix } = settings
    log.error({ variable, reason, fix }, 'metrics are not sent by OTLP')
    return
  }
  const { OtlpExport } = await import('../status/otlp/otlp.ts')
  const otlp = new OtlpExport({ settings, families, version, startedAtMs, log, time })
  stack.defer(() => otlp.stop())
  log.info({ collector: settings.host, everySeconds: settings.intervalMs / 1000 }, 'metrics are sent by OTLP')
}
