import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Locked {
  readonly gypfile?: boolean
  readonly hasInstallScript?: boolean
}

it('npm ci of a clone runs no script of a package, and needs no compiler', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  const scripted = Object.entries(packages).filter(
    ([folder, { gypfile, hasInstallScript }]) =>
      hasInstallScript || (gypfile !== false && folder !== '' && existsSync(join(root, folder, 'binding.gyp'))),
  )
  expect(
    scripted.map(([folder]) => folder),
    'npm compiles what has a binding.gyp, and leaves the package’s own `gypfile: false` out of the lock file whenever it ' +
      'writes that: add `"gypfile": false` to the entry again. It runs the script of an entry with "hasInstallScript": ' +
      'delete that line where nothing needs the script',
  ).toEqual([])
})
