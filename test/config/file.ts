import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { temporaryFolder } from '../support/folder.ts'

/** Writes a configuration file into a folder of its own; gives its path. */
export function configFile(text: string | Uint8Array, name = 'tidegauge.yaml'): string {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, text)
  return file
}

/** The error of loading the file; fails when it loads. */
export function mistakesIn(file: string): ConfigError {
  try {
    loadConfig(file)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error(`${file} has no mistake`)
}

/** The mistakes of a text as `line:column: message → fix`. */
export function linesOf(text: string | Uint8Array): string[] {
  return mistakesIn(configFile(text)).mistakes.map(({ place, message, fix }) => {
    return `${place.line}:${place.column}: ${message}${fix === undefined ? '' : ` → ${fix}`}`
  })
}

/** A text that is right, to be spoilt. */
export const protocolsText = `protocols:
  - id: a
    name: A
    collectors: [{ use: host }]
`
