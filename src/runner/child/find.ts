import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { meant, quoted } from '../../config/mistakes.ts'
import { shippedModules } from '../../edge/program-files.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef } from '../messages.ts'
import { originOf, shippedCollectors } from '../origin.ts'
import { linkTarget, packageSpecifier } from './hooks.ts'

/** Specifier of a collector for `import()`, and its file for messages; a package's file is not known yet. */
export interface CollectorModule {
  /** Specifier for `import()`. */
  readonly specifier: string
  /** Path for messages; absent for a package. */
  readonly file?: string
}

/**
 * Finds the module of `use`: a path from the configuration file's folder when it starts with `.` or `/`, else a
 * collector shipped with the daemon, else an npm package as seen from that folder.
 */
export function findCollector(ref: Pick<CollectorRef, 'use' | 'configFile'>): CollectorModule {
  const { use, configFile } = ref
  const origin = originOf(ref)
  if (origin.kind === 'file') return findFile(linkTarget(origin.file))
  if (origin.kind === 'package') return { specifier: packageSpecifier(use, configFile) }
  const url = new URL(use + shippedModules.extension, shippedModules.url)
  return { specifier: url.href, file: fileURLToPath(url) }
}

/** The file's time of change is part of the address, so that an edited file is loaded again when next used. */
function findFile(file: string): CollectorModule {
  return { specifier: `${pathToFileURL(file).href}?changed=${changedAtMs(file)}`, file }
}

/** A file that cannot be read fails when it is loaded. */
function changedAtMs(file: string): number {
  try {
    return statSync(file).mtimeMs
  } catch {
    return 0
  }
}

/** The Fault when `use` is neither a shipped collector nor an installed package. */
export function nothingCalled({ use, configFile }: Pick<CollectorRef, 'use' | 'configFile'>): Fault {
  const near = meant(use, shippedCollectors())
  const looked = `collectors/ of tidegauge, and npm packages from ${dirname(configFile)}`
  return new Fault('collector-unusable', `there is no collector ${quoted(use)}`, {
    facts: { lookedIn: looked },
    fix: near
      ? `did you mean ${near}?`
      : `write one of ${shippedCollectors().join(', ')}, or a path that starts with ./, or install the package`,
  })
}
