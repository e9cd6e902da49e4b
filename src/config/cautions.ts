import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemTime } from '../edge/time.ts'
import { isSafeNode } from '../edge/version.ts'
import { Fault } from '../model/fault.ts'
import { hostOf, isForeign, keysInAddress, mayBeSecretHeader } from '../model/host.ts'
import { hourText } from '../model/hour.ts'
import { valueAt } from '../model/json.ts'
import { dayMs } from '../model/limits.ts'
import { certificateNotes } from './certificates.ts'
import {
  allCollectors,
  type CollectorConfig,
  type Config,
  type ConfigSecret,
  configSecrets,
  type EndpointRef,
  type Include,
  type OptionSecret,
  type ProtocolConfig,
} from './config.ts'
import { configFiles } from './include.ts'
import { inOrder, type Mistake, meant, type PlacedMistake, pathText, shortest } from './mistakes.ts'
import {
  readHeader,
  readOption,
  readSecret,
  replacedFile,
  resolveAddress,
  resolveDatabase,
  resolvePostAddress,
  resolveProxy,
} from './secret.ts'

/** A secret of the configuration: its role and its place. */
interface NamedSecret extends Pick<ConfigSecret, 'what' | 'ref' | 'place'> {
  /** @throws Fault when it cannot be used */
  read(): unknown
}

/**
 * Finds problems that are not mistakes but hardly intended: secrets that cannot be read on this machine, secret files
 * that others can read, display names close to a chain's name, patterns that include nothing. In the order of the files; a
 * secret is never repeated.
 */
export function cautionsOf(
  config: Config,
  collectors: readonly DescribedCollector[] = [],
  {
    node = process.versions.node,
    nowMs = systemTime.nowMs(),
  }: { readonly node?: string; readonly nowMs?: number } = {},
): PlacedMistake[] {
  const own = configSecrets(config).map(secret => ({ ...secret, read: () => readUsed(secret) }))
  const secrets = [...own, ...collectors.flatMap(secretsOfOptions)]
  const chains = config.chains.map(({ name }) => name)
  return inOrder(
    [
      ...secrets.flatMap(missing),
      ...secrets.flatMap(open),
      ...secrets.flatMap(({ what, ref, place }) => {
        const replaced = replacedFile(ref)
        return replaced ? [{ place, message: `${what}: ${replaced.message}`, fix: replaced.fix }] : []
      }),
      ...config.protocols.flatMap(protocol => nearChains(protocol, chains)),
      ...certificateNotes(config).flatMap(({ outcome, place, subject, found, fix }) =>
        outcome === 'ok' ? [] : [{ place, message: `${subject}: ${found}`, ...(fix !== undefined && { fix }) }],
      ),
      ...fileForFolder(config.data),
      ...allCollectors(config).flatMap(collector => begunLate(collector, nowMs)),
      ...config.includes.flatMap(matchless),
      ...literalKeys(config),
      ...unencrypted(config),
      ...collectors.flatMap(unencryptedSecrets),
      ...(isSafeNode(node) ? [] : [{ place: { file: config.file, line: 1, column: 1 }, ...oldNode(node) }]),
    ],
    configFiles(config),
  )
}

/** Mistake of a Node whose permissions do not confine collectors. */
export function oldNode(node: string): Mistake {
  const message = `Node ${node} has published holes in the permissions that confine collectors`
  return { message, fix: 'install Node 24.18.1, 26.5.1, or a newer one of these' }
}

/** A file where the data is to be kept, or on the way there. */
function fileForFolder(data: Config['data']): PlacedMistake[] {
  if (data.kind !== 'folder' || !data.place) return []
  for (let path = data.folder; dirname(path) !== path; path = dirname(path)) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found || found.isDirectory()) continue
    const message = `data: ${shortest(path)} is a file, and a folder is needed`
    return [{ place: data.place, message, fix: 'name another folder, or move the file away' }]
  }
  return []
}

/** A collector whose first hour is more than a day ahead: probably a mistyped year. */
function begunLate({ id, since, place }: CollectorConfig, nowMs: number): PlacedMistake[] {
  if (since === undefined || since <= nowMs + dayMs) return []
  const days = Math.floor((since - nowMs) / dayMs)
  const message = `${id}: its first hour, ${hourText(since)}, is ${days} days from now: until then it is not collected`
  return [{ place, message, fix: 'correct the hour where it is not meant' }]
}

