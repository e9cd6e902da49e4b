import type { AppContext } from '../app/context.ts'
import { rolesOf } from '../app/open-outbox.ts'

/** Who pushes what is due, or how to have it pushed. */
export async function delivererSentence(context: AppContext): Promise<string> {
  const holder = await daemonSentence(context)
  if (holder === undefined) return 'no daemon runs; push with tidegauge flush'
  return `the running daemon (${holder}) pushes`
}

/** `pid 7, since 2026-11-20T13:00:04Z`, in a fleet with its name before; `undefined` when no daemon runs on this outbox. */
export async function daemonSentence({ config }: AppContext): Promise<string | undefined> {
  const holder = await (await rolesOf(config)).daemon()
  if (!holder) return undefined
  const { name, pid = 'unknown', since, config: file, host } = holder
  const parts = [
    ...(name === undefined ? [] : [name]),
    `pid ${pid}`,
    ...(host === undefined ? [] : [`on ${host}`]),
    ...(since === undefined ? [] : [`since ${since.replace(/\.\d+Z$/, 'Z')}`]),
  ]
  return [...parts, ...(file === undefined || file === config.file ? [] : [`configuration ${file}`])].join(', ')
}
