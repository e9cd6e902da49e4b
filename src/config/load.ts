import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { settleMsOf } from '../model/block.ts'
import { isRecord, valueAt } from '../model/json.ts'
import { dayHours } from '../model/rhythm.ts'
import { check } from './checks.ts'
import {
  type ChainConfig,
  type CollectorConfig,
  type Config,
  ConfigError,
  type DataConfig,
  type FleetConfig,
  type HeaderValue,
  type NamedConfig,
  type PlacedSecret,
  type ProtocolConfig,
  type ProxyConfig,
  type ReceiverConfig,
  type SecretRef,
  type ServiceConfig,
} from './config.ts'
import { filesDigest } from './digest.ts'
import { type ConfigDocument, operatorForm, type ParsedDocument, type PlaceOf, readDocument } from './document.ts'
import { type FileForm, jsonSchema, keysOf, partAt } from './explain.ts'
import { ownIdOf } from './fields.ts'
import { configFiles, expandIncludes, ungrantedSecrets } from './include.ts'
import { inOrder, placeText } from './mistakes.ts'
import { tokensOfPrices, withAddresses } from './named-assets.ts'
import { includedFile, operatorFile, type ParsedFile, type ParsedIncludedFile } from './schema.ts'
import { type FileText, readText } from './yaml.ts'

/** An included file. */
const includedForm: FileForm<typeof includedFile> = {
  schema: includedFile,
  json: () => jsonSchema(includedFile),
  emptyFix: 'write protocols: … or prices: … in it, or remove the file',
  wholeFix: 'write it as key: value lines: protocols: … or prices: …',
  main: () => jsonSchema(operatorFile),
}

/**
 * Reads a configuration file and what it includes, once and strictly. Secrets are not read.
 *
 * @param file relative to the working directory, or absolute
 * @throws ConfigError with all mistakes at once, and no other error
 */
export function loadConfig(file: string): Config {
  return parseFiles(resolve(file))
}

const { chains, proxy, ca } = operatorFile.shape

const chainsForm = { ...operatorForm, schema: z.object({ chains, proxy, ca }) }

/**
 * The chains of a configuration, with the rest at its defaults: what else is missing or wrong in the file does not matter
 * while it is being written. Secrets are not read.
 *
 * @throws ConfigError with the mistakes of these parts
 */
export function loadChains(file: string): Config {
  const absolute = resolve(file)
  const fileText = readText(absolute)
  const main = readDocument(absolute, fileText, chainsForm)
  if (!isParsed(main)) throw new ConfigError(absolute, inOrder([...main.yamlMistakes, ...main.valueMistakes]))
  const others = operatorFile.parse({ service: 'embedded' })
  const parsed = { ...others, ...main.parsed }
  return buildConfig(
    { ...main, parsed },
    { includedFiles: [], includes: [], digest: filesDigest([{ file: absolute, read: fileText }]) },
  )
}

/** As `loadConfig`, from the file's text. */
export function parseConfig(file: string, text: string): Config {
  return parseFiles(file, name => (name === file ? { ok: true, text } : readText(name)))
}

