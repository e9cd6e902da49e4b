import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Collector } from '../../collector.ts'
import { type OptionMistake, secretId, secretsWritten } from '../../config/config.ts'
import { meant, quoted } from '../../config/mistakes.ts'
import { optionsEdge, unreadSecret } from '../../edge/options-edge.ts'
import { hasOwnLibraries, packageUrl, programUrl, sharedLibrary, shippedModules } from '../../edge/program-files.ts'
import { version } from '../../edge/version.ts'
import { Fault } from '../../model/fault.ts'
import { isRecord, jsonOf, parsedJson } from '../../model/json.ts'
import type { MetricSpec } from '../../model/metric.ts'
import type { CollectorRef } from '../messages.ts'
import { originOf, shippedCollectors } from '../origin.ts'
import { cut, deniedRead, plainWords, readFix, shown, thrownText } from './thrown.ts'

const runnerUrl = new URL('..', import.meta.url).href

/** A loaded collector whose shape is valid. */
interface Loaded {
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
  const origin = findCollector(ref)
  const module = await importModule(origin.specifier, ref, origin.file)
  const definition = defaultOf(module)
  const mistakes = 'default' in module ? mistakesOfShape(definition) : ['it has no default export']
  if (!isCollector(definition, mistakes)) {
    throw new Fault('collector-unusable', `${origin.file ?? ref.use} is not a collector: ${mistakes.join('; ')}`, {
      fix: 'write `export default defineCollector({ options, metrics, history, collect })`',
    })
  }
  return origin.file === undefined ? { definition } : { definition, file: origin.file }
}

/** The default export; that of CommonJS which a compiler made of an ES module lies one level deeper. */
function defaultOf({ default: own }: Readonly<Record<string, unknown>>): unknown {
  const isCompiled = isRecord(own) && own['__esModule'] === true && 'default' in own
  return isCompiled ? own['default'] : own
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
    'Node runs no TypeScript under node_modules: a package is published as JavaScript (tsc compiles it); or copy the file to where the configuration is, and name it by its path',
  ERR_IMPORT_ATTRIBUTE_MISSING: "end the import with: with { type: 'json' }",
  ERR_MODULE_NOT_FOUND: 'check the path (with its extension) or install the package next to the collector',
}

const packageReadFix =
  'a package reads its own folder and those of its `dependencies`: its package.json must name what it imports'

function importFault(error: unknown, ref: CollectorRef, file: string | undefined): Fault {
  if (error instanceof Fault) return error
  const { message, stack } = thrownText(error)
  const code = codeOf(error)
  const missingItself = code === 'ERR_MODULE_NOT_FOUND' && file === undefined && message.includes(`'${ref.use}'`)
  if (missingItself) return nothingCalled(ref)
  const deniedText = deniedRead(error)
  const readsFix = file === undefined ? packageReadFix : readFix
  const fix = deniedText === undefined ? (fixOfMessage(message) ?? fixByCode[code] ?? fixOf(error)) : readsFix
  const errorPlace = placeIn(stack)
  const why = deniedText ?? cut(withoutAddress(message))
  return new Fault('collector-unusable', `${file ?? ref.use} cannot be loaded: ${why}`, {
    facts: errorPlace === undefined ? {} : { at: errorPlace },
    fix,
  })
}

