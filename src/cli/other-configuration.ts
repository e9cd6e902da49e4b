import { existsSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Config, serviceAddress } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import type { PlacedMistake } from '../config/mistakes.ts'
import { lastHolders } from '../outbox/roles.ts'

/**
 * Finds that the data folder is also that of another configuration, which used it last: each delivers only its own
 * protocols, and only one can have a daemon. `data` may be left out, so that two folders next to each other share one.
 *
 * A configuration that was edited or moved is not another one, nor is a copy next to it with the same service and a
 * protocol of it, which is how an edit is tried. One that cannot be read is not judged.
 */
export function otherConfiguration(config: Config): PlacedMistake | undefined {
  if (config.data.kind !== 'folder') return undefined
  const { folder } = config.data
  const holder = lastHolders(folder)
    // A path of another machine, or container, says nothing here.
    .filter(({ host }) => host === undefined)
    .find(({ config: file }) => existsSync(file) && isOther(config, folder, file))
  if (!holder) return undefined
  const message = `the data folder ${folder} is also that of ${holder.config}, which used it last (${holder.since}): only one of them can run, and it leaves the metrics of the other due`
  const fix = 'give one of them a folder of its own, as data: ./data'
  return { place: { file: config.file, line: 1, column: 1 }, message, fix }
}

function isOther(config: Config, folder: string, file: string): boolean {
  if (realpathSync(file) === realpathSync(config.file)) return false
  const otherConfig = loaded(file)
  if (otherConfig?.data.kind !== 'folder' || otherConfig.data.folder !== folder) return false
  const ids = new Set(config.protocols.map(({ id }) => id))
  const isCopy = dirname(file) === dirname(config.file) && serviceAddress(otherConfig) === serviceAddress(config)
  return !(isCopy && otherConfig.protocols.some(({ id }) => ids.has(id)))
}

function loaded(file: string): Config | undefined {
  try {
    return loadConfig(file)
  } catch {
    return undefined
  }
}
