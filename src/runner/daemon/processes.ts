import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Time } from '../../edge/time.ts'
import { Fault } from '../../model/fault.ts'
import type { CollectorRef, Task, TaskEnd } from '../messages.ts'
import { originOf } from '../origin.ts'
import type { CollectorChild } from './child.ts'
import type { Lost } from './child-edge.ts'
import { importedFiles } from './imported-files.ts'
import { isAt, type Readable, realOf } from './readable.ts'
import { SharedProcess } from './shared-process.ts'
import type { StartedProcess } from './started-process.ts'

/** Collectors that share a process: code of one origin that may read the same files. */
export interface ProcessGroup extends Omit<Readable, 'hidden' | 'configFolders'> {
  /** Equal for equal groups. */
  readonly key: string
}

/** The group of a collector whose options declare these paths. */
export function groupOf(ref: Pick<CollectorRef, 'use' | 'configFile'>, declared: readonly string[]): ProcessGroup {
  const origin = originOf(ref)
  const { configFile } = ref
  const namedFile = origin.kind === 'file' ? origin.file : undefined
  const file = namedFile && realOf(namedFile)
  const isShipped = origin.kind === 'shipped'
  // Permissions are set at the start: another file behind the link, or another import, needs another process.
  const imported = file === undefined ? [] : importedFiles(file)
  // A shipped collector reads nothing next to the file that uses it: those of all files share a process.
  const key = JSON.stringify([origin, isShipped ? '' : configFile, [...declared].sort(), imported])
  return { key, file, namedFile, configFile, declared, isShipped }
}

/**
 * Checks that there is a collector's file, and that no link leads out of its folder and the configuration's: a
 * Kubernetes ConfigMap is made of links within one folder.
 *
 * @throws Fault `collector-unusable`
 */
export function requireFile({ use, configFile }: Pick<CollectorRef, 'use' | 'configFile'>): void {
  const origin = originOf({ use, configFile })
  if (origin.kind !== 'file') return
  const { file } = origin
  const found = lookedAt(file)
  if (found?.isFile()) {
    const roots = [dirname(file), dirname(configFile)].map(realOf)
    if (roots.some(root => isAt(realOf(file), root))) return
    throw unusable(`${file} is a link to ${realOf(file)}, which is outside of its folder and of the configuration's`, {
      fix: `name that path in \`use\`, or put the file itself there`,
    })
  }
  if (!found && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw unusable(`${file} is a link to ${readlinkSync(file)}, and there is no such file`, { fix: 'mend the link' })
  }
  const near = ['.ts', '.js', '.mjs', '/index.ts', '/index.js'].find(end => lookedAt(file + end)?.isFile())
  const fix = near === undefined ? 'a path is relative to the configuration file' : `did you mean ${use}${near}?`
  throw unusable(`there is no file ${file}`, { fix })
}

const unusable = (message: string, { fix }: { readonly fix: string }) =>
  new Fault('collector-unusable', message, { fix })

/** Status of a file; one that cannot be looked at counts as missing. */
function lookedAt(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Dependencies of `Processes`. */
export interface ProcessesDeps {
  readonly start: (group: ProcessGroup) => Promise<CollectorChild>
  /** Idle time after which a process is ended, in milliseconds. */
  readonly idleMsMax: number
  /** Concurrent processes of one's own code, at most. */
  readonly processesMax: number
  readonly time: Time
  /** Aborted when the runner closes. */
  readonly stopping: AbortSignal
}

/**
 * Keeps one process for each group, up to a maximum of those that run one's own code. An idle one is ended when another
 * group needs its place; if all are busy, the group waits.
 */
export class Processes {
  readonly #deps: ProcessesDeps
  readonly #byKey = new Map<string, SharedProcess>()
  /** Those that run one's own code. */
  readonly #own = new Set<SharedProcess>()
  #taken = 0
  #rested = Promise.withResolvers<void>()

  constructor(deps: ProcessesDeps) {
    this.#deps = deps
  }

  /** Runs a task. Never rejects. */
  async run(task: Task, group: ProcessGroup): Promise<TaskEnd | Lost> {
    const shared = this.#byKey.get(group.key) ?? this.#sharedOf(group)
    this.#byKey.set(group.key, shared)
    return shared.run(task)
  }

  /**
   * Ends all processes; resolves when they have ended.
   *
   * @param keep is given those without work, with the keys of their groups. Default: they are ended, too
   */
  async stop(keep?: (key: string, process: StartedProcess) => void): Promise<void> {
    this.#tellRested()
    const all = [...this.#byKey].map(([key, shared]) => shared.stop(keep && (process => keep(key, process))))
    await Promise.all(all)
  }

  #sharedOf(group: ProcessGroup): SharedProcess {
    const { idleMsMax, time, stopping } = this.#deps
    const rested = () => this.#tellRested()
    const shared = new SharedProcess({ start: () => this.#start(group), rested, idleMsMax, time, stopping })
    if (!group.isShipped) this.#own.add(shared)
    return shared
  }

  async #start(group: ProcessGroup): Promise<CollectorChild> {
    // Runs in the other processes may wait for its prices.
    if (group.isShipped) return this.#deps.start(group)
    await this.#place()
    this.#taken += 1
    try {
      const child = await this.#deps.start(group)
      void child.gone.then(() => this.#leave())
      return child
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  #leave(): void {
    this.#taken -= 1
    this.#tellRested()
  }

  async #place(): Promise<void> {
    while (this.#taken >= this.#deps.processesMax && !this.#deps.stopping.aborted) {
      const idle = [...this.#own].find(shared => shared.isIdle)
      if (idle) await idle.stop()
      else await this.#rested.promise
    }
  }

  #tellRested(): void {
    this.#rested.resolve()
    this.#rested = Promise.withResolvers<void>()
  }
}