/** As `loadConfig`. @param textOf gives the text of a file by its absolute path */
export function parseFiles(file: string, textOf: (file: string) => FileText = readText): Config {
  const fileText = textOf(file)
  const main = readDocument(file, fileText, operatorForm)
  const includeValue = valueAt(main.rawValue, ['include'])
  const { includes, mistakes } = expandIncludes(file, includeValue, index => main.placeOf(['include', index]))
  const includedFiles = includes.flatMap(({ files }) => files.map(one => ({ file: one, read: textOf(one) })))
  const includedDocuments = includedFiles.map(one => readDocument(one.file, one.read, includedForm))
  const documents = [main, ...includedDocuments]

  const yamlMistakes = documents.flatMap(document => document.yamlMistakes)
  // A mistake of the YAML is not reported again as one of the value.
  const knownPlaces = new Set(yamlMistakes.map(({ place }) => placeText(place)))
  const checked = 'rawValue' in main ? check(documents, mistakes.length === 0) : []
  const found = [...documents.flatMap(document => document.valueMistakes), ...mistakes, ...checked]
  const allMistakes = inOrder(
    [...yamlMistakes, ...found.filter(({ place }) => !knownPlaces.has(placeText(place)))],
    configFiles({ file, includes }),
  )
  const isFine = allMistakes.length === 0 && isParsed(main) && includedDocuments.every(isParsed)
  const config = isFine
    ? buildConfig(main, {
        includedFiles: includedDocuments,
        includes,
        digest: filesDigest([{ file, read: fileText }, ...includedFiles]),
      })
    : undefined
  const ungranted = config ? ungrantedSecrets(config) : []
  if (config && ungranted.length === 0) return config
  throw new ConfigError(file, [...allMistakes, ...ungranted], { drafts: documents.flatMap(draftsIn), includes })
}

function isParsed<T>(document: ConfigDocument<T>): document is ConfigDocument<T> & ParsedDocument<T> {
  return 'parsed' in document
}

type ParsedProtocol = NonNullable<ParsedFile['protocols']>[number]
type ParsedCollector = ParsedProtocol['collectors'][number]

/**
 * Builds the configuration from files without mistakes: absolute paths, places, collector ids. Deep-frozen.
 *
 * @param from.includedFiles the files of `includes`, in their order
 */
function buildConfig(
  main: ParsedDocument<ParsedFile>,
  {
    includedFiles,
    ...origin
  }: Pick<Config, 'includes' | 'digest'> & { readonly includedFiles: readonly ParsedDocument<ParsedIncludedFile>[] },
): Config {
  const { file, parsed: parsedFile, placeOf } = main
  const service = serviceOf(parsedFile.service, file, placeOf)
  const tokens = new Map([main, ...includedFiles].flatMap(document => [...tokensOfPrices(document.parsed.prices)]))
  return deepFreeze({
    file,
    ...origin,
    service,
    ...(parsedFile.proxy && { proxy: proxyOf(parsedFile.proxy, main) }),
    ...(parsedFile.ca !== undefined && { ca: { path: nextTo(file, parsedFile.ca), place: placeOf(['ca']) } }),
    data: dataOf(main, service),
    fleet: fleetOf(parsedFile.fleet),
    collect: { deadlineMs: parsedFile.collect.deadline, catchUpMs: parsedFile.collect.catchUp },
    delivery: {
      timeoutMs: parsedFile.delivery.timeout,
      inFlight: parsedFile.delivery.inFlight,
      pacePerSecond: parsedFile.delivery.pace,
    },
    outbox: { keepMs: parsedFile.outbox.keep },
    status: { ...parsedFile.status.listen, hosts: parsedFile.status.hosts, ready: parsedFile.status.ready },
    log: parsedFile.log,
    ...(parsedFile.heartbeat && {
      heartbeat: { url: placedSecret(parsedFile.heartbeat.url, ['heartbeat', 'url'], main) },
    }),
    notify: parsedFile.notify.map((receiver, index) => receiverOf(receiver, ['notify', index], main)),
    chains: Object.entries(parsedFile.chains).map(([name, { id, rpc, settle, agree, multicall }]): ChainConfig => {
      const endpoints = rpc.map((endpoint, index) => ({
        ...endpointOf(endpoint, file),
        place: placeOf(['chains', name, 'rpc', index]),
      }))
      const settleMs = settle ?? settleMsOf(id)
      const optional = { ...(agree !== undefined && { agree }), ...(multicall !== undefined && { multicall }) }
      return { name, id, rpc: endpoints, settleMs, ...optional }
    }),
    prices: [main, ...includedFiles].flatMap(({ parsed, placeOf }) => [
      ...Object.entries(parsed.prices ?? {}).map(([name, sources]) => priceConfig(name, sources, placeOf)),
      ...Object.entries(parsed.tokenPrices ?? {}).map(([chain, sources]) => tokenPriceConfig(chain, sources, placeOf)),
    ]),
    lists: [main, ...includedFiles].flatMap(({ parsed, placeOf }) =>
      Object.entries(parsed.lists ?? {}).map(([name, list]) => listConfig(name, list, placeOf)),
    ),
    protocols: [main, ...includedFiles].flatMap(document =>
      (document.parsed.protocols ?? []).map((protocol, index) =>
        protocolOf(protocol, index, { service, tokens }, document),
      ),
    ),
  })
}

