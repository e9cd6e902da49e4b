import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** A user without rights, by Debian's number, as options of a child process. */
export const unprivileged = { uid: 65_534, gid: 65_534 } as const

/** Whether commands can be run as that user: root can, where others may read the sources and all folders above them. */
export const mayBeUnprivileged =
  process.getuid?.() === 0 && spawnSync(process.execPath, [main, '--version'], unprivileged).status === 0
