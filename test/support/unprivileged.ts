import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const isRoot = process.getuid?.() === 0
const main = fileURLToPath(new URL('../../src/bin.cjs', import.meta.url))

/** A user without rights, by Debian's number, as options of a child process. */
export const unprivileged = { uid: 65_534, gid: 65_534 } as const

/** The same where this process is root's, for what refuses to run as root or must not; else this process's own user. */
export const notRoot: typeof unprivileged | { uid?: never; gid?: never } = isRoot ? unprivileged : {}

/** Whether commands can be run as that user: root can, where others may read the sources and all folders above them. */
export function mayBeUnprivileged(): boolean {
  return isRoot && spawnSync(process.execPath, [main, '--version'], unprivileged).status === 0
}