/** Chains whose endpoints are of fewer hosts than must agree, as far as the addresses can be read: no hour is collected. */
export function tooFewHosts({ chains }: Config): PlacedMistake[] {
  return chains.flatMap(({ name, rpc, agree = 1 }): PlacedMistake[] => {
    const hosts = new Set(rpc.map((ref, place) => hostIn(name, ref) ?? place))
    const [first] = rpc
    if (!first || hosts.size >= agree) return []
    const message = `${pathText(['chains', name, 'agree'])}: ${agree} hosts must agree, and rpc has ${hosts.size}`
    return [{ place: first.place, message, fix: 'add endpoints of other hosts' }]
  })
}

/** The host of a node; `undefined` for one whose address cannot be read. */
function hostIn(chain: string, ref: EndpointRef): string | undefined {
  try {
    return hostOf(ref.kind === 'url' ? ref.url : resolveAddress(chain, ref))
  } catch {
    return undefined
  }
}

/** Addresses in the configuration that hold what looks like a key. */
function literalKeys(config: Config): PlacedMistake[] {
  const nodes = config.chains.flatMap(({ name, rpc }) =>
    rpc.flatMap(ref => (ref.kind === 'url' ? [{ what: `a node of ${name}`, text: ref.url, place: ref.place }] : [])),
  )
  const options = allCollectors(config).flatMap(({ id, options: written, placeOf }) =>
    textsOf(written).map(({ text, path }) => ({ what: id, text, place: placeOf(path) })),
  )
  const isNode = new Set(nodes.map(({ text }) => text))
  return [...nodes, ...options].flatMap(({ what: subject, text, place }): PlacedMistake[] => {
    if (/^https?:\/\/\S*\$\{\w+\}/.test(text)) {
      const fix = 'write the value itself; a secret goes into a header, as { env: NAME }'
      return [{ place, message: `${subject}: variables are not expanded in an address`, fix }]
    }
    const url = /^(https?|wss?):\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
    if (!url || keysInAddress(url).length === 0) return []
    const fix = isNode.has(text)
      ? 'keep the address elsewhere: { env: NAME } or { file: PATH }'
      : 'send it in a header that is kept elsewhere, { env: NAME }, where the source takes one'
    return [{ place, message: `${subject}: an address holds what looks like a key, which is a secret`, fix }]
  })
}

/** Nodes on the public network that a key is sent to without encryption. */
function unencrypted({ chains }: Config): PlacedMistake[] {
  return chains.flatMap(({ name, rpc }) =>
    rpc.flatMap((ref): PlacedMistake[] => {
      const url = addressIn(name, ref)
      if (!url || !/^(http|ws):$/.test(url.protocol) || !isForeign(url.hostname)) return []
      const headers = Object.entries(ref.headers ?? {})
      const hasSecret = headers.some(([header, { kind }]) => kind !== 'text' || mayBeSecretHeader(header))
      if (!hasSecret && keysInAddress(url).length === 0) return []
      const message = `a node of ${name}: its key is sent unencrypted, as the address begins with ${url.protocol}//`
      return [{ place: ref.place, message, fix: `write ${url.protocol.replace(':', 's:')}//` }]
    }),
  )
}

/** Sources on the public network that a secret of theirs is sent to without encryption. */
function unencryptedSecrets({ collector, description: { secrets = [] } }: DescribedCollector): PlacedMistake[] {
  const sources = secrets.flatMap(({ path }) => {
    // The address that a secret belongs to stands nearest above it.
    const above = path.map((_, depth) => [...path.slice(0, depth), 'url']).toReversed()
    const nearest = above.find(place => typeof valueAt(collector.options, place) === 'string')
    return nearest ? [[JSON.stringify(nearest), nearest] as const] : []
  })
  return [...new Map(sources).values()].flatMap((path): PlacedMistake[] => {
    const text = String(valueAt(collector.options, path))
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url?.protocol !== 'http:' || !isForeign(url.hostname)) return []
    const message = `${collector.id}: a secret is sent unencrypted, as the address begins with http://`
    return [{ place: collector.placeOf(path), message, fix: 'write https://' }]
  })
}

