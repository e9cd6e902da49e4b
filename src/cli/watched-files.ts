import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { originOf } from '../runner/origin.ts'

/** Contents of files; an unreadable one is reported when it is loaded. */
export function textsOf(files: readonly string[]): string {
  return JSON.stringify(files.map(file => attempt(() => readFileSync(file, 'utf8'))))
}

function attempt(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Files that trigger a reload: the configuration and one's own collectors. */
export function filesOf({ file, protocols }: Config): string[] {
  const origins = protocols
    .flatMap(({ collectors }) => collectors)
    .map(({ use }) => originOf({ use, configFile: file }))
  return [file, ...new Set(origins.flatMap(origin => (origin.kind === 'file' ? [origin.file] : [])))]
}