function dataOf(main: ParsedDocument<ParsedFile>, service: ServiceConfig): DataConfig {
  const { file, parsed: parsedFile, placeOf } = main
  if (typeof parsedFile.data !== 'string') {
    const address = placedSecret(parsedFile.data.postgres, ['data', 'postgres'], main)
    return { kind: 'postgres', address, keptIn: join(dataFolder(file, parsedFile.fleet?.folder ?? '../data'), 'kept') }
  }
  // The embedded service has a folder of its own, so that metrics sent to it never count as delivered to a real one.
  return {
    kind: 'folder',
    folder: join(dataFolder(file, parsedFile.data), ...(service.kind === 'embedded' ? ['embedded'] : [])),
    place: placeOf(['data']),
  }
}

function fleetOf({ name, lanes }: NonNullable<ParsedFile['fleet']> = {}): FleetConfig {
  return { ...(name !== undefined && { name }), ...(lanes && { lanes: [...new Set(lanes)] }) }
}

const nextTo = (file: string, path: string) => resolve(dirname(file), path)

/**
 * Absolute path of the data. A configuration in an installed package, such as the embedded defaults, has it in the working
 * directory: the next install replaces the package's folder.
 */
function dataFolder(file: string, written: string): string {
  return /[/\\]node_modules[/\\]/.test(file) ? resolve(basename(written)) : nextTo(file, written)
}

function serviceOf(parsed: ParsedFile['service'], file: string, placeOf: PlaceOf): ServiceConfig {
  if (parsed === 'embedded') return { kind: 'embedded' }
  const { url, key, headers, certificate } = parsed
  const pathTo = (...path: readonly string[]) => ['service', ...path]
  return {
    kind: 'remote',
    url,
    ...(key && { key: placedSecret(key, pathTo('key'), { file, placeOf }) }),
    ...(headers && { headers: { headers: headersOf(headers, file), place: placeOf(pathTo('headers')) } }),
    ...(certificate && {
      certificate: {
        cert: { path: nextTo(file, certificate.cert), place: placeOf(pathTo('certificate', 'cert')) },
        key: placedSecret(certificate.key, pathTo('certificate', 'key'), { file, placeOf }),
      },
    }),
  }
}

function proxyOf(
  { except: directHosts, ...proxyAddress }: NonNullable<ParsedFile['proxy']>,
  { file, placeOf }: ParsedDocument<ParsedFile>,
): ProxyConfig {
  const address = proxyAddress.kind === 'url' ? proxyAddress : secretOf(proxyAddress, file)
  return { ...address, except: directHosts, place: placeOf(['proxy']) }
}

function placedSecret(
  ref: SecretRef,
  path: readonly PropertyKey[],
  { file, placeOf }: Pick<ParsedDocument<unknown>, 'file' | 'placeOf'>,
): PlacedSecret {
  return { ...secretOf(ref, file), place: placeOf(path) }
}

const secretOf = (ref: SecretRef, file: string): SecretRef =>
  ref.kind === 'file' ? { kind: 'file', path: nextTo(file, ref.path) } : { kind: 'env', name: ref.name }

