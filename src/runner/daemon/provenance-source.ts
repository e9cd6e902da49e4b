import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Chains } from '../../chain/reads.ts'
import { shippedModules } from '../../edge/program-files.ts'
import { version } from '../../edge/version.ts'
import type { PinnedBlock } from '../../model/block.ts'
import type { Hour } from '../../model/hour.ts'
import { jsonOf } from '../../model/json.ts'
import type { Provenance } from '../../model/metric.ts'
import type { CollectorRef } from '../messages.ts'
import { originOf } from '../origin.ts'
import { importedFiles } from './imported-files.ts'

/** Characters of a digest: enough that no two versions of a collector have the same. */
const digestChars = 12

interface KnownFiles {
  readonly files: readonly string[]
  /** Equal while no file was changed. */
  readonly stamp: string
  readonly digest: string
}

/** Origin of the values of runs: digests of code and options, and the hosts that served the hour. */
export class ProvenanceSource {
  readonly #chains: Chains
  readonly #options = new WeakMap<CollectorRef, string>()
  /** By the collector's own file. */
  readonly #known = new Map<string, KnownFiles>()

  constructor(chains: Chains) {
    this.#chains = chains
  }

  /** Origin of a run's values. @param pins blocks that it has read */
  of(ref: CollectorRef, hour: Hour, pins: readonly PinnedBlock[]): Provenance {
    const hosts = Object.values(this.#chains).flatMap(chain => {
      const host = pins.some(({ chainId }) => chainId === chain.id) ? chain.servedBy?.(hour) : undefined
      return host === undefined ? [] : [[String(chain.id), host] as const]
    })
    return { ...this.present(ref), hosts: Object.fromEntries(hosts) }
  }

  /** Origin of the values of a run that would begin now, without its hosts. */
  present(ref: CollectorRef): Omit<Provenance, 'hosts'> {
    const options = this.#options.get(ref) ?? digestOf(JSON.stringify(sorted(ref.options)))
    this.#options.set(ref, options)
    return { version, code: this.#codeOf(ref), options }
  }

  #codeOf(ref: CollectorRef): string {
    const origin = originOf(ref)
    switch (origin.kind) {
      case 'shipped':
        return this.#filesDigest(fileURLToPath(new URL(`${ref.use}${shippedModules.extension}`, shippedModules.url)))
      case 'file':
        return this.#filesDigest(origin.file)
      case 'package':
        return packageVersion(origin.name, ref.configFile)
    }
  }

  /** Digest of a file and of what it imports by a relative path. They are read again once one of them has changed. */
  #filesDigest(file: string): string {
    const known = this.#known.get(file)
    if (known && stampOf(known.files) === known.stamp) return known.digest
    const files = importedFiles(file)
    const stamp = stampOf(files)
    const digest = digestOf(...files.map(textOf))
    this.#known.set(file, { files, stamp, digest })
    return digest
  }
}

function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length} `).update(text)
  return hash.digest('hex').slice(0, digestChars)
}

function stampOf(files: readonly string[]): string {
  return files
    .map(file => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : ''
    })
    .join()
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Name and version of a package, as a collector's `use` finds it; its name alone where it cannot be read. */
function packageVersion(name: string, configFile: string): string {
  try {
    const file = findPackageJSON(name, pathToFileURL(configFile))
    if (file === undefined) return name
    return `${name}@${(jsonOf(readFileSync(file, 'utf8')) as { readonly version?: string }).version ?? ''}`
  } catch {
    return name
  }
}

/** A plain value with the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]))
}