/** Instruction for what TypeScript's compiler accepts and Node does not. */
function fixOfMessage(message: string): string | undefined {
  if (/does not provide an export named/.test(message)) return 'correct the name; a type is imported with `import type`'
  if (/^Invalid or unexpected token/.test(message))
    return 'correct it: this is no valid code, or it has a decorator (@name), which Node does not run'
  if (/^Cannot find package '[@~]\//.test(message))
    return '`paths` of a tsconfig are not read: write a relative path, or a #name of `imports` in package.json'
  return undefined
}

function fixOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'correct it there: this is no valid code'
  return 'correct it there: the file throws when it is loaded'
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** `file:line:column` of a syntax error (the stack's first line) or of the first frame in a file that is not the daemon's. */
function placeIn(stack: string): string | undefined {
  for (const line of stack.split('\n')) {
    const place = /:(\d{1,9}(?::\d{1,9})?)\)?$/.exec(line.trim())
    const before = line.trim().slice(0, place?.index ?? 0)
    const address = before.slice(Math.max(before.lastIndexOf(' '), before.lastIndexOf('(')) + 1)
    if (!/^(file:\/\/\/|\/)./.test(address) || address.startsWith(runnerUrl)) continue
    const [plain = ''] = address.split('?changed=', 1)
    return `${plain.startsWith('file:') ? fileURLToPath(plain) : plain}:${place?.[1]}`
  }
  return undefined
}

function withoutAddress(message: string): string {
  return message.replace(/file:\/\/|\?changed=[\d.]+/g, '').trim()
}

/** Specifier of a collector for `import()`, and its file for messages; a package's file is not known yet. */
interface CollectorModule {
  /** Specifier for `import()`. */
  readonly specifier: string
  /** Path for messages; absent for a package. */
  readonly file?: string
}

/**
 * Finds the module of `use`: a path from the configuration file's folder when it starts with `.` or `/`, else a
 * collector shipped with the daemon, else an npm package as seen from that folder.
 */
function findCollector(ref: Pick<CollectorRef, 'use' | 'configFile'>): CollectorModule {
  const { use, configFile } = ref
  const origin = originOf(ref)
  if (origin.kind === 'file') return findFile(linkTarget(origin.file))
  if (origin.kind === 'package') {
    demandVersion(origin.name, configFile)
    return { specifier: packageSpecifier(use, configFile) }
  }
  const url = new URL(use + shippedModules.extension, shippedModules.url)
  return { specifier: url.href, file: fileURLToPath(url) }
}

/**
 * Checks a package's `peerDependencies`, which npm does at an install and others do not. Ranges of several parts are not judged.
 *
 * @throws Fault `collector-unusable` when it is made for another major version of this program
 */
function demandVersion(name: string, configFile: string): void {
  const manifest = installedManifest(name, dirname(configFile))
  const range = String(manifest?.peerDependencies?.['tidegauge'] ?? '')
  const [, sign, wanted] = /^(\^|~|>=|)(\d+)(?:\.[\w.-]+)?$/.exec(range) ?? []
  const [major, own] = [Number(wanted), Number.parseInt(version, 10)]
  if (wanted === undefined || own === major || (sign === '>=' && own > major)) return
  throw new Fault(
    'collector-unusable',
    `${name} ${manifest?.version} is made for tidegauge ${range}, and this is ${version}`,
    {
      fix: `install a version of it that fits: npm install ${name}@latest`,
    },
  )
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
function nothingCalled({ use, configFile }: Pick<CollectorRef, 'use' | 'configFile'>): Fault {
  const isPlugIn = /(^|\/)tidegauge-collector-/.test(use)
  const suggestion = isPlugIn ? undefined : meant(use, shippedCollectors())
  const looked = `collectors/ of tidegauge, and npm packages from ${dirname(configFile)}`
  return new Fault('collector-unusable', `there is no collector ${quoted(use)}`, {
    facts: { lookedIn: looked },
    fix: isPlugIn
      ? `check the name, and install it in the folder of the configuration: npm install --ignore-scripts ${use}`
      : suggestion
        ? `did you mean ${suggestion}?`
        : `write one of ${shippedCollectors().join(', ')}, or a path that starts with ./, or install the package`,
  })
}

/** The daemon's own package: `tidegauge`, `viem` and `zod` of a collector resolve from there. */
const daemonUrl = new URL('package.json', packageUrl).href

/** Packages a collector gets from the daemon, wherever its file lies. */
const given = /^(tidegauge|viem|zod)(\/|$)/

const links = new Map<string, string>()

/** The path that the daemon found a link to lead to; unchanged for other paths. */
function linkTarget(path: string): string {
  return links.get(path) ?? path
}

const packageScheme = 'tidegauge-package:'

/** A specifier that `import()` resolves as an npm package seen from the folder of `fromFile`. */
function packageSpecifier(name: string, fromFile: string): string {
  return `${packageScheme}${new URLSearchParams({ name, from: pathToFileURL(fromFile).href })}`
}

/**
 * Lets collectors outside this package resolve the daemon's packages. In a `node_modules` folder a package's own
 * dependency comes first, so that a published collector keeps its version. Where that is the daemon's own, its bundle is
 * loaded, so that all have the same instance.
 *
 * TypeScript is an ES module, also below a package.json that says otherwise, as `npm init` writes one: Node would load
 * nothing of it, without an error.
 *
 * @param linksJson targets of links that the process must not follow itself, by their paths, as JSON
 */
export function registerCollectorHooks(linksJson: string): void {
  for (const [link, target] of Object.entries(jsonOf(linksJson) as Record<string, string>)) links.set(link, target)
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(packageScheme)) {
        const query = new URLSearchParams(specifier.slice(packageScheme.length))
        const [name, from] = [query.get('name') ?? '', query.get('from') ?? daemonUrl]
        const { specifier: found, parentURL } = linkedPackage(name, from) ?? { specifier: name, parentURL: from }
        return next(found, { ...context, parentURL })
      }
      const bundlePath = bundleOf(specifier, context.conditions.includes('require'))
      if (!given.test(specifier) || (hasOwnLibraries && bundlePath === undefined && specifier.startsWith('viem/'))) {
        const linked = linkedPackage(specifier, context.parentURL)
        return linked ? next(linked.specifier, { ...context, parentURL: linked.parentURL }) : next(specifier, context)
      }
      const fromDaemon = () => next(bundlePath ?? specifier, { ...context, parentURL: daemonUrl })
      // Another instance of `tidegauge` would know neither secrets nor paths: a package brings none of its own.
      if (/^tidegauge(\/|$)/.test(specifier) || !context.parentURL?.includes('/node_modules/')) return fromDaemon()
      try {
        const resolution = next(specifier, context)
        // An installed program has no package of viem: whichever is found is the collector's own.
        if (hasOwnLibraries && specifier.startsWith('viem')) return resolution
        const isDaemons = resolution.url === next(specifier, { ...context, parentURL: daemonUrl }).url
        return isDaemons ? fromDaemon() : resolution
      } catch {
        return fromDaemon()
      }
    },
    load(url, context, next) {
      const isScript = context.format === 'commonjs-typescript' && /\.ts(\?|$)/.test(url)
      return next(url, isScript ? { ...context, format: 'module-typescript' } : context)
    },
  })
}