function receiverOf(
  receiver: ParsedFile['notify'][number],
  path: readonly PropertyKey[],
  document: ParsedDocument<unknown>,
): ReceiverConfig {
  const { kind } = receiver
  if (kind !== 'telegram') return { kind, url: placedSecret(receiver.url, [...path, kind], document) }
  const { token, chat, url } = receiver
  return {
    kind,
    token: placedSecret(token, [...path, kind, 'token'], document),
    chat: chat.kind === 'text' ? chat : secretOf(chat, document.file),
    url,
  }
}

type ParsedEndpoint = ParsedFile['chains'][string]['rpc'][number]

function endpointOf(endpoint: ParsedEndpoint, file: string) {
  if (typeof endpoint === 'string') return addressOf(endpoint, file)
  const { rate, batch, logBlocks, headers } = endpoint
  const where = endpoint.kind === 'url' ? addressOf(endpoint.url, file) : secretOf(endpoint, file)
  return {
    ...where,
    ...(headers && { headers: headersOf(headers, file) }),
    ...(rate !== undefined && { callsPerSecondMax: rate }),
    ...(batch !== undefined && { batchCallsMax: batch }),
    ...(logBlocks !== undefined && { logBlocksMax: logBlocks }),
  }
}

function headersOf(headers: Readonly<Record<string, HeaderValue>>, file: string): Record<string, HeaderValue> {
  const entries = Object.entries(headers)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value.kind === 'text' ? value : secretOf(value, file)]),
  )
}

function addressOf(endpoint: string, file: string): { readonly kind: 'url'; readonly url: string } {
  const isUrl = /^[a-z]+:\/\//i.test(endpoint) && !isAbsolute(endpoint)
  return { kind: 'url', url: isUrl ? endpoint : nextTo(file, endpoint) }
}

function protocolOf(
  { id, name, logo, chains, key, register, collectors }: ParsedProtocol,
  index: number,
  { service, tokens }: { readonly service: ServiceConfig; readonly tokens: ReturnType<typeof tokensOfPrices> },
  { file, placeOf }: Pick<ParsedDocument<unknown>, 'file' | 'placeOf'>,
): ProtocolConfig {
  const path = ['protocols', index]
  return {
    id,
    name,
    ...(logo !== undefined && { logo }),
    ...(chains && { chains }),
    ...(key && { key: placedSecret(key, [...path, 'key'], { file, placeOf }) }),
    register: register ?? service.kind === 'embedded',
    collectors: collectors.map((one, at) => ({
      ...collectorOf(one, id, [...path, 'collectors', at], placeOf),
      options: withAddresses(one, tokens),
    })),
    place: placeOf(path),
  }
}

function collectorOf(
  { use, id, options, since, at: hoursOfDay, every, deadline, machine }: ParsedCollector,
  protocolId: string,
  path: readonly PropertyKey[],
  placeOf: PlaceOf,
): CollectorConfig {
  return {
    id: `${protocolId}/${id ?? ownIdOf(use)}`,
    protocolId,
    use,
    options,
    ...(since !== undefined && { since }),
    ...((hoursOfDay !== undefined || every !== undefined) && {
      at: dayHours(hoursOfDay === undefined ? hoursOfDay : [hoursOfDay].flat(), every),
    }),
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(machine !== undefined && { machine }),
    place: placeOf(path),
    placeOf: (inner, side) => placeOf([...path, 'options', ...inner], side),
  }
}

/** @param written its sources, which the collector parses, alone or with its tokens */
export function priceConfig(name: string, written: unknown, placeOf: PlaceOf): NamedConfig {
  const hasTokens = isRecord(written)
  const own = { id: `price ${name}`, use: 'price', options: { sources: hasTokens ? written['sources'] : written } }
  return { name, collector: readerOf(own, ['prices', name, ...(hasTokens ? ['sources'] : [])], placeOf) }
}

/** The prices of the tokens of a chain. @param sources as written: the collector parses them */
export function tokenPriceConfig(chain: string, sources: unknown, placeOf: PlaceOf): NamedConfig {
  // They are asked for by their addresses: the labels that the collector needs name none of them.
  const tokens = { Price: `0x${'0'.repeat(40)}` }
  const own = { id: `token prices ${chain}`, use: 'token-price', options: { sources, tokens } }
  return { name: `${chain}/`, collector: readerOf(own, ['tokenPrices', chain], placeOf) }
}

