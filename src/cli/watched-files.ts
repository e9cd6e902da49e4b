import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { originOf } from '../runner/origin.ts'

/** What files hold; one that cannot be read is told about when it is loaded. */
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

/** The configuration's file and those of one's own collectors: what is reloaded when it changes. */
export function filesOf({ file, protocols }: Config): string[] {
  const origins = protocols
    .flatMap(({ collectors }) => collectors)
    .map(({ use }) => originOf({ use, configFile: file }))
  return [file, ...new Set(origins.flatMap(origin => (origin.kind === 'file' ? [origin.file] : [])))]
}
