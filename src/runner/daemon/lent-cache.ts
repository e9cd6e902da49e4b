import { accessSync, constants, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** Node's compile cache, lent to a process while it starts. */
export interface LentCache {
  /** Flags and environment that the process is started with. */
  readonly flags: readonly string[]
  /** Variables that lead a child to it. */
  readonly env: Readonly<Record<string, string>>
  /**
   * Ends the loan. Must be called before the process loads a collector; may be called again.
   *
   * @returns false when that is not possible: the process must load none
   */
  takeBack(): boolean
}

const none: LentCache = { flags: [], env: {}, takeBack: () => true }

/**
 * Lends the folder of `NODE_COMPILE_CACHE`, if that is set, to a process of collectors, which takes half as long to
 * start with it. Node uses the cache only where it may write, and writes it even after the permission was dropped; what
 * is in it, the daemon executes. So a process reaches the folder by a link of its own, which is removed before a
 * collector is loaded: what Node writes later finds no folder. One that the daemon's user cannot write, as in the image,
 * needs no link, and is given for good. Does not throw.
 */
export function lendCompileCache(): LentCache {
  const folder = process.env['NODE_COMPILE_CACHE']
  if (!folder || !canDropPermissions(process.versions.node)) return none
  try {
    if (!canWriteIn(folder)) return lent(resolve(folder), () => true)
    const own = mkdtempSync(join(tmpdir(), 'tidegauge-'))
    const link = join(own, 'compiled')
    symlinkSync(resolve(folder), link)
    return lent(link, () => isRemoved(own))
  } catch {
    // It starts without one: nothing can be written there.
    return none
  }
}

function lent(folder: string, takeBack: () => boolean): LentCache {
  return {
    flags: [`--allow-fs-read=${folder}`, `--allow-fs-write=${folder}`],
    env: { NODE_COMPILE_CACHE: folder },
    takeBack,
  }
}

/** Whether this user can write a folder or one in it, of which Node has one for each version and user. */
function canWriteIn(folder: string): boolean {
  return isWritable(folder) || readdirSync(folder).some(name => isWritable(join(folder, name)))
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function isRemoved(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true })
    return true
  } catch {
    return false
  }
}

/** Whether a process can give up writing once it has started: else a collector could make a folder in the link's place. */
function canDropPermissions(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 26 || (major === 26 && minor >= 3) || (major === 24 && minor >= 20)
}