/** The daemon's own module for a specifier, as a path for `require`; absent when it is to be found among packages. */
function bundleOf(specifier: string, isRequired: boolean): string | undefined {
  const url = specifier === 'tidegauge' ? programUrl('tidegauge') : sharedLibrary(specifier)
  return url && isRequired ? fileURLToPath(url) : url?.href
}

/** The part of a package.json that says where a package begins, and what it needs. */
interface LinkedManifest {
  readonly name?: string
  readonly version?: string
  readonly peerDependencies?: Readonly<Record<string, unknown>>
  readonly main?: string
  readonly exports?: unknown
}

/** Resolves a package that is linked from elsewhere: from its own folder, by its own name. */
function linkedPackage(specifier: string, parentUrl: string | undefined) {
  const [, name, subpath = ''] = /^((?:@[^/]+\/)?[^@./:][^/:]*)(\/.*)?$/.exec(specifier) ?? []
  if (links.size === 0 || name === undefined || !parentUrl?.startsWith('file:')) return undefined
  const target = nearestLink(name, dirname(fileURLToPath(parentUrl)))
  if (target === undefined) return undefined
  const manifest = manifestIn(target)
  const parentURL = pathToFileURL(join(target, 'package.json')).href
  if (manifest.exports !== undefined) return { specifier: `${manifest.name}${subpath}`, parentURL }
  const entry = subpath === '' ? (manifest.main ?? 'index.js') : subpath.slice(1)
  const found = [entry, `${entry}.js`, join(entry, 'index.js')].find(path => isFile(join(target, path)))
  return { specifier: pathToFileURL(join(target, found ?? entry)).href, parentURL }
}

/** @throws Fault `collector-unusable` when it is damaged */
function manifestIn(folder: string): LinkedManifest {
  const file = join(folder, 'package.json')
  const manifest = parsedJson(readFileSync(file, 'utf8'))
  if (isRecord(manifest)) return manifest
  throw new Fault('collector-unusable', `${file} is no JSON`, { fix: 'install the package again' })
}

/** The package.json of a package as seen from a folder; absent where none can be read. */
function installedManifest(name: string, from: string): LinkedManifest | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name)
    const target = links.get(place) ?? place
    if (isFile(join(target, 'package.json'))) return manifestIn(target)
    if (folder === dirname(folder)) return undefined
  }
}