/** The address of a node; `undefined` for a socket, and for one that cannot be read, which is reported as that. */
function addressIn(chain: string, ref: EndpointRef): URL | undefined {
  try {
    const text = ref.kind === 'url' ? ref.url : resolveAddress(chain, ref)
    return URL.canParse(text) ? new URL(text) : undefined
  } catch {
    return undefined
  }
}

function textsOf(value: unknown, path: readonly PropertyKey[] = []): { text: string; path: readonly PropertyKey[] }[] {
  if (typeof value === 'string') return [{ text: value, path }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) =>
    textsOf(part, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

/** A pattern that matches nothing now may do so later: a file that appears is read. */
function matchless({ pattern, files, place }: Include): PlacedMistake[] {
  if (files.length > 0) return []
  const fix = 'put a file there, or remove the entry; a file that appears is read'
  return [{ place, message: `include: ${shortest(pattern)} adds no file`, fix }]
}

/** The value of a secret. @throws Fault when it cannot be used */
function readUsed({ ref, use }: ConfigSecret): unknown {
  switch (use.kind) {
    case 'database':
      return resolveDatabase(ref)
    case 'node':
      return resolveAddress(use.chain, ref)
    case 'header':
      return readHeader(use.header, ref)
    case 'proxy':
      return resolveProxy(ref)
    case 'certificate-key':
      // It is read together with its certificate.
      return undefined
    case 'post':
      return resolvePostAddress(ref)
    default:
      return readSecret(ref)
  }
}

/** A collector, with its description if it asks for secrets. */
interface DescribedCollector {
  readonly collector: CollectorConfig
  readonly description: { readonly secrets?: readonly OptionSecret[] }
}

function secretsOfOptions({ collector, description }: DescribedCollector): NamedSecret[] {
  return (description.secrets ?? []).map(secret => ({
    what: `a secret of ${collector.id}`,
    ref: secret.ref,
    place: collector.placeOf(secret.path),
    read: () => readOption(secret),
  }))
}

/** Text around a secret that was copied with it from a shell or an .env file. */
const strays: readonly (readonly [RegExp, string])[] = [
  [/^(["'`]).*\1$/, 'quotes'],
  [/^(export )?[A-Z][A-Z0-9_]*=[^=]/, 'a name and "="'],
]

function missing({ what: subject, ref, place, read }: NamedSecret): PlacedMistake[] {
  try {
    const value = read()
    const [, strayCharacters] = (typeof value === 'string' && strays.find(([pattern]) => pattern.test(value))) || []
    if (strayCharacters === undefined) return []
    const secretSource = ref.kind === 'file' ? `the file ${ref.path}` : `the variable ${ref.name}`
    return [
      {
        place,
        message: `${subject}: ${secretSource} holds ${strayCharacters}, which are sent with it`,
        fix: 'put the value alone there',
      },
    ]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const name = ref.kind === 'file' ? ref.path : ref.name
    const message = `${subject}: ${error.message.replace(/the secret's (file|variable)/, `the $1 ${name}`)}`
    return [{ place, message, ...(error.fix !== undefined && { fix: error.fix }) }]
  }
}

/**
 * Secret files that others can read. Files below /run are not checked: a container engine mounts them, readable for
 * every user of the container.
 */
function open({ what: subject, ref, place }: NamedSecret): PlacedMistake[] {
  if (ref.kind !== 'file' || /^(\/var)?\/run\//.test(ref.path)) return []
  const found = statSync(ref.path, { throwIfNoEntry: false })
  if (!found?.isFile() || found.uid !== process.getuid?.() || (found.mode & 0o077) === 0) return []
  const mode = (found.mode & 0o777).toString(8)
  return [
    { place, message: `${subject}: others may read its file ${ref.path} (mode ${mode})`, fix: `chmod 600 ${ref.path}` },
  ]
}

/** Display names of chains may be any text; one close to a configured chain's name is probably a typo. */
function nearChains({ chains: shown = [], place }: ProtocolConfig, known: readonly string[]): PlacedMistake[] {
  return shown.flatMap(name => {
    const suggestion = known.includes(name) ? undefined : meant(name, known)
    return suggestion === undefined
      ? []
      : [{ place, message: `chains: no chain is called "${name}"`, fix: `did you mean ${suggestion}?` }]
  })
}