/** @param options as written: the collector parses them */
function listConfig(name: string, options: unknown, placeOf: PlaceOf): NamedConfig {
  return { name, collector: readerOf({ id: `list ${name}`, use: 'list', options }, ['lists', name], placeOf) }
}

/**
 * A collector that reads what stands at a path, which are its options or, of prices, their `sources`.
 *
 * @param reader its id has a blank in it, which is in no protocol's id, so that it differs from every collector's
 */
function readerOf(
  reader: Pick<CollectorConfig, 'id' | 'use' | 'options'>,
  path: readonly string[],
  placeOf: PlaceOf,
): CollectorConfig {
  const pathOf = (inner: readonly PropertyKey[]) => [...path, ...(inner[0] === 'sources' ? inner.slice(1) : inner)]
  const place = placeOf(path)
  return { ...reader, protocolId: '', place, placeOf: (inner, side) => placeOf(pathOf(inner), side), pathOf }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/**
 * The collectors, prices and lists of a file with mistakes that are written well enough to check their options, so that all
 * mistakes are reported at once.
 */
function draftsIn({ rawValue, placeOf }: ConfigDocument): CollectorConfig[] {
  const isPrice = (sources: unknown) => Array.isArray(sources) && sources.length > 0
  const mayHaveTokens = (written: unknown) => isPrice(isRecord(written) ? written['sources'] : written)
  const kinds = [
    ['prices', priceConfig, mayHaveTokens],
    ['tokenPrices', tokenPriceConfig, isPrice],
    ['lists', listConfig, isRecord],
  ] as const
  const drafts = kinds.flatMap(([key, configOf, isWhole]) => {
    const section = valueAt(rawValue, [key])
    return Object.entries(isRecord(section) ? section : {}).flatMap(([name, own]) =>
      isWhole(own) ? [configOf(name, own, placeOf).collector] : [],
    )
  })
  return [...drafts, ...collectorsIn(rawValue, placeOf)]
}

function collectorsIn(tree: unknown, placeOf: PlaceOf): CollectorConfig[] {
  return listIn(tree, 'protocols').flatMap((protocol, index) =>
    listIn(protocol, 'collectors').flatMap((collector, at): CollectorConfig[] => {
      const path = ['protocols', index, 'collectors', at]
      const [use, optionsTree = {}] = [valueAt(collector, ['use']), valueAt(collector, ['options'])]
      if (typeof use !== 'string' || use.trim() === '' || typeof optionsTree !== 'object' || optionsTree === null)
        return []
      const strays = strayKeys(collector)
      const options = { ...strays, ...optionsTree }
      const [protocolId, ownId] = [valueAt(protocol, ['id']), valueAt(collector, ['id'])].map(id =>
        typeof id === 'string' ? id : '',
      )
      const isStray = ([first]: readonly PropertyKey[]) => first !== undefined && Object.hasOwn(strays, first)
      return [
        {
          id: `${protocolId || path[1]}/${ownId || ownIdOf(use)}`,
          protocolId: protocolId ?? '',
          use,
          options,
          place: placeOf(path),
          placeOf: (inner, which) => placeOf([...path, ...(isStray(inner) ? [] : ['options']), ...inner], which),
        },
      ]
    }),
  )
}

/** Keys of a collector's entry that belong under `options`: they are not reported as missing there. */
function strayKeys(collector: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(collector)) return {}
  const known = keysOf(partAt(operatorForm.json(), ['protocols', 0, 'collectors', 0]))
  return Object.fromEntries(Object.entries(collector).filter(([key]) => !known.includes(key)))
}

function listIn(map: unknown, key: string): readonly unknown[] {
  const list = valueAt(map, [key])
  return Array.isArray(list) ? list : []
}
