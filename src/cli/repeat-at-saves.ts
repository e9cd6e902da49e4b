import { existsSync } from 'node:fs'
import { type CollectorConfig, ConfigError } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { sourceLookMs } from './limits.ts'
import { reportError } from './report-error.ts'
import { Signals } from './signals.ts'
import { counted, note } from './terminal.ts'
import { type NamingFiles, WatchedFiles } from './watched-files.ts'

/**
 * Does something now, and again whenever the configuration, a file that it includes, a collector of one's own or what
 * that imports is saved. Errors are reported and do not end it. Resolves after Ctrl-C.
 *
 * @param act aborted by Ctrl-C
 * @throws Fault until it has succeeded once: `usage`, and ConfigError for a file that does not exist. No save mends these
 */
export async function repeatAtSaves(configFile: string, act: (stopping: AbortSignal) => Promise<void>): Promise<void> {
  const signals = new Signals('stop')
  let known: NamingFiles | undefined
  let hasSucceeded = false
  for (;;) {
    known = namingFiles(configFile, known)
    let count = 0
    // It looks before it acts, so that no save is missed.
    const watched = new WatchedFiles(
      known,
      files => {
        count = files.length
        signals.watch(files, sourceLookMs)
      },
      { isFollowed: () => true },
    )
    try {
      await act(signals.stopping)
      hasSucceeded = true
    } catch (error) {
      if (!hasSucceeded && isMistyped(error, configFile)) {
        signals.watch([])
        throw error
      }
      if (!signals.stopping.aborted) await reportError(error)
    }
    if (!signals.stopping.aborted) note(`\nwatching ${counted(count, 'file')}; Ctrl-C ends`)
    if (!(await hasChanged(signals, watched))) break
    // An editor that replaces a file removes it for a moment.
    await systemTime.sleep(sourceLookMs / 2)
  }
  signals.watch([])
}

/** Resolves to false when it must stop. */
async function hasChanged(signals: Signals, watched: WatchedFiles): Promise<boolean> {
  for (let asked = await signals.next(); asked !== 'stop'; asked = await signals.next()) {
    if (watched.haveChanged()) return true
  }
  return false
}

/** The files to watch; of a configuration with mistakes, with the collectors of the one before. */
function namingFiles(file: string, before: NamingFiles | undefined): NamingFiles {
  try {
    return loadConfig(file)
  } catch (error) {
    const includes = error instanceof ConfigError ? error.includes : []
    const drafts: readonly CollectorConfig[] = error instanceof ConfigError ? error.drafts : []
    const own = before?.protocols ?? []
    return { file, includes, protocols: [...own, ...drafts.map(draft => ({ collectors: [draft] }))] }
  }
}

/** Whether the command line is wrong, and not a file that is being edited. */
function isMistyped(error: unknown, configFile: string): boolean {
  return (error instanceof Fault && error.code === 'usage') || !existsSync(configFile)
}
