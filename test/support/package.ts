import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram } from './program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder that other users can read, in which packages are made and installed. */
export function sharedFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tidegauge-package-'))
  chmodSync(folder, 0o755)
  return folder
}

/** A clean clone's files without its history, with the packages of this one. @returns its folder */
export function cleanClone(folder: string): string {
  const clone = join(folder, 'clone')
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const files = execFileSync('git', listed, { cwd: root }).toString().split('\0').filter(Boolean)
  for (const file of files) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(join(root, file), join(clone, file))
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  return clone
}

/**
 * A folder for PATH that any user can read, in which there is what npm needs and nothing else: Node, npm and a shell, and
 * no compiler.
 */
export function bareBin(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  copyFileSync(process.execPath, join(bin, 'node'))
  chmodSync(join(bin, 'node'), 0o755)
  for (const name of ['npm', 'npx', 'sh']) {
    const found = findProgram(name, name)
    if (found.kind === 'found') symlinkSync(realpathSync(found.path), join(bin, name))
  }
  return bin
}

/** Makes a small package and its tarball. @returns the path of the tarball */
export function ownPackage(folder: string, name: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(join(folder, name))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text)
  const manifest = { name, version: '1.0.0', type: 'module', exports: { types: './index.d.ts', default: './index.js' } }
  writeFileSync(join(folder, name, 'package.json'), JSON.stringify(manifest))
  return packed(join(folder, name), folder)
}

/** Runs `npm pack`, with its scripts. @returns the path of the tarball */
export function packed(folder: string, into: string): string {
  const lines = execFileSync('npm', ['pack', '--ignore-scripts=false', '--pack-destination', into], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return join(into, lines.toString().trim().split('\n').at(-1) ?? '')
}
