import { fileURLToPath } from 'node:url'
import type { Collector } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef } from '../messages.ts'
import { mistakesOfShape } from './definition.ts'
import { findCollector, nothingCalled } from './find.ts'
import { cut, deniedRead, readFix, thrownText } from './thrown/thrown.ts'

const runnerUrl = new URL('..', import.meta.url).href

/** A loaded collector whose shape is valid. */
export interface Loaded {
  readonly definition: Collector
  /** Path of the file; absent for a package. */
  readonly file?: string
}

/**
 * Loads the module of `use` and checks that its default export is a collector.
 *
 * @throws Fault `collector-unusable`, with file and line where they are known
 */
export async function loadCollector(ref: CollectorRef): Promise<Loaded> {
  const found = findCollector(ref)
  const module = await importModule(found.specifier, ref, found.file)
  const definition = module['default']
  const mistakes = 'default' in module ? mistakesOfShape(definition) : ['it has no default export']
  if (!isCollector(definition, mistakes)) {
    throw new Fault('collector-unusable', `${found.file ?? ref.use} is not a collector: ${mistakes.join('; ')}`, {
      fix: 'write `export default defineCollector({ options, metrics, history, collect })`',
    })
  }
  return found.file === undefined ? { definition } : { definition, file: found.file }
}

function isCollector(_definition: unknown, mistakes: readonly string[]): _definition is Collector {
  return mistakes.length === 0
}

async function importModule(specifier: string, ref: CollectorRef, file: string | undefined) {
  try {
    return (await import(specifier)) as Record<string, unknown>
  } catch (error) {
    throw importFault(error, ref, file)
  }
}

const fixByCode: Readonly<Record<string, string>> = {
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX:
    'types are stripped, not compiled: write it without enum, namespace or parameter properties',
  ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING:
    'Node runs no TypeScript under node_modules: publish the package as JavaScript',
  ERR_MODULE_NOT_FOUND: 'check the path (with its extension) or install the package next to the collector',
}

function importFault(error: unknown, ref: CollectorRef, file: string | undefined): Fault {
  if (error instanceof Fault) return error
  const { message, stack } = thrownText(error)
  const code = codeOf(error)
  const missingItself = code === 'ERR_MODULE_NOT_FOUND' && file === undefined && message.includes(`'${ref.use}'`)
  if (missingItself) return nothingCalled(ref)
  const denied = deniedRead(error)
  const fix = denied === undefined ? fixByCode[code] : readFix
  const at = placeIn(stack)
  const why = denied ?? cut(withoutAddress(message))
  return new Fault('collector-unusable', `${file ?? ref.use} cannot be loaded: ${why}`, {
    facts: at === undefined ? {} : { at },
    ...(fix === undefined ? {} : { fix }),
  })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** `file:line` of a syntax error (the stack's first line) or of the first frame in a file that is not the daemon's. */
function placeIn(stack: string): string | undefined {
  const frame = /(?:^|\(|at )(file:\/\/\/\S+?|\/\S+?):(\d+)(?::\d+)?\)?$/
  for (const line of stack.split('\n')) {
    const [, address = '', number = ''] = frame.exec(line.trim()) ?? []
    if (address === '' || address.startsWith(runnerUrl)) continue
    const path = address.startsWith('file:') ? fileURLToPath(address.replace(/\?changed=.*$/, '')) : address
    return `${path}:${number}`
  }
  return undefined
}

function withoutAddress(message: string): string {
  return message.replace(/file:\/\/|\?changed=[\d.]+/g, '').trim()
}
