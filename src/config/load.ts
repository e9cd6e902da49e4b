import { resolve } from 'node:path'
import { valueAt } from '../model/json.ts'
import { buildConfig } from './build.ts'
import { check } from './checks.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import { type ConfigDocument, type ParsedDocument, readDocument } from './document.ts'
import { draftsIn } from './drafts.ts'
import { configFiles, expandIncludes, ungrantedSecrets } from './include.ts'
import { inOrder, placeText } from './mistakes/mistakes.ts'
import { includedForm, operatorForm } from './schema/file-forms.ts'
import { type FileText, readText } from './yaml/text.ts'

/**
 * Reads a configuration file and what it includes, once and strictly. Secrets are not read.
 *
 * @param file relative to the working directory, or absolute
 * @throws ConfigError with all mistakes at once, and no other error
 */
export function loadConfig(file: string): Config {
  const absolute = resolve(file)
  return parseFiles(absolute, readText(absolute))
}

/** As `loadConfig`, from the file's text. */
export function parseConfig(file: string, text: string): Config {
  return parseFiles(file, { ok: true, text })
}

function parseFiles(file: string, read: FileText): Config {
  const main = readDocument(file, read, operatorForm)
  const written = valueAt(main.written, ['include'])
  const { includes, mistakes } = expandIncludes(file, written, index => main.placeOf(['include', index]))
  const included = includes.flatMap(({ files }) => files).map(one => readDocument(one, readText(one), includedForm))
  const documents = [main, ...included]

  const yamlMistakes = documents.flatMap(document => document.yamlMistakes)
  // A mistake of the YAML is not reported again as one of the value.
  const knownPlaces = new Set(yamlMistakes.map(({ place }) => placeText(place)))
  const checked = 'written' in main ? check(documents, mistakes.length === 0) : []
  const others = [...documents.flatMap(({ found }) => found), ...mistakes, ...checked]
  const all = inOrder(
    [...yamlMistakes, ...others.filter(({ place }) => !knownPlaces.has(placeText(place)))],
    configFiles({ file, includes }),
  )
  const isFine = all.length === 0 && isParsed(main) && included.every(isParsed)
  const config = isFine ? buildConfig(main, included, includes) : undefined
  const ungranted = config ? ungrantedSecrets(config) : []
  if (config && ungranted.length === 0) return config
  throw new ConfigError(file, [...all, ...ungranted], { drafts: documents.flatMap(draftsIn), includes })
}

function isParsed<T>(document: ConfigDocument<T>): document is ConfigDocument<T> & ParsedDocument<T> {
  return 'parsed' in document
}
