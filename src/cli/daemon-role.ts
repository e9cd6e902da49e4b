import type { AppContext } from '../app/context.ts'
import { daemonNameOf, rolesOf } from '../app/open-outbox.ts'

/** Who pushes what is due, or how to have it pushed. */
export async function delivererSentence(context: AppContext): Promise<string> {
  const holder = await daemonSentence(context)
  if (holder === undefined) return 'no daemon runs; push with tidegauge flush'
  return `the running daemon (${holder}) pushes`
}

/** A daemon in words; `undefined` when none runs on this outbox. */
export async function daemonSentence(context: AppContext): Promise<string | undefined> {
  return (await daemonAtWork(context))?.sentence
}

/**
 * The daemon of a configuration; of a fleet where that is not at work, another one; `undefined` when no daemon is.
 *
 * @returns `sentence` as `pid 7, since 2026-11-20T13:00:04Z`, in a fleet with its name before; `missing`: the name of its own
 * daemon, where this is another
 */
export async function daemonAtWork({
  config,
}: AppContext): Promise<{ readonly sentence: string; readonly missing?: string } | undefined> {
  const ownName = daemonNameOf(config)
  const holder = await (await rolesOf(config)).daemon(ownName)
  if (!holder) return undefined
  const { name, pid = 'unknown', since, config: file, host } = holder
  const parts = [
    ...(name === undefined ? [] : [name]),
    `pid ${pid}`,
    ...(host === undefined ? [] : [`on ${host}`]),
    ...(since === undefined ? [] : [`since ${since.replace(/\.\d+Z$/, 'Z')}`]),
  ]
  const sentence = [...parts, ...(file === undefined || file === config.file ? [] : [`configuration ${file}`])].join(
    ', ',
  )
  return { sentence, ...(name !== undefined && name !== ownName && { missing: ownName }) }
}
