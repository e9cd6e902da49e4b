import type { AppContext } from '../app/context.ts'
import { daemonNameOf, rolesOf } from '../app/open-outbox.ts'
import { type DaemonSeen, leaselessWords } from './daemon-answer.ts'

/** Who pushes what is due, or how to have it pushed. */
export async function delivererSentence(context: AppContext): Promise<string> {
  const holder = await daemonSentence(context)
  if (holder === undefined) return 'no daemon runs; push with tidegauge flush'
  return `the running daemon (${holder}) pushes`
}

/** A daemon in words; `undefined` when none runs on this outbox. */
export async function daemonSentence({ config }: AppContext): Promise<string | undefined> {
  return (await readLeaseHolder(config))?.sentence
}

/** Whether the daemon of a configuration runs. */
export interface ConfiguredDaemon {
  /** Who is at work, in words: of a fleet where the configuration's does not run, another one. Absent when none is known to be. */
  readonly holder?: string
  /** That the configuration's does not run, where another one of its fleet does. */
  readonly absence?: {
    readonly sentence: string
    /** Whether the configuration names its daemon. One that does not may be read on a machine that is to have none. */
    readonly isNamed: boolean
  }
}

/** The daemon of a configuration, by the outbox and by the answer at its address: one that answers runs, also without a lease. */
export async function configuredDaemon({ config }: AppContext, daemonSeen: DaemonSeen): Promise<ConfiguredDaemon> {
  const leaseHolder = await readLeaseHolder(config)
  if (leaseHolder && !leaseHolder.isOther) return { holder: leaseHolder.sentence }
  const leaseless = leaselessWords(daemonSeen, config)
  if (leaseless !== undefined) return { holder: leaseless }
  if (!leaseHolder || daemonSeen.kind === 'starting' || daemonSeen.kind === 'stalled') return {}
  const isNamed = config.fleet.name !== undefined
  const missing = isNamed ? `${config.fleet.name} does not run` : 'none runs here'
  const sentence = `${missing}; of its fleet, ${leaseHolder.sentence} is at work`
  return { holder: leaseHolder.sentence, absence: { sentence, isNamed } }
}

/**
 * The daemon of a configuration by the outbox; of a fleet where that has no lease, another one; `undefined` when no daemon has.
 *
 * @returns `sentence` as `pid 7, since 2026-11-20T13:00:04Z`, in a fleet with its name before
 */
async function readLeaseHolder(
  config: AppContext['config'],
): Promise<{ readonly sentence: string; readonly isOther: boolean } | undefined> {
  const configuredName = daemonNameOf(config)
  const holder = await (await rolesOf(config)).daemon(configuredName)
  if (!holder) return undefined
  const { name, pid = 'unknown', since, config: file, host } = holder
  const parts = [
    ...(name === undefined ? [] : [name]),
    `pid ${pid}`,
    ...(host === undefined ? [] : [`on ${host}`]),
    ...(since === undefined ? [] : [`since ${since.replace(/\.\d+Z$/, 'Z')}`]),
    ...(file === undefined || file === config.file ? [] : [`configuration ${file}`]),
  ]
  return { sentence: parts.join(', '), isOther: name !== undefined && name !== configuredName }
}