/** Target of the nearest package of that name, if it is a link. */
function nearestLink(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    const target = links.get(path)
    if (target !== undefined || isFile(join(path, 'package.json')) || folder === dirname(folder)) return target
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Mistakes in a default export that should be a collector; empty when it is one. */
function mistakesOfShape(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [`its default export is ${shown(value)}`]
  return Object.entries(partForms).flatMap(([name, { isOne, form }]) => {
    const part: unknown = Reflect.get(value, name)
    if (part === undefined) return [`${name} is missing: ${form}`]
    return isOne(part) ? [] : [`${name} must be ${form}`]
  })
}

const isFunction = (part: unknown) => typeof part === 'function'

/** The parts of a collector, and the form of each. */
const partForms: Readonly<Record<string, { readonly isOne: (part: unknown) => boolean; readonly form: string }>> = {
  options: { isOne: isSchema, form: 'a zod schema' },
  metrics: {
    isOne: part => isFunction(part) || (typeof part === 'object' && part !== null),
    form: 'an object of labels, or a function of the options',
  },
  history: { isOne: part => typeof part === 'boolean' || isFunction(part), form: 'true or false' },
  collect: { isOne: isFunction, form: 'a function' },
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'safeParseAsync' in value
}

const number = z.number({ error: 'must be a finite number' }).optional()
const text = z.string({ error: 'must be text' }).optional()
const jumpWrong = "must be a positive number in the metric's unit, or a part of the last value like '20%'"
const maxJump = z
  .union([z.number(), z.templateLiteral([z.number(), '%'])], { error: jumpWrong })
  .refine(jump => Number.parseFloat(String(jump)) > 0, { error: jumpWrong })
  .optional()
const isPrivate = z.boolean({ error: 'must be true or false' }).optional()
const module = z.string({ error: 'must be text' }).min(1).optional()
const metricSpec = z.strictObject({ unit: text, module, min: number, max: number, maxJump, private: isPrivate })

/**
 * The labels a collector declares for its options, validated.
 *
 * @throws Fault `collector-unusable` when there is none, a label cannot be part of a metric id, or a spec is wrong
 */
export function declaredMetrics(definition: Collector, options: unknown, name: string): Record<string, MetricSpec> {
  const declared = evaluate(definition, options, name)
  const entries = typeof declared === 'object' && declared !== null ? Object.entries(declared) : []
  if (entries.length === 0) throw unusable(name, 'its metrics declare no label')
  return Object.fromEntries(entries.map(([label, spec]) => [label, checkedSpec(label, spec, name)]))
}

/**
 * Whether a collector can be asked for a past hour with these options.
 *
 * @throws Fault `collector-unusable` when it does not say
 */
export function readsPast({ history }: Collector, options: unknown, name: string): boolean {
  const fix = 'give history as true or false, or as a function of the options that returns one of them'
  try {
    const answer: unknown = typeof history === 'function' ? history(options) : history
    if (typeof answer === 'boolean') return answer
    throw new Fault('collector-unusable', `collector ${name}: its history(options) gave ${shown(answer)}`, { fix })
  } catch (error) {
    if (error instanceof Fault) throw error
    const { message } = thrownText(error)
    throw new Fault('collector-unusable', `collector ${name}: its history(options) threw: ${message}`, { fix })
  }
}

function evaluate({ metrics }: Collector, options: unknown, name: string): unknown {
  try {
    return typeof metrics === 'function' ? metrics(options) : metrics
  } catch (error) {
    throw unusable(name, `its metrics(options) threw: ${thrownText(error).message}`)
  }
}

function checkedSpec(label: string, spec: unknown, name: string): MetricSpec {
  if (!/^[A-Za-z0-9._-]+$/.test(label)) {
    throw unusable(name, `label ${shown(label)} has a character that is no letter, digit, "-", "_" or "."`)
  }
  if (label.includes('___')) throw unusable(name, `label "${label}" holds ___, which separates an id from a label`)
  const specResult = metricSpec.safeParse(spec, { error: plainWords })
  if (!specResult.success) {
    const [issue] = specResult.error.issues
    throw unusable(name, `label "${label}": ${issue?.path.join('.') || 'its spec'}: ${issue?.message}`)
  }
  const { unit, module, min, max, maxJump } = specResult.data
  if (min !== undefined && max !== undefined && min > max) {
    throw unusable(name, `label "${label}": min ${min} is more than max ${max}: every value would be held`)
  }
  return {
    ...(unit === undefined ? {} : { unit }),
    ...(module === undefined ? {} : { module }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(maxJump === undefined ? {} : { maxJump }),
    ...(specResult.data.private && { private: true }),
  }
}

function unusable(name: string, what: string): Fault {
  return new Fault('collector-unusable', `collector ${name}: ${what}`, {
    fix: 'declare labels like metrics: { TVL: { unit: "USDC", min: 0 } }',
  })
}

type ParsedOptions =
  /** `declared` are the paths in them, absolute; `secrets` are their secrets, by `secretId`. */
  | {
      readonly ok: true
      readonly options: unknown
      readonly declared: readonly string[]
      readonly secrets: readonly string[]
    }
  | { readonly ok: false; readonly mistakes: readonly OptionMistake[] }

/** The options being parsed: several collectors' may be at the same time. */
const parsing = new AsyncLocalStorage<{
  readonly ref: CollectorRef
  readonly declared: string[]
  readonly secrets: string[]
}>()

/** Tells the schemas of `tidegauge` whose options are parsed. */
export function registerOptionsEdge(): void {
  optionsEdge.path = optionPath => {
    const place = parsing.getStore()
    if (!place) return optionPath
    const path = resolve(dirname(place.ref.configFile), optionPath)
    place.declared.push(path)
    return path
  }
  optionsEdge.secret = written => {
    const place = parsing.getStore()
    const [asked] = place ? secretsWritten(written, place.ref.configFile) : []
    if (!place || !asked) return unreadSecret
    const id = secretId(asked.ref)
    place.secrets.push(id)
    return place.ref.secrets?.[id] ?? unreadSecret
  }
}

/**
 * Parses the options of the configuration with the collector's own schema; absent options are empty. Messages of the
 * collector's author are kept, others are reworded.
 *
 * @throws Fault `collector-unusable` when the schema itself throws
 */
export async function parseOptions({ definition }: Loaded, ref: CollectorRef): Promise<ParsedOptions> {
  const keysOfIssue: KnownKeys = new WeakMap()
  const declaredSecrets: string[] = []
  const secrets: string[] = []
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code === 'unrecognized_keys') keysOfIssue.set(issue.keys, keysOf(issue.inst))
    return plainWords(issue)
  }
  try {
    const result = await parsing.run({ ref, declared: declaredSecrets, secrets }, () =>
      definition.options.safeParseAsync(ref.options ?? {}, { error }),
    )
    if (result.success) return { ok: true, options: result.data, declared: declaredSecrets, secrets }
    return { ok: false, mistakes: result.error.issues.flatMap(issue => mistakesOf(issue, [], keysOfIssue)) }
  } catch (error) {
    throw new Fault('collector-unusable', `the options schema of ${ref.use} threw: ${thrownText(error).message}`)
  }
}

type OptionIssue = z.core.$ZodIssue

/** Known option names, by the list of unknown ones. */
type KnownKeys = WeakMap<readonly string[], readonly string[]>

/** Names of the map that refuses a key. */
function keysOf(schema: unknown): string[] {
  const shape: unknown =
    typeof schema === 'object' && schema !== null && 'shape' in schema ? Reflect.get(schema, 'shape') : undefined
  return typeof shape === 'object' && shape !== null ? Object.keys(shape) : []
}

/** One mistake for each unknown key; of a union, the branch of the value's kind that comes nearest. */
function mistakesOf(issue: OptionIssue, before: readonly PropertyKey[], keysOfIssue: KnownKeys): OptionMistake[] {
  const path = [...before, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(key => ({
      path: plain([...path, key]),
      message: `unknown option "${key}"`,
      knownNames: [...(keysOfIssue.get(issue.keys) ?? [])],
    }))
  }
  if (issue.code === 'invalid_union') {
    const [nearest] = issue.errors.filter(errors => !errors.some(isOfAnotherKind)).sort((a, b) => a.length - b.length)
    if (nearest && nearest.length > 0) return nearest.flatMap(part => mistakesOf(part, path, keysOfIssue))
  }
  return [{ path: plain(path), message: cut(issue.message) }]
}

/** Whether a branch of a union fails for the value as a whole: another branch was meant then. */
function isOfAnotherKind({ path, code }: OptionIssue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')
}

function plain(path: readonly PropertyKey[]): (string | number)[] {
  return path.map(part => (typeof part === 'symbol' ? String(part) : part))
}

/**
 * JSON Schema of a collector's options as they are written, for editors. Parts that JSON Schema cannot express allow
 * anything.
 *
 * @throws Fault `collector-unusable`
 */
export async function optionsSchema(ref: CollectorRef): Promise<unknown> {
  const { definition } = await loadCollector(ref)
  try {
    return z.toJSONSchema(definition.options, {
      io: 'input',
      reused: 'inline',
      unrepresentable: 'any',
      override({ zodSchema, jsonSchema }) {
        const examples = z.globalRegistry.get(zodSchema)?.examples
        if (Array.isArray(examples)) jsonSchema.examples = examples
        // Placeholders such as {hour} are part of an address here, and of no URI.
        if (jsonSchema.format === 'uri') delete jsonSchema.format
      },
    })
  } catch {
    // A schema of another zod, or one that refers to itself in a way that has no JSON Schema.
    return {}
  }
}
